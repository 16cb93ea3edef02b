// Command rename changes the module paths in this repository, for the root module and all modules below it. It updates
// go.mod files, imports, tool settings and documents. It also sets the repository URL of the npm package, which is
// unknown until then.
//
//	rename -to example.org/countersign
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	to := flag.String("to", "", "the new path of the root module, such as example.org/countersign")
	flag.Parse()
	n, err := rename(*root, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files now refer to %s: review the changes, and commit them.\n", n, *to)
}

// modulePath matches paths that the go command fetches from a host, which means that the first element contains a
// dot.
var modulePath = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(/[A-Za-z0-9_][A-Za-z0-9._~-]*)*$`)

// rename changes the paths and returns the number of changed files.
func rename(root, to string) (changed int, err error) {
	if !modulePath.MatchString(to) {
		return 0, fmt.Errorf("-to must be a module path whose first element is a host, such as example.org/countersign; got %q", to)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod")) //nolint:gosec // of the repository
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(mod)
	if m == nil {
		return 0, fmt.Errorf("%s/go.mod has no module directive", root)
	}
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output() //nolint:gosec,noctx // of the repository
	if err != nil {
		return 0, fmt.Errorf("list files: %w", err)
	}
	files := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	replace := replacer(string(m[1]), to, files)
	for _, file := range files {
		name := filepath.Join(root, file)
		if !concerned(file) {
			continue
		}
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue // a removed file, or a symbolic link
		}
		old, err := os.ReadFile(name) //nolint:gosec // of the repository
		if err != nil {
			return changed, err
		}
		text := replace(old)
		if file == npmPackage {
			text = nameRepository(text, to)
		}
		if !bytes.Equal(text, old) {
			if err := os.WriteFile(name, text, info.Mode().Perm()); err != nil {
				return changed, err
			}
			changed++
		}
	}
	return changed, nil
}

// npmPackage is the path of the package.json file of the TypeScript client.
const npmPackage = "clients/typescript/package.json"

var (
	npmRepository = regexp.MustCompile(`(?m)^  "repository": .*\n`)
	npmLicense    = regexp.MustCompile(`(?m)^  "license": .*\n`)
)

// nameRepository sets the repository in a package.json file to the module's path, which is the address from which the
// repository is cloned. The npm registry displays this address, and uses it to verify where a package was built.
func nameRepository(text []byte, to string) []byte {
	line := fmt.Sprintf("  \"repository\": {\"type\": \"git\", \"url\": \"git+https://%s.git\", \"directory\": \"clients/typescript\"},\n", to)
	return npmLicense.ReplaceAll(npmRepository.ReplaceAll(text, nil), []byte("${0}"+line))
}

// concerned reports whether a file can contain package paths.
func concerned(file string) bool {
	if file == "CHANGELOG.md" {
		return false
	}
	base := path.Base(file)
	return file == npmPackage || slices.Contains([]string{".go", ".mod", ".md", ".sh", ".yml"}, path.Ext(file)) || slices.Contains([]string{"Makefile", "mutants.txt"}, base) ||
		path.Dir(file) == ".ci" || path.Dir(file) == "tools"
}

// replacer returns a function that replaces the path wherever it is followed by a directory of the repository. A
// program, file path or user with the same name is not changed.
func replacer(from, to string, files []string) func([]byte) []byte {
	var directories []string
	for _, file := range files {
		if first, _, ok := strings.Cut(file, "/"); ok && path.Ext(file) == ".go" || strings.HasSuffix(file, "/go.mod") {
			directories = append(directories, regexp.QuoteMeta(first))
		}
	}
	slices.Sort(directories)
	old := regexp.QuoteMeta(from)
	rules := []*regexp.Regexp{
		regexp.MustCompile(`((?:^|[^\w./@-])\^?)` + old + `(/(?:` + strings.Join(slices.Compact(directories), "|") + `)\b)`),
		regexp.MustCompile(`(?m)(^module )` + old + `()$`),
		// This pattern matches linter settings and checks of package paths.
		regexp.MustCompile(`(module-path: |pkg: |HasPrefix\([^\n]*, ")` + old + `(\b)`),
		regexp.MustCompile(`(\^)` + old + `(/)`), // patterns
	}
	return func(text []byte) []byte {
		for _, rule := range rules {
			text = rule.ReplaceAll(text, []byte("${1}"+to+"${2}"))
		}
		return text
	}
}
