package mcpserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// inFolder returns the path of a file relative to the shared folder. os.Root ensures that no link leads out of the
// folder.
func (s *server) inFolder(name string) (string, error) {
	if name == "" {
		return "", errors.New("file is required")
	}
	if filepath.IsAbs(name) {
		dir, err := filepath.Abs(s.Files.Name())
		if err != nil {
			return "", err
		}
		if name, err = filepath.Rel(dir, filepath.Clean(name)); err != nil {
			return "", err
		}
	}
	if !filepath.IsLocal(name) {
		return "", errors.New("file must be in the shared folder")
	}
	return filepath.Clean(name), nil
}

// openPDF opens a PDF in the shared folder. The caller must close it.
func (s *server) openPDF(name string) (*os.File, error) {
	path, err := s.inFolder(name)
	if err != nil {
		return nil, err
	}
	st, err := s.Files.Stat(path)
	if err != nil {
		return nil, fileError(name, err)
	}
	if !st.Mode().IsRegular() { // opening a pipe would block
		return nil, fmt.Errorf("file: %s is not a file", clean(name, maxText))
	}
	f, err := s.Files.Open(path)
	if err != nil {
		return nil, fileError(name, err)
	}
	head := make([]byte, 1024)
	n, err := f.ReadAt(head, 0)
	if err == nil || errors.Is(err, io.EOF) {
		if err = nil; !bytes.Contains(head[:n], []byte("%PDF-")) {
			err = fmt.Errorf("file: %s is not a PDF", clean(name, maxText))
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fileError returns an error that contains the requested file name but not the path of the folder.
func fileError(name string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("file: %s: %w", clean(name, maxText), err)
}

// saved describes a file that was written.
type saved struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// save writes a new file in the shared folder. If it fails, no file remains.
func (s *server) save(name string, body io.Reader) (saved, error) {
	path, err := s.inFolder(name)
	if err != nil {
		return saved{}, err
	}
	f, err := s.Files.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return saved{}, fileError(name, err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), body)
	if err = errors.Join(err, f.Close()); err != nil {
		return saved{}, errors.Join(err, s.Files.Remove(path))
	}
	return saved{File: path, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}
