package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFaults introduces faults into the files in deploy/, one after another, and checks that each of them is
// reported.
func TestFaults(t *testing.T) {
	t.Parallel()
	const kubernetes = "kubernetes/countersign.yaml"
	for _, fault := range []struct{ file, old, with, says string }{
		{kubernetes, "", "", ""}, // the unmodified file
		{kubernetes, "enableServiceLinks: false", "enableServiceLinks: true", "COUNTERSIGN_SERVICE_HOST"},
		{kubernetes, "      enableServiceLinks: false #", "      #", "COUNTERSIGN_SERVICE_HOST"},
		{kubernetes, "/readyz?for=requests", "/readyz", "while Temporal is down"},
		{kubernetes, `enable-access-log: "false"`, `enable-access-log: "true"`, "signers' tokens"},
		{"Caddyfile", "request>uri delete", "", "signers' tokens"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("../../deploy")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, fault.file)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), fault.old) {
			t.Fatalf("%s has no %q", fault.file, fault.old)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(b), fault.old, fault.with, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		switch err := check(dir); {
		case fault.says == "" && err != nil:
			t.Errorf("without a fault: %v", err)
		case fault.says != "" && (err == nil || !strings.Contains(err.Error(), fault.says)):
			t.Errorf("%q for %q: %v", fault.with, fault.old, err)
		}
	}
}
