// Package forgeries attacks the verification of sealed documents: with named forgeries of every published kind, with
// files that are expensive to read, and with generated files. docs/learn/attacks.md lists the kinds.
package forgeries_test

import (
	"flag"
	"os"
	"testing"
)

// long enables the exhaustive tests of this package: make forgeries.
var long = flag.Bool("long", false, "change every byte, and try more of everything")

func TestMain(m *testing.M) {
	flag.Parse()
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	checks := "60"
	if *long {
		checks = "500" // of each property, for each genuine file; -rapid.checks tries more
	}
	if !set["rapid.checks"] {
		check(flag.Set("rapid.checks", checks))
	}
	check(flag.Set("rapid.nofailfile", "true")) // the test's output is sufficient
	os.Exit(m.Run())
}
