package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRename checks that names of packages and modules are changed, that nothing else with the same name is changed,
// and that the names can be changed again.
func TestRename(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := map[string]string{
		"go.mod":            "module countersign\n\nrequire countersign/clients/go v0.0.0\n\nreplace countersign/clients/go => ./clients/go\n",
		"clients/go/go.mod": "module countersign/clients/go\n",
		"models/a.go":       "package models\n\nimport (\n\t\"countersign/store\"\n\tcountersign \"countersign/clients/go\"\n)\n\nvar a = \"countersign/store.x\" + \"countersign/\" + purpose + \"/etc/countersign/store\"\n",
		"store/b.go":        "package store\n\nvar b = strings.HasPrefix(p, \"countersign/\") // countersign/models, bin/countersign\n",
		"cmd/x/main.go":     "package main\n",
		".golangci.yml":     "module-path: countersign\n- {pkg: countersign, desc: x}\n- {pkg: countersign/store}\nonly-types: ['^countersign/']\n",
		"Makefile":          "NORACE ?= ^countersign/(store|models)(/|$$)\nbin/countersign: countersign/store countersign\n",
		"CHANGELOG.md":      "countersign/store\n",
		"deploy/x.service":  "StateDirectory=countersign/store\n",
		"clients/go/doc.md": "import countersign/clients/go, and run countersign send\n",
		npmPackage:          "{\n  \"license\": \"Apache-2.0\",\n  \"type\": \"module\"\n}\n",
	}
	after := map[string]string{
		"go.mod":            "module example.org/sign\n\nrequire example.org/sign/clients/go v0.0.0\n\nreplace example.org/sign/clients/go => ./clients/go\n",
		"clients/go/go.mod": "module example.org/sign/clients/go\n",
		"models/a.go":       "package models\n\nimport (\n\t\"example.org/sign/store\"\n\tcountersign \"example.org/sign/clients/go\"\n)\n\nvar a = \"example.org/sign/store.x\" + \"countersign/\" + purpose + \"/etc/countersign/store\"\n",
		"store/b.go":        "package store\n\nvar b = strings.HasPrefix(p, \"example.org/sign/\") // example.org/sign/models, bin/countersign\n",
		".golangci.yml":     "module-path: example.org/sign\n- {pkg: example.org/sign, desc: x}\n- {pkg: example.org/sign/store}\nonly-types: ['^example.org/sign/']\n",
		"Makefile":          "NORACE ?= ^example.org/sign/(store|models)(/|$$)\nbin/countersign: example.org/sign/store countersign\n",
		"clients/go/doc.md": "import example.org/sign/clients/go, and run countersign send\n",
		npmPackage: "{\n  \"license\": \"Apache-2.0\",\n" +
			"  \"repository\": {\"type\": \"git\", \"url\": \"git+https://example.org/sign.git\", \"directory\": \"clients/typescript\"},\n  \"type\": \"module\"\n}\n",
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range before {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	same := func(want map[string]string, path string) {
		t.Helper()
		for name, text := range before {
			if changed, ok := want[name]; ok {
				text = changed
			}
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if text = strings.ReplaceAll(text, "example.org/sign", path); string(got) != text {
				t.Errorf("%s:\n%s\nnot:\n%s", name, got, text)
			}
		}
	}
	for _, bad := range []string{"", "countersign", "sign.example.org/", "https://example.org/x", "example.org/a b", "../x"} {
		if _, err := rename(dir, bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if n, err := rename(dir, "example.org/sign"); err != nil || n != len(after) {
		t.Fatal(n, err)
	}
	same(after, "example.org/sign")
	if n, err := rename(dir, "git.example.com/a/sign"); err != nil || n != len(after) {
		t.Fatal(n, err)
	}
	same(after, "git.example.com/a/sign")
}
