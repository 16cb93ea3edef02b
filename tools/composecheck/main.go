// Command composecheck parses a compose file in the same way as "docker compose config", and performs additional
// checks. Every mounted file must be in the repository, and every image must have a version. Every setting in the file
// or in the example .env file must be a Countersign setting, and no setting may be missing. The settings in .env, and
// the files to which the example refers, must be available to Countersign.
//
//	composecheck -env deploy/env.example -config config/config.go docker-compose.yml
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// prefix is the prefix of every Countersign setting.
const prefix = "COUNTERSIGN_"

// composeOnly lists the variables with that prefix that only the compose file reads.
var composeOnly = map[string]bool{
	"COUNTERSIGN_SITE": true, "COUNTERSIGN_VERSION": true, "COUNTERSIGN_DB_PASSWORD": true, "COUNTERSIGN_ENV_FILE": true,
	"COUNTERSIGN_HTTP_PORT": true, "COUNTERSIGN_HTTPS_PORT": true,
}

func main() {
	envFile := flag.String("env", "deploy/env.example", "example of a .env file")
	config := flag.String("config", "config/config.go", "Go file with the struct of all settings")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: composecheck [-env FILE] [-config FILE] docker-compose.yml")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := check(ctx, flag.Arg(0), *envFile, *config)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns all problems as a joined error.
func check(ctx context.Context, composeFile, envFile, config string) error {
	all, remove, err := everything(envFile)
	if err != nil {
		return err
	}
	defer remove()
	options, err := cli.NewProjectOptions([]string{composeFile},
		cli.WithEnvFiles(envFile), cli.WithDotEnv, cli.WithEnv([]string{"COUNTERSIGN_ENV_FILE=" + all}),
		cli.WithInterpolation(true), cli.WithConsistency(true), cli.WithNormalization(true), cli.WithResolvedPaths(true))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return err
	}
	known, err := settings(config)
	if err != nil {
		return err
	}
	example, err := variables(envFile)
	if err != nil {
		return err
	}

	var faults []error
	mentioned := map[string]bool{}
	for _, name := range example {
		mentioned[name] = true
		if strings.HasPrefix(name, prefix) && !known[name] && !composeOnly[name] {
			faults = append(faults, fmt.Errorf("%s: %s is not a setting", envFile, name))
		}
	}
	for _, service := range project.Services {
		for name := range service.Environment {
			mentioned[name] = true
		}
		faults = append(faults, checkService(&service, known)...)
		if service.Build != nil {
			faults = append(faults, checkPassed(&service, example, known)...)
		}
	}
	files, err := exampleFiles(envFile)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !seen(project, file) {
			faults = append(faults, fmt.Errorf("%s: the file %s in %s is outside the directories that Countersign can read", composeFile, file, envFile))
		}
	}
	for name := range known {
		if base, isFile := strings.CutSuffix(name, "_FILE"); !mentioned[name] && !mentioned[name+"_FILE"] && (!isFile || !known[base]) {
			faults = append(faults, fmt.Errorf("%s: %s is missing", envFile, name))
		}
	}
	return errors.Join(faults...)
}

// libraries matches the names of variables that cloud and OpenTelemetry libraries read.
var libraries = regexp.MustCompile(`^(AWS|AZURE|GOOGLE|OTEL)_`)

// foreign lists the secrets of other services, which a Countersign process must not receive.
var foreign = []string{"POSTGRES_PASSWORD", "TEMPORAL_DB_PASSWORD"}

// checkPassed reports settings in .env that a Countersign service does not receive, and secrets that it receives but
// must not.
func checkPassed(service *types.ServiceConfig, example []string, known map[string]bool) []error {
	var faults []error
	for _, name := range example {
		if _, passed := service.Environment[name]; !passed && (known[name] || libraries.MatchString(name)) {
			faults = append(faults, fmt.Errorf("service %s: %s in .env is not passed to Countersign", service.Name, name))
		}
	}
	for _, name := range foreign {
		if value := service.Environment[name]; value != nil && *value != "" {
			faults = append(faults, fmt.Errorf("service %s: the variable %s does not belong to Countersign", service.Name, name))
		}
	}
	return faults
}

// everything writes a file with all assignments in envFile, including those that are commented out.
func everything(envFile string) (file string, remove func(), err error) {
	text, err := os.ReadFile(envFile) //nolint:gosec // named on the command line
	if err != nil {
		return "", nil, err
	}
	f, err := os.CreateTemp("", "composecheck-*.env")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.Remove(f.Name()) } // the file is only a copy
	_, err = f.Write(regexp.MustCompile(`(?m)^#([A-Z][A-Z0-9_]*=)`).ReplaceAll(text, []byte("$1")))
	if err := errors.Join(err, f.Close()); err != nil {
		remove()
		return "", nil, err
	}
	return f.Name(), remove, nil
}

// exampleFiles returns the container paths to which the Countersign settings in an env file refer.
func exampleFiles(envFile string) ([]string, error) {
	text, err := os.ReadFile(envFile) //nolint:gosec // named on the command line
	if err != nil {
		return nil, err
	}
	var files []string
	for _, m := range regexp.MustCompile(`(?m)^#?`+prefix+`\w+=(/\S+)$`).FindAllStringSubmatch(string(text), -1) {
		files = append(files, m[1])
	}
	return files, nil
}

// seen reports whether every Countersign container has a mount that includes the file.
func seen(project *types.Project, file string) bool {
	for _, service := range project.Services {
		if service.Build != nil && !slices.ContainsFunc(service.Volumes, func(v types.ServiceVolumeConfig) bool { return strings.HasPrefix(file, v.Target+"/") }) {
			return false
		}
	}
	return true
}

func checkService(service *types.ServiceConfig, known map[string]bool) []error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("service %s: %s", service.Name, fmt.Sprintf(format, args...)))
	}
	if _, version, ok := strings.Cut(service.Image, ":"); !ok || version == "latest" {
		fault("image %q has no version", service.Image)
	}
	for _, v := range service.Volumes {
		if v.Type != types.VolumeTypeBind {
			continue
		}
		if _, err := os.Stat(v.Source); err != nil {
			fault("mount: %v", err)
		}
	}
	if service.Build != nil {
		if _, err := os.Stat(service.Build.Dockerfile); err != nil {
			if _, err := os.Stat(service.Build.Context + "/" + service.Build.Dockerfile); err != nil {
				fault("build: %v", err)
			}
		}
		// Only the Countersign image reads Countersign settings.
		for name := range service.Environment {
			if strings.HasPrefix(name, prefix) && !known[name] && !composeOnly[name] {
				fault("%s is not a setting", name)
			}
		}
	}
	return faults
}

// settings returns the values of the env tags in a Go file.
func settings(file string) (map[string]bool, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			name, ok := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Lookup("env")
			if name, _, _ = strings.Cut(name, ","); ok && name != "" {
				names[prefix+name] = true
				if kind, ok := field.Type.(*ast.Ident); ok && kind.Name == "Secret" {
					names[prefix+name+"_FILE"] = true
				}
			}
		}
		return true
	})
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no settings found", file)
	}
	return names, nil
}

// variables returns the names in an env file, including those that are commented out.
func variables(file string) (_ []string, err error) {
	f, err := os.Open(file) //nolint:gosec // named on the command line
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	assignment := regexp.MustCompile(`^#?([A-Z][A-Z0-9_]*)=`)
	var names []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := assignment.FindStringSubmatch(lines.Text()); m != nil {
			names = append(names, m[1])
		}
	}
	return names, lines.Err()
}
