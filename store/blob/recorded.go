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

// Record describes a file at the time it was stored.
type Record struct {
	Key       string
	SHA256    string // of the content, lower-case hex
	Encrypted bool   // it was encrypted: plain text in its place is not it
}

// ErrAltered reports that a file differs from the recorded one.
var ErrAltered = errors.New("the file differs from the recorded one")

// Encrypts reports whether s encrypts new files.
func Encrypts(s Store) bool {
	e, ok := s.(*Encrypted)
	return ok && e.write
}

// OpenRecorded opens a file of s and compares all of it with its record before
// it returns: a file put in its place is never read. The error of a file that
// is not the one recorded is ErrAltered or ErrDamaged.
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
	case err != nil, encrypted: // it is hashed already
	case r.Encrypted:
		err = fmt.Errorf("%w: it was encrypted", ErrAltered)
	default:
		_, err = io.Copy(h, io.NewSectionReader(f, 0, f.Size))
	}
	if err == nil && hex.EncodeToString(h.Sum(nil)) != r.SHA256 {
		err = ErrAltered
	}
	if err != nil {
		if f != nil {
			_ = f.Close() // read only; the other error is more specific
		}
		return nil, fmt.Errorf("open %s: %w", r.Key, err)
	}
	return f, nil
}

// Limits of the files that a Reader keeps open after reading: a page requests a file in many parts.
const (
	maxOpenFiles = 8
	openFileTTL  = 30 * time.Second
)

// Reader opens recorded files, and compares them with their records once, not for each requested part. It is safe for
// concurrent use.
type Reader struct {
	store Store

	mu   sync.Mutex
	kept map[Record]*sharedFile
}

// NewReader reads the files of s.
func NewReader(s Store) *Reader { return &Reader{store: s, kept: make(map[Record]*sharedFile)} }

// sharedFile is an open file with its readers.
type sharedFile struct {
	file    *File
	state   fileState // when it was compared with its record
	readers int
	kept    bool
}

// Content is the content of a file. Each has its own read position.
type Content struct {
	*io.SectionReader

	done func() error
}

// Close ends the reading.
func (c *Content) Close() error { return c.done() }

// Open is OpenRecorded for the content.
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

// lookup finds a file that is open. One that was written to since does not match.
func (r *Reader) lookup(rec Record) *sharedFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.kept[rec]
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
	if r.kept[rec] != nil || len(r.kept) >= maxOpenFiles {
		return
	}
	r.kept[rec], s.kept = s, true
	time.AfterFunc(openFileTTL, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.kept[rec] == s {
			r.release(rec)
		}
	})
}

// release drops a reference to a file. It closes the file with the last reference. The caller holds mu.
func (r *Reader) release(rec Record) {
	s := r.kept[rec]
	delete(r.kept, rec)
	s.kept = false
	if s.readers == 0 {
		_ = s.file.Close() // read only
	}
}

func (r *Reader) content(s *sharedFile) *Content {
	var once sync.Once
	return &Content{io.NewSectionReader(s.file, 0, s.file.Size), func() (err error) {
		once.Do(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if s.readers--; s.readers == 0 && !s.kept {
				err = s.file.Close()
			}
		})
		return err
	}}
}

// fileState detects writes to a file: only a clock set back could restore the time of a change.
type fileState struct {
	size    int64
	changed int64 // in nanoseconds
}

func stateOf(f *os.File) (fileState, bool) {
	info, err := f.Stat()
	if err != nil {
		return fileState{}, false
	}
	changed, ok := changedAt(info)
	return fileState{info.Size(), changed}, ok
}
