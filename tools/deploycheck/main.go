// Command deploycheck parses the files in deploy/ strictly, in the same way as the programs that read them: alert
// rules, the dashboard's queries, and the Kubernetes manifests. Queries may use only the service's metrics, which are
// listed in deploy/metrics.txt. The manifests must equal the output of the Helm chart. With -write, they are
// regenerated.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

func main() {
	write := flag.Bool("write", false, "write the manifests that the chart renders")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: deploycheck [-write] DIRECTORY")
		os.Exit(2)
	}
	do := check
	if *write {
		do = writeManifests
	}
	if err := do(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "metrics.txt")) //nolint:gosec // named on the command line
	if err != nil {
		return err
	}
	known := map[string]bool{"up": true}
	for name := range strings.FieldsSeq(string(list)) {
		known[name] = true
	}
	return errors.Join(
		alerts(filepath.Join(dir, "prometheus", "alerts.yaml"), known),
		dashboard(filepath.Join(dir, "grafana", "countersign.json"), known),
		manifests(filepath.Join(dir, "kubernetes", "countersign.yaml")),
		chart(dir),
		caddyfile(filepath.Join(dir, "Caddyfile")),
	)
}

func alerts(file string, known map[string]bool) error {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	n := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			n++
			if err := query(r.Expr, known); err != nil {
				return fmt.Errorf("%s: %s: %w", file, r.Alert, err)
			}
			if r.Annotations["summary"] == "" || r.Annotations["runbook"] == "" || r.Labels["severity"] == "" {
				return fmt.Errorf("%s: %s lacks a summary, runbook or severity", file, r.Alert)
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("%s contains no rules", file)
	}
	return nil
}

func dashboard(file string, known map[string]bool) error {
	b, err := os.ReadFile(file) //nolint:gosec // named on the command line
	if err != nil {
		return err
	}
	var d struct {
		UID, Title string
		Panels     []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if d.UID == "" || d.Title == "" || len(d.Panels) == 0 {
		return fmt.Errorf("%s is not a dashboard", file)
	}
	for _, p := range d.Panels {
		if p.Title == "" || len(p.Targets) == 0 {
			return fmt.Errorf("%s: a panel has no title or no query", file)
		}
		for _, t := range p.Targets {
			if err := query(strings.ReplaceAll(t.Expr, "$__rate_interval", "5m"), known); err != nil {
				return fmt.Errorf("%s: %s: %w", file, p.Title, err)
			}
		}
	}
	return nil
}

// query parses an expression and reports unknown metrics.
func query(expr string, known map[string]bool) error {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return err
	}
	var unknown []string
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok && !known[v.Name] {
			unknown = append(unknown, v.Name)
		}
		return nil
	})
	if len(unknown) > 0 {
		return fmt.Errorf("the metric %s does not exist", strings.Join(unknown, ", "))
	}
	return nil
}

// kinds lists the permitted kinds of objects in the manifests.
var kinds = map[string]func() any{
	"v1/ConfigMap":                           func() any { return &corev1.ConfigMap{} },
	"v1/Service":                             func() any { return &corev1.Service{} },
	"v1/ServiceAccount":                      func() any { return &corev1.ServiceAccount{} },
	"apps/v1/Deployment":                     func() any { return &appsv1.Deployment{} },
	"batch/v1/Job":                           func() any { return &batchv1.Job{} },
	"autoscaling/v2/HorizontalPodAutoscaler": func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"policy/v1/PodDisruptionBudget":          func() any { return &policyv1.PodDisruptionBudget{} },
	"networking.k8s.io/v1/Ingress":           func() any { return &networkingv1.Ingress{} },
	"networking.k8s.io/v1/NetworkPolicy":     func() any { return &networkingv1.NetworkPolicy{} },
}

