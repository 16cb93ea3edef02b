// Command notice writes NOTICE, which contains the licenses of all components that a release bundles. It finds Go
// modules and the files that they embed with the go command, and npm packages with the lock file and the sources of the
// pages. Other components, such as fonts, word lists and PDFium, are listed in bundled.json. It fails if it finds no
// license for a bundled component.
//
//	notice                         writes NOTICE
//	notice -check                  fails unless NOTICE is up to date
//	notice -sbom FILE -program P   adds components that are not Go modules to a CycloneDX file
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The programs in a release.
const (
	service = "countersign"
	server  = "countersign-temporal"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	checkOnly := flag.Bool("check", false, "compare the result with NOTICE, and write nothing")
	sbom := flag.String("sbom", "", "CycloneDX file to complete")
	program := flag.String("program", service, "program that the CycloneDX file describes")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	err := run(ctx, *root, *checkOnly, *sbom, *program)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, checkOnly bool, sbom, program string) error {
	all, err := collect(ctx, root)
	if err != nil {
		return err
	}
	if sbom != "" {
		return complete(sbom, program, all)
	}
	text := render(all)
	file := filepath.Join(root, "NOTICE")
	if !checkOnly {
		return os.WriteFile(file, text, 0o644) //nolint:gosec // readable by all users
	}
	old, err := os.ReadFile(file) //nolint:gosec // of the repository
	if err != nil {
		return err
	}
	if !bytes.Equal(old, text) {
		return errors.New("NOTICE does not match the bundled components: run \"make notice\"")
	}
	return nil
}

type component struct {
	name, version string
	kind          string   // go, npm or other
	license       string   // SPDX identifier, if declared
	texts         []string // license texts
	programs      map[string]bool
}

// collect returns all components. Its error lists every component without a license.
func collect(ctx context.Context, root string) ([]component, error) {
	others, err := readBundled(filepath.Join(root, "tools", "notice", "bundled.json"))
	if err != nil {
		return nil, err
	}
	modules, embedded, err := goModules(ctx, root)
	if err != nil {
		return nil, err
	}
	packages, err := npmPackages(filepath.Join(root, "web"))
	if err != nil {
		return nil, err
	}
	listed, err := others.components(root, modules, embedded)
	if err != nil {
		return nil, err
	}
	all := append(append(modules, packages...), listed...)
	var missing []error
	for _, c := range all {
		if len(c.texts) == 0 {
			missing = append(missing, fmt.Errorf("the license of %s %s was not found: add it to tools/notice/bundled.json", c.kind, c.name))
		}
	}
	return all, errors.Join(missing...)
}
