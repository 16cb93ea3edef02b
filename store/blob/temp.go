package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Prefix and suffix of the names of temporary files. The prefix is used in directories shared with other programs.
const (
	tempPrefix = "countersign-"
	tempSuffix = ".part"
)

// createTemp creates a temporary file, which is locked (flock(2)) until it is closed. An unlocked file therefore
// belongs to a process that has ended.
func createTemp(dir, prefix string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, prefix+"*"+tempSuffix)
		if err != nil {
			return nil, fmt.Errorf("create temporary file: %w", err)
		}
		switch err := lock(f); {
		case errors.Is(err, syscall.EWOULDBLOCK): // removed by removeAbandoned before it was locked
			_ = f.Close()
		case err != nil: // file system does not support locks
			return f, nil
		default:
			if there, err := os.Stat(f.Name()); err == nil && sameFile(f, there) {
				return f, nil
			}
			_ = f.Close() // removed before it was locked
		}
	}
}

func sameFile(f *os.File, there fs.FileInfo) bool {
	st, err := f.Stat()
	return err == nil && os.SameFile(st, there)
}

func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// abandonedAfter is the age at which a temporary file on a file system without locks is considered abandoned.
const abandonedAfter = 24 * time.Hour

func removeAbandoned(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), tempSuffix) || !e.Type().IsRegular() {
			continue
		}
		if err := removeIfAbandoned(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

func removeIfAbandoned(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // a file in a directory of this store
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // releases the lock
	switch err := lock(f); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil // in use
	case err != nil:
		st, err := f.Stat()
		if err != nil || time.Since(st.ModTime()) < abandonedAfter { //nolint:forbidigo // the file system uses this machine's clock
			return err
		}
	}
	return os.Remove(path)
}
