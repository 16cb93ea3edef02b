package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cacheFile returns the file that caches the results of a package's tests, or an empty string if there is no cache. The
// file's name depends on the test binary, the program that it may start, the files in the package's directory, which
// the tests may read, and the names of the tests. If a test reads anything else, the cache can be outdated. A
// detectable change may then be counted as undetected, but not vice versa.
func (b *bench) cacheFile(pkg string, tests []string) (string, error) {
	if b.cache == "" {
		return "", nil
	}
	sum := sha256.New()
	add := func(path string) error {
		f, err := os.Open(path) //nolint:gosec // our own file
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // read-only file
		_, _ = io.WriteString(sum, "\x00"+filepath.Base(path)+"\x00")
		_, err = io.Copy(sum, f)
		return err
	}
	_, _ = io.WriteString(sum, strings.Join(tests, " "))
	if err := add(b.binaries[pkg]); err != nil {
		return "", err
	}
	if pkg == startsProgram {
		if err := add(b.program); err != nil {
			return "", err
		}
	}
	err := filepath.WalkDir(pkg, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return add(path)
	})
	if err != nil {
		return "", err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-")
	return filepath.Join(b.cache, name+"-"+hex.EncodeToString(sum.Sum(nil))[:16]+".json"), nil
}

// readExplored returns the content of a cache file, or nil if it does not exist.
func readExplored(file string) ([]exploredTest, error) {
	if file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(file) //nolint:gosec // our own file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []exploredTest
	if err := json.Unmarshal(content, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// writeExplored replaces the cached results of a package's tests.
func writeExplored(file string, tests []exploredTest) error {
	if file == "" {
		return nil
	}
	content, err := json.Marshal(tests)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // not secret
		return err
	}
	if err := os.WriteFile(file+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
