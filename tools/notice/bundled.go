package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// bundled is the content of bundled.json. It lists components that are neither Go modules nor npm packages, and those
// whose source has no license file.
type bundled []struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	License string `json:"license"` // SPDX identifier or short description
	// Files contains patterns of the embedded files that this entry covers. Each pattern begins with the path of the
	// file's Go module, unless the file belongs to the main module.
	Files []string `json:"files"`
	// With is the Go module that contains the component. Without that module, the component is not bundled.
	With string `json:"with"`
	// Texts lists the files that contain the license.
	Texts []string `json:"texts"`
	// Copyright is the text that precedes the license.
	Copyright string   `json:"copyright"`
	Programs  []string `json:"programs"`
}

func readBundled(file string) (bundled, error) {
	b, err := os.ReadFile(file) //nolint:gosec // of the repository
	if err != nil {
		return nil, err
	}
	var list bundled
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// components returns the listed components that are bundled, and adds their licenses to modules without a license
// file. Its error lists embedded files that no entry covers, and entries that cover nothing.
func (list bundled) components(root string, modules []component, embedded []string) ([]component, error) {
	var out []component
	var faults []error
	covered := map[string]bool{}
	for _, entry := range list {
		c := component{name: entry.Name, version: entry.Version, kind: "other", license: entry.License, programs: map[string]bool{}}
		for _, p := range entry.Programs {
			c.programs[p] = true
		}
		for _, file := range entry.Texts {
			b, err := os.ReadFile(filepath.Join(root, file)) //nolint:gosec // of the repository
			if err != nil {
				return nil, err
			}
			text := string(b)
			if entry.Copyright != "" {
				text = entry.Copyright + "\n\n" + text
			}
			c.texts = append(c.texts, text)
		}
		at := slices.IndexFunc(modules, func(m component) bool { return m.name == entry.With })
		if entry.With != "" && at < 0 {
			continue
		}
		if entry.With != "" && entry.With == entry.Name { // the entry is for the module itself
			modules[at].texts = append(modules[at].texts, c.texts...)
			continue
		}
		if at >= 0 && c.version == "" {
			c.version = modules[at].version
		}
		for _, pattern := range entry.Files {
			matched := false
			for _, file := range embedded {
				if ok, err := path.Match(pattern, file); err != nil {
					return nil, fmt.Errorf("%s: %w", pattern, err)
				} else if ok {
					covered[file], matched = true, true
				}
			}
			if !matched {
				faults = append(faults, fmt.Errorf("bundled.json: %s: no embedded file matches %s", entry.Name, pattern))
			}
		}
		out = append(out, c)
	}
	for _, file := range embedded {
		if !covered[file] {
			faults = append(faults, fmt.Errorf("the license of the embedded file %s is unknown: add it to tools/notice/bundled.json", file))
		}
	}
	return out, errors.Join(faults...)
}
