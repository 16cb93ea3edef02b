package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStaleEntriesAreNamedAndMended checks that an entry whose file or function was moved causes an error that
// contains the new location, and that -mend corrects the entry.
func TestStaleEntriesAreNamedAndMended(t *testing.T) {
	t.Parallel()
	all := []mutation{
		{file: "store/new.go", function: "save", kind: "sql", text: "version = ?"},
		{file: "store/b.go", function: "load", kind: "limit", text: "n > max"},
	}
	file := filepath.Join(t.TempDir(), "accepted.txt")
	content := "# heading\nstore/old.go save sql version = ? — a second line\nstore/b.go load limit n > max — as good\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := checkAccepted(file, all, false)
	if err == nil || !strings.Contains(err.Error(), "accepted.txt:2:") || !strings.Contains(err.Error(), "store/new.go save sql version = ?") {
		t.Fatalf("stale entry: %v", err)
	}
	if b, _ := os.ReadFile(file); string(b) != content {
		t.Fatalf("the file was modified without -mend: %s", b)
	}
	names, err := checkAccepted(file, all, true)
	if err != nil || !names["store/new.go save sql version = ?"] || !names["store/b.go load limit n > max"] {
		t.Fatalf("mended: %v, %v", names, err)
	}
	want := strings.Replace(content, "store/old.go", "store/new.go", 1)
	if b, _ := os.ReadFile(file); string(b) != want {
		t.Fatalf("mended file: %s", b)
	}
}

// TestMend_AmbiguousEntries_AreUnchanged checks that an entry is not changed if no change resembles it, or more than
// one does.
func TestMend_AmbiguousEntries_AreUnchanged(t *testing.T) {
	t.Parallel()
	all := []mutation{
		{file: "a/x.go", function: "f", kind: "never", text: "a == b"},
		{file: "a/y.go", function: "f", kind: "never", text: "a == b"},
	}
	for _, line := range []string{"a/z.go f never a == b — why", "a/z.go g limit n < 1 — why"} {
		file := filepath.Join(t.TempDir(), "accepted.txt")
		if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if names, err := checkAccepted(file, all, true); err == nil {
			t.Errorf("%s: matched to %v", line, names)
		}
		if b, _ := os.ReadFile(file); string(b) != line {
			t.Errorf("%s: rewritten as %s", line, b)
		}
	}
}

func TestEveryEntryGivesAReason(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "accepted.txt")
	if err := os.WriteFile(file, []byte("\na.go f never x — \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := checkAccepted(file, nil, true); err == nil || !strings.Contains(err.Error(), ":2: the entry has no reason") {
		t.Fatalf("unexpected error for an entry without a reason: %v", err)
	}
}
