package blob

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tink-crypto/tink-go/v2/streamingaead/subtle"
)

// Vault encrypts data keys with the master key.
type Vault interface {
	Encrypt(plain []byte, label string) []byte
	Decrypt(ciphertext []byte, label string) ([]byte, error)
	// NeedsRewrap reports whether ciphertext was encrypted with a key other than the one that Encrypt currently uses.
	NeedsRewrap(ciphertext []byte) bool
}

// An encrypted file consists of a marker (magic), the length of the encrypted data key (2 bytes, big-endian), the
// encrypted data key, and the content. The content is encrypted with Tink's streaming AEAD AES256-GCM-HKDF in segments
// of 64 KiB, and is bound to the key under which the file is stored.
const (
	magic           = "CSfile1\n"
	dataKeySize     = 32
	segment         = 64 << 10
	maxEncryptedKey = 1 << 10
	labelDataKey    = "file-key"
)

// ErrDamaged means that an encrypted file was modified or damaged, or was encrypted with an unknown master key.
var ErrDamaged = errors.New("the encrypted file is damaged or was encrypted with another master key")

// NewEncrypted returns a store that encrypts files and stores them in next. Each file has its own data key, which is
// encrypted with the master key. Sizes and hashes refer to the plain content. Files that were stored unencrypted can
// still be read. If write is false, new files are stored unencrypted, but encrypted files can still be read. Anchors
// are never encrypted.
func NewEncrypted(next Store, v Vault, write bool) *Encrypted {
	return &Encrypted{Store: next, vault: v, write: write}
}

// Encrypted is a Store that encrypts its files.
type Encrypted struct {
	Store

	vault Vault
	write bool
}

// Temp returns an unnamed file, because the content is not encrypted yet and must not be left behind after a crash.
func (s *Encrypted) Temp() (*os.File, error) {
	if !s.write {
		return s.Store.Temp()
	}
	return anonymousFile()
}

// anonymousFile creates a file without a name, which exists only until it is closed.
func anonymousFile() (*os.File, error) {
	f, err := os.CreateTemp("", "countersign-*.part")
	if err != nil {
		return nil, fmt.Errorf("create temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("unlink temporary file: %w", err), f.Close())
	}
	return f, nil
}

// neverEncrypted reports whether a file is an anchor. Anchors must be verifiable without keys. Their lists and tokens
// contain only IDs, numbers and hashes.
func neverEncrypted(key string) bool { return strings.HasPrefix(key, Anchors) }

// Put implements Store.
func (s *Encrypted) Put(ctx context.Context, f *os.File, key string) error {
	if !s.write {
		return s.Store.Put(ctx, f, key)
	}
	out, err := s.Store.Temp()
	if err != nil {
		return err
	}
	defer Discard(out)
	st, err := f.Stat()
	if err == nil {
		err = s.fill(out, io.NewSectionReader(f, 0, st.Size()), key)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return s.Store.Put(ctx, out, key)
}

// fill writes content to out in the form in which it is stored under key.
func (s *Encrypted) fill(out io.Writer, in io.Reader, key string) error {
	if neverEncrypted(key) {
		_, err := io.Copy(out, in)
		return err
	}
	return s.encrypt(out, in, key)
}

func (s *Encrypted) encrypt(out io.Writer, in io.Reader, key string) error {
	dataKey := make([]byte, dataKeySize)
	_, _ = rand.Read(dataKey) // never fails
	aead, err := subtle.NewAESGCMHKDF(dataKey, "SHA256", dataKeySize, segment, 0)
	if err != nil {
		return err
	}
	if err := writeHeader(out, s.vault.Encrypt(dataKey, labelDataKey)); err != nil {
		return err
	}
	w, err := aead.NewEncryptingWriter(out, []byte(key))
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, in); err != nil {
		return err
	}
	return w.Close()
}

func writeHeader(out io.Writer, encryptedKey []byte) error {
	b := binary.BigEndian.AppendUint16([]byte(magic), uint16(len(encryptedKey))) //nolint:gosec // about 64 bytes
	_, err := out.Write(append(b, encryptedKey...))
	return err
}

// readHeader returns the encrypted data key. For an unencrypted file, it returns nil and rewinds the file.
func readHeader(f io.ReadSeeker) ([]byte, error) {
	b := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(f, b); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(b[:len(magic)]) != magic {
		_, err := f.Seek(0, io.SeekStart)
		return nil, err
	}
	n := binary.BigEndian.Uint16(b[len(magic):])
	if n == 0 || n > maxEncryptedKey {
		return nil, ErrDamaged
	}
	encryptedKey := make([]byte, n)
	_, err := io.ReadFull(f, encryptedKey)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = ErrDamaged
	}
	return encryptedKey, err
}

