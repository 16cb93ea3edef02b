package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Record describes the stored state of a file.
type Record struct {
	Key       string
	SHA256    string // hash of the content, in lowercase hexadecimal
	Encrypted bool   // whether the file was encrypted; if so, an unencrypted file is rejected
}

// ErrModified means that a file differs from its record.
var ErrModified = errors.New("the file differs from the recorded one")

// Encrypts reports whether s encrypts new files.
func Encrypts(s Store) bool {
	e, ok := s.(*Encrypted)
	return ok && e.write
}

// OpenRecorded opens a file and compares its complete content with its record before returning it, so that the caller
// never reads a substituted file. The error for a substituted file is ErrModified or ErrDamaged.
func OpenRecorded(ctx context.Context, s Store, r Record) (*File, error) {
	h := sha256.New()
	var (
		f         *File
		encrypted bool
		err       error
	)
	if e, ok := s.(*Encrypted); ok {
		f, encrypted, err = e.openCopied(ctx, r.Key, h)
	} else if !r.Encrypted {
		f, err = s.Open(ctx, r.Key)
	}
	switch {
	case err != nil, encrypted: // an encrypted file was already hashed
	case r.Encrypted:
		err = fmt.Errorf("%w: the recorded file was encrypted", ErrModified)
	default:
		_, err = io.Copy(h, io.NewSectionReader(f, 0, f.Size))
	}
	if err == nil && hex.EncodeToString(h.Sum(nil)) != r.SHA256 {
		err = ErrModified
	}
	if err != nil {
		if f != nil {
			_ = f.Close() // err is more specific
		}
		return nil, fmt.Errorf("open %s: %w", r.Key, err)
	}
	return f, nil
}

// Limits for the files that a Reader keeps open between reads. They stay open because a single page view reads a file
// in many ranges.
const (
	maxOpenFiles = 8
	openFileTTL  = 30 * time.Second
)

// Reader opens recorded files. It compares each file with its record only once, rather than for every requested range.
// It is safe for concurrent use.
type Reader struct {
	store Store

	mu    sync.Mutex
	files map[Record]*sharedFile
}

// NewReader returns a Reader for the files in s.
func NewReader(s Store) *Reader { return &Reader{store: s, files: make(map[Record]*sharedFile)} }

// sharedFile is an open file that can have several readers.
type sharedFile struct {
	file    *File
	state   fileState // state at the time of the comparison with the record
	readers int
	listed  bool
}

// Content is the content of an open file. Each Content has its own read position.
type Content struct {
	*io.SectionReader

	done func() error
}

// Close must be called when the content is no longer needed.
func (c *Content) Close() error { return c.done() }

// Open is like OpenRecorded, but can reuse a file that is already open.
func (r *Reader) Open(ctx context.Context, rec Record) (*Content, error) {
	if s := r.lookup(rec); s != nil {
		return r.content(s), nil
	}
	f, err := OpenRecorded(ctx, r.store, rec)
	if err != nil {
		return nil, err
	}
	s := &sharedFile{file: f, readers: 1}
	if state, ok := stateOf(f.File); ok {
		s.state = state
		r.remember(rec, s)
	}
	return r.content(s), nil
}

// lookup returns a file that is already open, or nil if there is none. A file that has since been written to does not
// match.
func (r *Reader) lookup(rec Record) *sharedFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.files[rec]
	if s == nil {
		return nil
	}
	if state, ok := stateOf(s.file.File); !ok || state != s.state {
		r.release(rec)
		return nil
	}
	s.readers++
	return s
}

func (r *Reader) remember(rec Record, s *sharedFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files[rec] != nil || len(r.files) >= maxOpenFiles {
		return
	}
	r.files[rec], s.listed = s, true
	time.AfterFunc(openFileTTL, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.files[rec] == s {
			r.release(rec)
		}
	})
}

// release removes a file from the set of open files, and closes it if no reader is using it. The caller must hold mu.
func (r *Reader) release(rec Record) {
	s := r.files[rec]
	delete(r.files, rec)
	s.listed = false
	if s.readers == 0 {
		_ = s.file.Close() // opened only for reading
	}
}

func (r *Reader) content(s *sharedFile) *Content {
	var once sync.Once
	return &Content{io.NewSectionReader(s.file, 0, s.file.Size), func() (err error) {
		once.Do(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if s.readers--; s.readers == 0 && !s.listed {
				err = s.file.Close()
			}
		})
		return err
	}}
}

// fileState detects writes to a file. It can miss a write only if the clock was set back.
type fileState struct {
	size    int64
	changed int64 // time of the last change, in nanoseconds
}

func stateOf(f *os.File) (fileState, bool) {
	info, err := f.Stat()
	if err != nil {
		return fileState{}, false
	}
	changed, ok := changedAt(info)
	return fileState{info.Size(), changed}, ok
}
