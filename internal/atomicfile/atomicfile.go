// Package atomicfile writes files atomically.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace atomically writes a file that only the user can read.
func Replace(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
