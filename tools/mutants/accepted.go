package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// entry is a change that no test has to detect, with the reason.
type entry struct {
	line   int // index of the line in the file
	name   string
	reason string
}

const separator = " — "

// readAccepted reads lines of the form "name — reason". A line without a reason is an error.
func readAccepted(file string) (entries []entry, lines []string, err error) {
	b, err := os.ReadFile(file) //nolint:gosec // the path is given on the command line
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	lines = strings.Split(string(b), "\n")
	for i, line := range lines {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, separator)
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, nil, fmt.Errorf("%s:%d: the entry has no reason", file, i+1)
		}
		entries = append(entries, entry{i, strings.TrimSpace(name), strings.TrimSpace(reason)})
	}
	return entries, lines, nil
}

// checkAccepted returns the accepted names. An entry for a change that does not exist in the current code is an
// error. If mend is set and exactly one change resembles the entry, the entry is replaced.
func checkAccepted(file string, all []mutation, mend bool) (map[string]bool, error) {
	entries, lines, err := readAccepted(file)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, m := range all {
		known[m.name()] = true
	}
	names := map[string]bool{}
	var stale []error
	mended := false
	for _, e := range entries {
		if known[e.name] {
			names[e.name] = true
			continue
		}
		like := resembling(e.name, all)
		if mend && len(like) == 1 {
			lines[e.line] = like[0] + separator + e.reason
			names[like[0]], mended = true, true
			fmt.Printf("mended: %s\n    now %s\n", e.name, like[0])
			continue
		}
		stale = append(stale, fmt.Errorf("%s:%d: no change is named %s%s", file, e.line+1, e.name, suggestion(like)))
	}
	if mended {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil { //nolint:gosec // a file of the repository
			return nil, err
		}
	}
	return names, errors.Join(stale...)
}

func suggestion(like []string) string {
	if len(like) == 0 {
		return " (none resembles it: remove the line or rename the change)"
	}
	return "\n    like it (-mend takes it if it is the only one): " + strings.Join(like, "\n    ")
}

// resembling returns the changes that an outdated name may refer to. It first searches for changes with the same
// function and text in another file, then for changes with the same file and text in another function, and then for
// changes of the same kind in the same function.
func resembling(name string, all []mutation) []string {
	part := strings.SplitN(name, " ", 4)
	if len(part) < 4 {
		return nil
	}
	file, function, kind, text := part[0], part[1], part[2], part[3]
	for _, same := range []func(m mutation) bool{
		func(m mutation) bool { return m.function == function && m.kind == kind && m.text == text },
		func(m mutation) bool { return m.file == file && m.kind == kind && m.text == text },
		func(m mutation) bool { return m.kind == kind && m.text == text },
		func(m mutation) bool { return m.file == file && m.function == function && m.kind == kind },
		func(m mutation) bool { return m.function == function && m.kind == kind },
	} {
		var out []string
		for _, m := range all {
			if same(m) && !slices.Contains(out, m.name()) {
				out = append(out, m.name())
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
