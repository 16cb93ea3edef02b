// Package forgeries attacks the verification of sealed documents. It uses specific forgeries of every published kind,
// files that are expensive to process, and generated files. The kinds are listed in docs/learn/attacks.md.
package forgeries_test

import (
	"flag"
	"os"
	"testing"
)

// long enables the exhaustive tests of this package, which "make forgeries" runs.
var long = flag.Bool("long", false, "run the exhaustive tests, which change every byte")

func TestMain(m *testing.M) {
	flag.Parse()
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	checks := "60"
	if *long {
		checks = "500" // number of cases for each property and each genuine file; -rapid.checks tries more
	}
	if !set["rapid.checks"] {
		check(flag.Set("rapid.checks", checks))
	}
	check(flag.Set("rapid.nofailfile", "true")) // the test's output is sufficient
	os.Exit(m.Run())
}
