package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestComponents_Faults checks that errors list an embedded file without an entry, and an entry without a file.
func TestComponents_Faults(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "OFL.txt"), "the licence")
	var list bundled
	if err := json.Unmarshal([]byte(`[
		{"name": "font A", "files": ["countersign/fonts/A*.ttf"], "texts": ["OFL.txt"], "copyright": "Copyright (c) 2020 Ada"},
		{"name": "PDFium", "files": ["example.com/pdfium/*.wasm"], "with": "example.com/pdfium", "texts": ["OFL.txt"]},
		{"name": "example.com/bare", "with": "example.com/bare", "texts": ["OFL.txt"]}
	]`), &list); err != nil {
		t.Fatal(err)
	}
	modules := []component{{name: "example.com/bare", kind: "go"}}
	got, err := list.components(root, modules, []string{"countersign/fonts/A-Bold.ttf"})
	if err != nil || len(got) != 1 || got[0].texts[0] != "Copyright (c) 2020 Ada\n\nthe licence" {
		t.Fatal(got, err)
	}
	if len(modules[0].texts) != 1 {
		t.Error("a module without a license file must receive the listed one")
	}
	for _, c := range []struct {
		modules  []component
		embedded []string
		want     string
	}{
		{nil, []string{"countersign/fonts/A.ttf", "countersign/fonts/B.ttf"}, "the embedded file countersign/fonts/B.ttf is unknown"},
		{nil, nil, "font A: no embedded file matches"},
		{[]component{{name: "example.com/pdfium"}}, []string{"countersign/fonts/A.ttf"}, "PDFium: no embedded file matches"},
		{nil, []string{"countersign/fonts/A.ttf", "example.com/pdfium/x.wasm"}, "the embedded file example.com/pdfium/x.wasm is unknown"},
	} {
		if _, err := list.components(root, c.modules, c.embedded); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
}

// TestNPMPackages_AreThoseThatThePagesBundle checks that dependencies are listed transitively, and that other
// packages are listed only if a source file imports them.
func TestNPMPackages_AreThoseThatThePagesBundle(t *testing.T) {
	t.Parallel()
	web := t.TempDir()
	write(t, filepath.Join(web, "package-lock.json"), `{"packages": {
		"": {"dependencies": {"a": "1"}, "devDependencies": {"@s/served": "1", "compiler": "1"}},
		"node_modules/a": {"version": "1.0.0", "license": "ISC", "dependencies": {"b": "1"}},
		"node_modules/b": {"version": "2.0.0", "license": "MIT"},
		"node_modules/@s/served": {"version": "3.0.0", "license": "MIT"},
		"node_modules/compiler": {"version": "4.0.0", "license": "GPL-3.0"}
	}}`)
	write(t, filepath.Join(web, "src", "docs", "main.ts"), `import bundle from "../../node_modules/@s/served/dist/bundle.js?url";`)
	write(t, filepath.Join(web, "node_modules", "a", "parts", "LICENSE_PART"), "of a part")
	write(t, filepath.Join(web, "node_modules", "b", "package.json"), "{}")
	write(t, filepath.Join(web, "node_modules", "@s", "served", "package.json"), "{}")
	packages, err := npmPackages(web)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range packages {
		names = append(names, p.name+"@"+p.version)
		if len(p.texts) == 0 {
			t.Errorf("%s has no license", p.name)
		}
	}
	if want := []string{"@s/served@3.0.0", "a@1.0.0", "b@2.0.0"}; !slices.Equal(names, want) {
		t.Errorf("%v, not %v", names, want)
	}
	if err := os.RemoveAll(filepath.Join(web, "node_modules", "b")); err != nil {
		t.Fatal(err)
	}
	if _, err := npmPackages(web); err == nil || !strings.Contains(err.Error(), "npm b is not installed") {
		t.Error(err)
	}
}

// TestRender_PrintsEqualLicencesOnce checks that equal licenses are printed once, with the copyright lines of all
// components.
func TestRender_PrintsEqualLicencesOnce(t *testing.T) {
	t.Parallel()
	text := render([]component{
		{name: "x", kind: "go", texts: []string{"MIT\n\nCopyright (c) 2020 Ada\n\nPermission is granted."}},
		{name: "y", kind: "npm", texts: []string{"MIT\r\n\r\nCopyright 2021 Bob <bob@example.com>\r\n\r\nPermission   is granted.\r\n"}},
	})
	if n := strings.Count(string(text), "is granted"); n != 1 {
		t.Errorf("%d times:\n%s", n, text)
	}
	for _, want := range []string{"- go x\n    Copyright (c) 2020 Ada\n", "- npm y\n    Copyright 2021 Bob <bob@example.com>\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// TestComplete_AddsWhatIsBundledBesideModules checks that components other than modules are added to the SBOM of the
// program that contains them.
func TestComplete_AddsWhatIsBundledBesideModules(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sbom.json")
	write(t, file, `{"bomFormat": "CycloneDX", "components": [{"name": "example.com/m", "type": "library"}]}`)
	err := complete(file, service, []component{
		{name: "example.com/m", kind: "go", texts: []string{"Permission is hereby\ngranted, free of charge"}, programs: map[string]bool{service: true}},
		{name: "@s/served", version: "3.0.0", kind: "npm", license: "MIT", programs: map[string]bool{service: true}},
		{name: "font A", kind: "other", license: "free for any use", programs: map[string]bool{service: true}},
		{name: "elsewhere", kind: "other", programs: map[string]bool{server: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Components []struct {
			Name, PURL string
			Licenses   []struct {
				License struct{ ID, Name string }
			}
		}
	}
	if err := json.Unmarshal(b, &bom); err != nil {
		t.Fatal(err)
	}
	if len(bom.Components) != 3 || bom.Components[0].Licenses[0].License.ID != "MIT" || bom.Components[1].PURL != "pkg:npm/%40s/served@3.0.0" || bom.Components[2].Licenses[0].License.Name != "free for any use" {
		t.Errorf("%+v", bom)
	}
}