func manifests(file string) error {
	b, err := os.ReadFile(file) //nolint:gosec // named on the command line
	if err != nil {
		return err
	}
	objects, err := decode(b)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, check := range []func([]any) error{deployments, serviceLinks, readiness, ingresses} {
		if err := check(objects); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// readiness rejects a probe that would remove all pods from their Service while Temporal is unavailable, because
// signing does not need Temporal.
func readiness(objects []any) error {
	for _, o := range objects {
		s, ok := o.(*corev1.Service)
		if !ok {
			continue
		}
		for _, o := range objects {
			d, ok := o.(*appsv1.Deployment)
			if !ok || !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)) {
				continue
			}
			for _, c := range d.Spec.Template.Spec.Containers {
				if get := c.ReadinessProbe.HTTPGet; get != nil && get.Path == "/readyz" {
					return fmt.Errorf("%s: %s is removed from its Service while Temporal is down: use /readyz?for=requests", d.Name, c.Name)
				}
			}
		}
	}
	return nil
}

// ingresses rejects an ingress whose controller would log request paths, which contain signers' tokens.
func ingresses(objects []any) error {
	for _, o := range objects {
		if i, ok := o.(*networkingv1.Ingress); ok && i.Annotations["nginx.ingress.kubernetes.io/enable-access-log"] != "false" {
			return fmt.Errorf("%s: its access log would contain signers' tokens", i.Name)
		}
	}
	return nil
}

// caddyfile checks for the settings that keep signers' tokens out of Caddy's log.
func caddyfile(file string) error {
	b, err := os.ReadFile(file) //nolint:gosec // named on the command line
	if err != nil {
		return err
	}
	for _, line := range []string{"exclude http.log.access", "request>uri delete", "request>headers>Referer delete"} {
		if !slices.Contains(strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' || r == '\t' }), line) {
			return fmt.Errorf("%s: without %q its log would contain signers' tokens", file, line)
		}
	}
	return nil
}

// decode strictly decodes all documents in a manifest.
func decode(b []byte) ([]any, error) {
	var objects []any
	for i, doc := range bytes.Split(b, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(doc, &head); err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		object, ok := kinds[head.APIVersion+"/"+head.Kind]
		if !ok {
			return nil, fmt.Errorf("document %d is an unsupported %s %s", i+1, head.APIVersion, head.Kind)
		}
		into := object()
		if err := yaml.UnmarshalStrict(doc, into); err != nil {
			return nil, fmt.Errorf("%s: %w", head.Kind, err)
		}
		objects = append(objects, into)
	}
	return objects, nil
}

func deployments(objects []any) error {
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			if err := deployment(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// settingsPrefix is the prefix of every setting in the environment. The service rejects unknown settings.
const settingsPrefix = "COUNTERSIGN_"

// serviceLinks rejects pods whose service links, which are environment variables that Kubernetes sets for each Service,
// look like settings.
func serviceLinks(objects []any) error {
	var link string
	for _, o := range objects {
		if s, ok := o.(*corev1.Service); ok {
			name := strings.ReplaceAll(strings.ToUpper(s.Name), "-", "_") + "_SERVICE_HOST"
			if strings.HasPrefix(name, settingsPrefix) {
				link = name
			}
		}
	}
	if link == "" {
		return nil
	}
	for _, o := range objects {
		var name string
		var pod corev1.PodSpec
		switch o := o.(type) {
		case *appsv1.Deployment:
			name, pod = o.Name, o.Spec.Template.Spec
		case *batchv1.Job:
			name, pod = o.Name, o.Spec.Template.Spec
		default:
			continue
		}
		if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
			return fmt.Errorf("%s: its pods get %s, which is not a setting: set enableServiceLinks: false", name, link)
		}
	}
	return nil
}

// deployment reports errors that the Kubernetes API server would report, and settings that would cause problems later.
func deployment(d *appsv1.Deployment) error {
	for k, v := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[k] != v {
			return fmt.Errorf("%s: its selector does not match its pods", d.Name)
		}
	}
	mounts := make(map[string]bool)
	for _, v := range d.Spec.Template.Spec.Volumes {
		mounts[v.Name] = true
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.ReadinessProbe == nil || c.LivenessProbe == nil || c.Resources.Limits.Memory().IsZero() {
			return fmt.Errorf("%s: %s has no probes or no memory limit", d.Name, c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !mounts[m.Name] {
				return fmt.Errorf("%s: the volume %s does not exist", d.Name, m.Name)
			}
		}
	}
	return nil
}