// Open implements Store. It decrypts the content to an unnamed file and verifies all of it. If this fails, the error is
// ErrDamaged.
func (s *Encrypted) Open(ctx context.Context, key string) (*File, error) {
	f, _, err := s.openCopied(ctx, key, io.Discard)
	return f, err
}

// openCopied is like Open, but also copies the content of an encrypted file to the given writer, and reports whether
// the file is encrypted.
func (s *Encrypted) openCopied(ctx context.Context, key string, copied io.Writer) (f *File, encrypted bool, err error) {
	if f, err = s.Store.Open(ctx, key); err != nil {
		return nil, false, err
	}
	encryptedKey, err := readHeader(f)
	if err != nil {
		return nil, false, errors.Join(fmt.Errorf("open %s: %w", key, err), f.Close())
	}
	if encryptedKey == nil {
		return f, false, nil
	}
	plain, err := s.decrypt(f, encryptedKey, key, copied)
	if err := errors.Join(err, f.Close()); err != nil {
		if plain != nil {
			_ = plain.Close() // err is more specific
		}
		return nil, true, fmt.Errorf("decrypt %s: %w", key, err)
	}
	f, err = withSize(plain)
	return f, true, err
}

// decrypt returns a file with the decrypted content, and also copies that content to the given writer.
func (s *Encrypted) decrypt(in io.Reader, encryptedKey []byte, key string, copied io.Writer) (*os.File, error) {
	dataKey, err := s.vault.Decrypt(encryptedKey, labelDataKey)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	aead, err := subtle.NewAESGCMHKDF(dataKey, "SHA256", dataKeySize, segment, 0)
	if err != nil {
		return nil, err
	}
	source := &trackedReader{Reader: in}
	r, err := aead.NewDecryptingReader(source, []byte(key))
	if err != nil {
		return nil, source.classify(err)
	}
	out, err := anonymousFile()
	if err != nil {
		return nil, err
	}
	plain := &trackedReader{Reader: r}
	if _, err := io.Copy(io.MultiWriter(out, copied), plain); err != nil {
		if plain.err == nil {
			return out, err // writing failed
		}
		return out, source.classify(err)
	}
	_, err = out.Seek(0, io.SeekStart)
	return out, err
}

// trackedReader records the error of a failed read.
type trackedReader struct {
	io.Reader

	err error
}

// Read implements io.Reader.
func (w *trackedReader) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// classify distinguishes decryption failures: it returns err unchanged if reading the file failed, and wraps it in
// ErrDamaged if the content is invalid.
func (w *trackedReader) classify(err error) error {
	if w.err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Check implements Store.
func (s *Encrypted) Check(ctx context.Context) error { return check(ctx, s) }

// Rewrap re-encrypts the data key of a file with the newest master key. If new files are encrypted, it also encrypts an
// unencrypted file. If the file is an anchor, Rewrap instead removes any encryption. It reports whether it changed the
// file, and whether the file is encrypted afterwards.
func (s *Encrypted) Rewrap(ctx context.Context, key string) (changed, encrypted bool, err error) {
	f, err := s.Store.Open(ctx, key)
	if err != nil {
		return false, false, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	encryptedKey, err := readHeader(f)
	switch {
	case err != nil:
		return false, false, fmt.Errorf("rewrap %s: %w", key, err)
	case neverEncrypted(key):
		if encryptedKey == nil {
			return false, false, nil
		}
		return true, false, s.storeDecrypted(ctx, key)
	case encryptedKey == nil && !s.write, encryptedKey != nil && !s.vault.NeedsRewrap(encryptedKey):
		return false, encryptedKey != nil, nil
	}
	out, err := s.Store.Temp()
	if err != nil {
		return false, false, err
	}
	defer Discard(out)
	if encryptedKey == nil {
		err = s.encrypt(out, f, key)
	} else {
		var dataKey []byte
		if dataKey, err = s.vault.Decrypt(encryptedKey, labelDataKey); err == nil {
			err = writeHeader(out, s.vault.Encrypt(dataKey, labelDataKey))
		}
		if err == nil {
			_, err = io.Copy(out, f)
		}
	}
	if err != nil {
		return false, false, fmt.Errorf("rewrap %s: %w", key, err)
	}
	return true, true, s.Store.Put(ctx, out, key)
}

// storeDecrypted stores an encrypted anchor without encryption.
func (s *Encrypted) storeDecrypted(ctx context.Context, key string) error {
	f, err := s.Open(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	out, err := s.Store.Temp()
	if err != nil {
		return err
	}
	defer Discard(out)
	if _, err := io.Copy(out, f); err != nil {
		return fmt.Errorf("decrypt %s: %w", key, err)
	}
	return s.Store.Put(ctx, out, key)
}
