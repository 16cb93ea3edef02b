// Package blob stores files in a directory, in a bucket of Amazon S3 or of an S3-compatible service such as Google
// Cloud Storage, or in an Azure container.
//
// A file is first written to a temporary location, and becomes visible under its key only when it is complete, so that
// no reader ever sees a truncated file.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/failpoint"
)

// Folders of the file store, and the suffix of the time-stamp tokens that are stored beside the files they belong to.
const (
	Envelopes   = "envelopes/"
	Anchors     = "anchors/"
	Templates   = "templates/"
	Archives    = "archives/"
	TokenSuffix = ".tst"
	// Pages is the folder for page images and texts of stored files (see PagesOf).
	Pages = "pages/"
)

// PagesOf returns the folder for the page images and texts of the file with the given key.
func PagesOf(key string) string { return Pages + key + "/" }

// SourceOfPages returns the key of the file that a page file belongs to, or "" if the key does not belong to a page
// file.
func SourceOfPages(key string) string {
	rest, ok := strings.CutPrefix(key, Pages)
	i := strings.LastIndexByte(rest, '/')
	if !ok || i < 0 {
		return ""
	}
	return rest[:i]
}

// DeleteWithPages deletes a file together with its page images and texts.
func DeleteWithPages(ctx context.Context, s Store, key string) error {
	if err := s.Delete(ctx, key); err != nil {
		return err
	}
	pages, err := s.List(ctx, PagesOf(key))
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := s.Delete(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// Store stores files under keys such as "envelopes/<id>/<id>.pdf". It is safe for concurrent use.
type Store interface {
	// Temp creates an empty temporary file, which can then be passed to Put. The caller must call Discard for the
	// file.
	Temp() (*os.File, error)
	// Put durably stores the content of f under key, replacing earlier content. The file f remains open and readable.
	Put(ctx context.Context, f *os.File, key string) error
	// Open opens the file under key. If there is none, the error is fs.ErrNotExist.
	Open(ctx context.Context, key string) (*File, error)
	// Delete deletes the file under key. A missing file is not an error.
	Delete(ctx context.Context, key string) error
	// List returns the keys that begin with prefix.
	List(ctx context.Context, prefix string) ([]string, error)
	// Walk calls visit for every file whose key begins with prefix, one file at a time. It may omit files that are
	// created or deleted in the meantime.
	Walk(ctx context.Context, prefix string, visit func(Entry) error) error
	// Check writes, reads and deletes a small file.
	Check(ctx context.Context) error
}

// File is a stored file, open for reading.
type File struct {
	*os.File
	Size int64 // bytes
}

// Entry is a file in a listing.
type Entry struct {
	Key      string
	Size     int64     // stored size in bytes
	Modified time.Time // by the store's clock
}

// Open opens the store specified by rawURL, which is file:///dir, s3://bucket?… with the options listed at openS3, or
// azblob://container with the options of gocloud.dev/blob/azureblob.
func Open(ctx context.Context, rawURL string) (Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("blob URL cannot be read")
	}
	switch u.Scheme {
	case "file":
		return OpenDir(filepath.FromSlash(u.Host + u.Path))
	case "s3", "azblob":
		if err := removeAbandoned(os.TempDir(), tempPrefix); err != nil {
			return nil, fmt.Errorf("remove abandoned temporary files: %w", err)
		}
		if u.Scheme == "s3" {
			return openS3(u)
		}
		return openAzure(ctx, rawURL)
	}
	return nil, fmt.Errorf("blob URL: unknown scheme %q; use file, s3 or azblob", u.Scheme)
}

// Discard closes and removes a temporary file.
func Discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name()) // fails if Put has moved the file
}

const contentType = "application/pdf"

// uploadFile returns a temporary file for the content of a new object.
func uploadFile() (*os.File, error) {
	return createTemp(os.TempDir(), tempPrefix)
}

// downloaded returns the object with the given key. It calls fetch to write the object's content to a temporary file.
func downloaded(key string, fetch func(*os.File) error) (*File, error) {
	f, err := anonymousFile()
	if err != nil {
		return nil, err
	}
	if err := fetch(f); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", key, err), f.Close())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return withSize(f)
}

