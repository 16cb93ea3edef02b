package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed licenses/MIT.txt
var mit string

// lockFile is the content of package-lock.json.
type lockFile struct {
	Packages map[string]struct {
		Version         string            `json:"version"`
		License         string            `json:"license"`
		Dependencies    map[string]string `json:"dependencies"`
		DevDependencies map[string]string `json:"devDependencies"`
	} `json:"packages"`
}

// npmPackages returns the packages that the pages bundle: the direct and transitive dependencies, and the development
// dependencies whose files the sources of the pages import.
func npmPackages(web string) ([]component, error) {
	b, err := os.ReadFile(filepath.Join(web, "package-lock.json")) //nolint:gosec // of the repository
	if err != nil {
		return nil, err
	}
	var lock lockFile
	if err := json.Unmarshal(b, &lock); err != nil {
		return nil, err
	}
	imported, err := importedNames(web)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range lock.Packages[""].Dependencies {
		names = append(names, name)
	}
	for name := range lock.Packages[""].DevDependencies {
		if imported[name] {
			names = append(names, name)
		}
	}
	var all []component
	for seen := map[string]bool{}; len(names) > 0; {
		name := names[0]
		names = names[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		locked, ok := lock.Packages["node_modules/"+name]
		if !ok {
			return nil, fmt.Errorf("npm %s is not in package-lock.json", name)
		}
		for dependency := range locked.Dependencies {
			names = append(names, dependency)
		}
		c, err := npmPackage(filepath.Join(web, "node_modules", name), name, locked.License)
		if err != nil {
			return nil, err
		}
		c.version = locked.Version
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// npmPackage reads the licenses of a package and of its parts.
func npmPackage(dir, name, license string) (component, error) {
	c := component{name: name, kind: "npm", license: license, programs: map[string]bool{service: true}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("npm %s is not installed: run \"make web\": %w", name, err)
		case d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case d.IsDir():
			texts, err := licensesIn(path)
			c.texts = append(c.texts, texts...)
			return err
		}
		return nil
	})
	if len(c.texts) == 0 && license == "MIT" { // the license is only declared in package.json
		c.texts = []string{"Copyright (c) the authors of " + name + "\n\n" + mit}
	}
	return c, err
}

var quoted = regexp.MustCompile(`["'](?:[./]*node_modules/)?((?:@[\w.-]+/)?[\w.-]+)[^"'\n]*["']`)

// importedNames returns the first parts of all strings in the sources of the pages, excluding tests. They include the
// names of the imported packages.
func importedNames(web string) (map[string]bool, error) {
	names := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(web, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".test.ts") {
			return err
		}
		b, err := os.ReadFile(path) //nolint:gosec // of the repository
		if err != nil {
			return err
		}
		for _, m := range quoted.FindAllStringSubmatch(string(b), -1) {
			names[m[1]] = true
		}
		return nil
	})
	return names, err
}
