package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFaults introduces faults into the compose file, one after another, and checks that each of them is reported.
func TestFaults(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []struct{ old, with, says string }{
		{"", "", ""}, // the unmodified file
		{"${COUNTERSIGN_ENV_FILE:-.env}", "deploy/nothing.env", "COUNTERSIGN_HISTORY_DAYS"},
		{"${COUNTERSIGN_ENV_FILE:-.env}", "deploy/nothing.env", "AWS_ACCESS_KEY_ID"},
		{"    POSTGRES_PASSWORD: \"\"\n", "", "POSTGRES_PASSWORD"},
		{"    COUNTERSIGN_LISTEN: ", "    COUNTERSIGN_LISTN: ", "COUNTERSIGN_LISTN"},
		{"    - ./deploy/config:/etc/countersign:ro", "    - ./deploy/config:/etc/elsewhere:ro", "/etc/countersign/tsa.pem"},
		{"image: caddy:2.10-alpine", "image: caddy", "has no version"},
	} {
		if !strings.Contains(string(b), fault.old) {
			t.Fatalf("docker-compose.yml has no %q", fault.old)
		}
		f, err := os.CreateTemp(root, "compose-*.yml") // in the same directory, on which the file's relative paths depend
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(f.Name()) })
		_, err = f.WriteString(strings.Replace(string(b), fault.old, fault.with, 1))
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		err = check(t.Context(), f.Name(), filepath.Join(root, "deploy/env.example"), filepath.Join(root, "config/config.go"))
		switch {
		case fault.says == "" && err != nil:
			t.Errorf("without a fault: %v", err)
		case fault.says != "" && (err == nil || !strings.Contains(err.Error(), fault.says)):
			t.Errorf("%q for %q: %v", fault.with, fault.old, err)
		}
	}
}
