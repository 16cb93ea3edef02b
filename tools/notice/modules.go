package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platforms lists the platforms of a release. Some platforms require modules that others do not.
var platforms = [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// licenseFile matches the names of files that contain a license, or notices that a license requires.
var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|copyright|notice|patents|unlicense)([._-].*)?$`)

// goPackage is a package in the output of the go command.
type goPackage struct {
	ImportPath string
	Dir        string
	Standard   bool
	EmbedFiles []string
	Module     *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version, Dir string }
	}
}

// goModules returns the modules of all programs on all platforms, and the embedded files that may have a separate
// license.
func goModules(ctx context.Context, root string) (modules []component, embedded []string, err error) {
	found := map[string]*component{}
	files := map[string]bool{}
	for _, program := range []struct{ name, dir, path, tags string }{
		{service, root, "./cmd/countersign", "nomsgpack,azure"},
		{server, filepath.Join(root, "temporal", "devserver"), ".", "nomsgpack"},
	} {
		for _, platform := range platforms {
			packages, err := list(ctx, program.dir, program.path, program.tags, platform)
			if err != nil {
				return nil, nil, err
			}
			for _, p := range packages {
				if err := add(found, files, p, program.name); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	standard, err := standardLibrary(ctx)
	if err != nil {
		return nil, nil, err
	}
	modules = append(modules, standard)
	for _, c := range found {
		slices.Sort(c.texts)
		c.texts = slices.Compact(c.texts)
		modules = append(modules, *c)
	}
	for f := range files {
		embedded = append(embedded, f)
	}
	slices.Sort(embedded)
	slices.SortFunc(modules, func(a, b component) int { return strings.Compare(a.name, b.name) })
	return modules, embedded, nil
}

func list(ctx context.Context, dir, pkg, tags string, platform [2]string) ([]goPackage, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-tags", tags, "-json=ImportPath,Dir,Standard,EmbedFiles,Module", pkg) //nolint:gosec // constants
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+platform[0], "GOARCH="+platform[1])
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go list in %s: %w: %s", dir, err, stderr.String())
	}
	var packages []goPackage
	for d := json.NewDecoder(&out); ; {
		var p goPackage
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, err
		}
		packages = append(packages, p)
	}
}

// add records a package's module, its licenses, and its embedded files.
func add(found map[string]*component, files map[string]bool, p goPackage, program string) error {
	if p.Standard || p.Module == nil {
		return nil
	}
	name, version, dir := p.Module.Path, p.Module.Version, p.Module.Dir
	if r := p.Module.Replace; r != nil && r.Dir != "" {
		dir = r.Dir
	}
	relative, err := filepath.Rel(dir, p.Dir)
	if err != nil {
		return err
	}
	for _, f := range p.EmbedFiles {
		file := path.Join(filepath.ToSlash(relative), f)
		if !p.Module.Main {
			file = path.Join(name, file)
		}
		if licensedApart(file) {
			files[file] = true
		}
	}
	replaced := p.Module.Replace
	// The module belongs to this repository.
	if p.Module.Main || p.Module.Version == "" || replaced != nil && replaced.Version == "" {
		return nil
	}
	c := found[name]
	if c == nil {
		c = &component{name: name, version: version, kind: "go", programs: map[string]bool{}}
		found[name] = c
	}
	c.programs[program] = true
	// Search the package's directory and its parents, up to the directory of the module.
	for at := p.Dir; ; at = filepath.Dir(at) {
		texts, err := licensesIn(at)
		if err != nil {
			return err
		}
		c.texts = append(c.texts, texts...)
		if at == dir || len(at) <= len(dir) {
			return nil
		}
	}
}

// licensedApart reports whether an embedded file is of a kind that usually has a separate license. The content of the
// pages is excluded, because it comes from npm packages, which are listed separately.
func licensedApart(file string) bool {
	if strings.HasPrefix(file, "web/dist/") {
		return false
	}
	return slices.Contains([]string{".ttf", ".otf", ".woff", ".woff2", ".pfb", ".wasm", ".icc"}, path.Ext(file))
}

func licensesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) || slices.Contains([]string{".go", ".sh", ".js", ".mjs", ".cjs", ".ts", ".map", ".vue", ".json", ".css"}, filepath.Ext(e.Name())) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name())) //nolint:gosec // in a bundled module
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(b))
	}
	return texts, nil
}

const standardName = "Go's standard library"

func standardLibrary(ctx context.Context) (component, error) {
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return component{}, err
	}
	texts, err := licensesIn(strings.TrimSpace(string(goroot)))
	return component{name: standardName, kind: "go", license: "BSD-3-Clause", texts: texts, programs: map[string]bool{service: true, server: true}}, err
}