type dir struct{ root string }

// OpenDir returns a store that keeps its files in a directory, which is created if necessary.
func OpenDir(root string) (Store, error) {
	if root == "" {
		return nil, errors.New("blob directory: no path given")
	}
	d := &dir{root: root}
	if err := os.MkdirAll(d.tmp(), 0o700); err != nil {
		return nil, fmt.Errorf("blob directory: %w", err)
	}
	if err := removeAbandoned(d.tmp(), ""); err != nil {
		return nil, fmt.Errorf("blob directory: %w", err)
	}
	return d, nil
}

func (d *dir) tmp() string { return filepath.Join(d.root, "tmp") }

// path returns the path of the file with the given key. It rejects keys that refer to a location outside the directory.
func (d *dir) path(key string) (string, error) {
	if !filepath.IsLocal(key) {
		return "", fmt.Errorf("blob key %q is not allowed", key)
	}
	return filepath.Join(d.root, filepath.FromSlash(key)), nil
}

func (d *dir) Temp() (*os.File, error) {
	return createTemp(d.tmp(), "")
}

func (d *dir) Put(_ context.Context, f *os.File, key string) error {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	parent := filepath.Dir(path)
	if err := errors.Join(failpoint.InjectError("blob.keep"), f.Sync(), os.MkdirAll(parent, 0o700)); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	for p := parent; len(p) >= len(d.root); p = filepath.Dir(p) { // the entries of new directories must be durable too
		if err := syncDir(p); err != nil {
			return fmt.Errorf("store %s: %w", key, err)
		}
	}
	failpoint.Inject("blob.kept")
	return nil
}

func syncDir(path string) error {
	f, err := os.Open(path) //nolint:gosec // a directory of the store
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d *dir) Open(_ context.Context, key string) (*File, error) {
	path, err := d.path(key)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path) //nolint:gosec // path has checked the key
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	return withSize(f)
}

func withSize(f *os.File) (*File, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{File: f, Size: st.Size()}, nil
}

func (d *dir) Delete(_ context.Context, key string) error {
	path, err := d.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

func (d *dir) List(ctx context.Context, prefix string) ([]string, error) { return list(ctx, d, prefix) }

func list(ctx context.Context, s Store, prefix string) (keys []string, err error) {
	err = s.Walk(ctx, prefix, func(e Entry) error {
		keys = append(keys, e.Key)
		return nil
	})
	return keys, err
}

func (d *dir) Walk(ctx context.Context, prefix string, visit func(Entry) error) error {
	folder, err := d.path(prefix[:strings.LastIndex(prefix, "/")+1] + ".")
	if err != nil {
		return err
	}
	return filepath.WalkDir(folder, func(p string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // no such prefix, or deleted in the meantime
		case err != nil:
			return err
		case e.IsDir() && p == d.tmp():
			return fs.SkipDir
		case e.IsDir():
			return ctx.Err()
		}
		rel, err := filepath.Rel(d.root, p)
		key := filepath.ToSlash(rel)
		if err != nil || !strings.HasPrefix(key, prefix) {
			return err
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(Entry{Key: key, Size: st.Size(), Modified: st.ModTime()})
	})
}

func (d *dir) Check(ctx context.Context) error { return check(ctx, d) }

// check verifies that a store can write, read and delete a file.
func check(ctx context.Context, s Store) error {
	f, err := s.Temp()
	if err != nil {
		return err
	}
	defer Discard(f)
	const text = "countersign"
	if _, err := io.WriteString(f, text); err != nil {
		return fmt.Errorf("write to file store: %w", err)
	}
	key := "check/" + filepath.Base(f.Name())
	if err := s.Put(ctx, f, key); err != nil {
		return err
	}
	got, err := s.Open(ctx, key)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(got, 2*int64(len(text))))
	if err := errors.Join(err, got.Close(), s.Delete(ctx, key)); err != nil {
		return fmt.Errorf("read from file store: %w", err)
	}
	if string(b) != text {
		return errors.New("file store returned different content than was written")
	}
	return nil
}
