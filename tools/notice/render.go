package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// copyrightLine matches the lines of a license that name its holder. Licenses that differ only in these lines are
// printed once.
var copyrightLine = regexp.MustCompile(`(?im)^[ \t#*]*(portions )?(copyright|©|\(c\)).*(\d{4}|\(c\)|©|authors).*$`)

// render returns the content of NOTICE. It contains no versions, because the SBOM of a release contains them.
func render(all []component) []byte {
	type group struct {
		text  string
		users map[string][]string // copyright lines of each component
	}
	groups := map[string]*group{}
	var keys []string
	for _, c := range all {
		name := c.kind + " " + c.name
		if c.kind == "other" {
			name = c.name
		}
		for _, text := range c.texts {
			text = strings.ReplaceAll(text, "\r\n", "\n")
			bare := copyrightLine.ReplaceAllString(text, "")
			key := strings.ToLower(strings.Join(strings.Fields(bare), " "))
			g := groups[key]
			if g == nil {
				g = &group{text: strings.TrimSpace(blankLines.ReplaceAllString(bare, "\n\n")), users: map[string][]string{}}
				groups[key] = g
				keys = append(keys, key)
			}
			if g.users[name] == nil {
				g.users[name] = []string{}
			}
			for _, line := range copyrightLine.FindAllString(text, -1) {
				if line = strings.Join(strings.Fields(line), " "); !slices.Contains(g.users[name], line) {
					g.users[name] = append(g.users[name], line)
				}
			}
		}
	}
	// The licenses with the most components come first. Ties are ordered by text.
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[b].users), len(groups[a].users)), strings.Compare(a, b))
	})
	var b bytes.Buffer
	b.WriteString("Countersign\n\nThis product is licensed under the Apache License 2.0 (see LICENSE). Its programs bundle what follows, each under its own licence.\n" +
		"\"make notice\" writes this file; an SBOM beside each release names the versions.\n")
	for _, key := range keys {
		g := groups[key]
		b.WriteString("\n" + strings.Repeat("=", 100) + "\n\n")
		var names []string
		for name := range g.users {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&b, "- %s\n", name)
			for _, line := range g.users[name] {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
		if g.text != "" {
			b.WriteString("\n" + strings.Repeat("-", 100) + "\n\n")
			for line := range strings.SplitSeq(g.text, "\n") {
				b.WriteString(strings.TrimRight(line, " \t\f") + "\n")
			}
		}
	}
	return b.Bytes()
}

var blankLines = regexp.MustCompile(`\n[ \t]*(\n[ \t]*)+`)

// complete adds the program's components that are not Go modules to a CycloneDX file.
func complete(file, program string, all []component) error {
	b, err := os.ReadFile(file) //nolint:gosec // the path is given on the command line
	if err != nil {
		return err
	}
	var bom map[string]any
	if err := json.Unmarshal(b, &bom); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	components, _ := bom["components"].([]any)
	fillLicenses(components, all)
	for _, c := range all {
		if c.kind == "go" || !c.programs[program] {
			continue
		}
		entry := map[string]any{"type": "library", "name": c.name}
		if c.version != "" {
			entry["version"] = c.version
		}
		if c.kind == "npm" {
			purl := "pkg:npm/" + strings.Replace(c.name, "@", "%40", 1) + "@" + c.version
			entry["purl"], entry["bom-ref"] = purl, purl
		} else {
			entry["bom-ref"] = "bundled:" + strings.ReplaceAll(c.name, " ", "-")
		}
		if c.license != "" {
			entry["licenses"] = []any{map[string]any{"license": license(c.license)}}
		}
		components = append(components, entry)
	}
	bom["components"] = components
	b, err = json.MarshalIndent(bom, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644) //nolint:gosec // readable by all users
}

// signs lists a characteristic phrase of each license. The first phrase that matches determines the license.
var signs = []struct{ id, sign string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"BSD-3-Clause", "may be used to endorse or promote products"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"ISC", "Permission to use, copy, modify, and"},
	{"Unlicense", "This is free and unencumbered software"},
}

// fillLicenses sets the license of modules in a CycloneDX file for which no license was detected.
func fillLicenses(components []any, all []component) {
	for _, c := range components {
		entry, ok := c.(map[string]any)
		if !ok || entry["licenses"] != nil {
			continue
		}
		at := slices.IndexFunc(all, func(a component) bool {
			return a.name == entry["name"] || entry["name"] == "std" && a.name == standardName
		})
		if at < 0 {
			continue
		}
		text := strings.Join(strings.Fields(strings.Join(all[at].texts, " ")), " ")
		for _, s := range signs {
			if strings.Contains(text, s.sign) {
				entry["licenses"] = []any{map[string]any{"license": license(s.id)}}
				break
			}
		}
	}
}

// license returns a license as an SPDX identifier if it has the form of one, and otherwise as a name.
func license(said string) map[string]any {
	if regexp.MustCompile(`^[A-Za-z0-9.+-]+$`).MatchString(said) {
		return map[string]any{"id": said}
	}
	return map[string]any{"name": said}
}
