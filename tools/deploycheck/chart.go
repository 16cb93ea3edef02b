package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

//go:embed header.txt
var header string

// templates lists the chart's templates that create objects, in the order of the manifests.
var templates = []string{
	"configmap", "serviceaccount", "migrate", "api", "worker", "service", "ingress", "disruption", "autoscaling", "networkpolicy", "podmonitor",
}

// chartOf returns the directory of the chart, and exampleOf returns the file with the chart values that the manifests
// use and that have no default.
func chartOf(deploy string) string { return filepath.Join(deploy, "helm", "countersign") }

func exampleOf(deploy string) string {
	return filepath.Join(chartOf(deploy), "ci", "example-values.yaml")
}

// chart lints the Helm chart, and compares its output with the manifests.
func chart(deploy string) error {
	values, err := readValues(exampleOf(deploy))
	if err != nil {
		return err
	}
	var faults []error
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Helm's linter also logs its results
	for _, m := range lint.RunAll(chartOf(deploy), values, "countersign").Messages {
		if m.Severity >= support.WarningSev {
			faults = append(faults, fmt.Errorf("%s: %s: %w", chartOf(deploy), m.Path, m.Err))
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	rendered, err := renderManifests(deploy)
	if err != nil {
		return err
	}
	file := filepath.Join(deploy, "kubernetes", "countersign.yaml")
	b, err := os.ReadFile(file) //nolint:gosec // named on the command line
	if err != nil {
		return err
	}
	if !bytes.Equal(b, rendered) {
		return fmt.Errorf("%s differs from the chart's output: change the chart and run \"make manifests\"", file)
	}
	return nil
}

func writeManifests(deploy string) error {
	b, err := renderManifests(deploy)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(deploy, "kubernetes", "countersign.yaml"), b, 0o644) //nolint:gosec // readable by all users
}

func renderManifests(deploy string) ([]byte, error) {
	values, err := readValues(exampleOf(deploy))
	if err != nil {
		return nil, err
	}
	b, err := render(chartOf(deploy), values)
	return append([]byte(header), b...), err
}

func readValues(file string) (map[string]any, error) {
	b, err := os.ReadFile(file) //nolint:gosec // named on the command line
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, yaml.Unmarshal(b, &values)
}

// render renders the objects of a release named countersign as YAML documents.
func render(dir string, values map[string]any) ([]byte, error) {
	c, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	given, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: "countersign", Namespace: "countersign", Revision: 1, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, given)
	if err != nil {
		return nil, err
	}
	var documents []string
	for _, name := range templates {
		text, ok := files[path.Join("countersign", "templates", name+".yaml")]
		if !ok {
			return nil, fmt.Errorf("%s lacks the template %s", dir, name)
		}
		for document := range strings.SplitSeq("\n"+text, "\n---\n") {
			if document = withoutBlankLines(document); document != "" {
				documents = append(documents, document)
			}
		}
	}
	for file := range files {
		if name, isObject := strings.CutSuffix(path.Base(file), ".yaml"); isObject && !slices.Contains(templates, name) {
			return nil, fmt.Errorf("%s: tools/deploycheck/chart.go does not list the template %s", dir, name)
		}
	}
	return []byte(strings.Join(documents, "---\n")), nil
}

func withoutBlankLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " "); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
