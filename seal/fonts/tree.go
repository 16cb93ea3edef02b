package fonts

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Tree returns a file system in which only the given directory has content, namely the bundled fonts. It omits a font
// that declares support for a script but contains only rare characters of it, because PDFium would select that font for
// the entire script.
func Tree(folder string) fs.FS { return tree(folder) }

// inTree reports whether a font file is included in a Tree.
func inTree(name string) bool { return name != "CountersignHanB-Regular.ttf" }

// Hashes returns the SHA-256 hash of each font file in a Tree, in hexadecimal, by file name.
func Hashes() (map[string]string, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(entries))
	for _, e := range entries {
		if !inTree(e.Name()) {
			continue
		}
		b, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		out[e.Name()] = hex.EncodeToString(sum[:])
	}
	return out, nil
}

// tree is the directory that contains the fonts.
type tree string

// Open implements fs.FS.
func (t tree) Open(name string) (fs.File, error) {
	if rest, ok := strings.CutPrefix(name, string(t)+"/"); ok {
		if !fs.ValidPath(name) || !inTree(rest) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return files.Open(rest)
	}
	if name == string(t) {
		entries, err := files.ReadDir(".")
		return &folder{entry(path.Base(name)), slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !inTree(e.Name()) })}, err
	}
	if name != "." && !strings.HasPrefix(string(t), name+"/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	rest := strings.TrimPrefix(string(t), strings.TrimPrefix(name+"/", "./"))
	child, _, _ := strings.Cut(rest, "/")
	return &folder{entry(path.Base(name)), []fs.DirEntry{entry(child)}}, nil
}

// folder is the directory that contains the fonts, or one of its parents.
type folder struct {
	entry

	left []fs.DirEntry
}

// Stat, Read, Close and ReadDir implement fs.ReadDirFile.
func (f *folder) Stat() (fs.FileInfo, error) { return f.entry, nil }

func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: string(f.entry), Err: fs.ErrInvalid}
}
func (f *folder) Close() error { return nil }

func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.left)
	} else if len(f.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.left))
	list := f.left[:n]
	f.left = f.left[n:]
	return list, nil
}

// entry is the name of a directory.
type entry string

func (e entry) Name() string               { return string(e) }
func (entry) IsDir() bool                  { return true }
func (entry) Type() fs.FileMode            { return fs.ModeDir }
func (e entry) Info() (fs.FileInfo, error) { return e, nil }
func (entry) Size() int64                  { return 0 }
func (entry) Mode() fs.FileMode            { return fs.ModeDir | 0o555 }
func (entry) ModTime() time.Time           { return time.Time{} }
func (entry) Sys() any                     { return nil }
