package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/store/blob"
)

func firstCharacters(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// preparationOptions contains the preparation options of an upload.
type preparationOptions struct {
	prepare.Options

	// password opens an encrypted file, and is nil if absent. It is never stored.
	password *string
	// repair is admission.RepairReject or empty.
	repair string
}

// upload is a PDF received in a request and stored in a temporary file. The facts about its pages are set when it is
// examined.
type upload struct {
	file *os.File
	models.DocumentInput

	preparing preparationOptions
	revision  *admission.Prepared // nil if the upload does not need any changes
	prepared  *os.File            // temporary file that contains the prepared PDF
}

func (u *upload) discard() {
	if u == nil {
		return
	}
	blob.Discard(u.file)
	if u.prepared != nil {
		blob.Discard(u.prepared)
	}
}

// replace replaces the content of the file with b.
func (u *upload) replace(b []byte) error {
	if _, err := u.file.WriteAt(b, 0); err != nil {
		return fmt.Errorf("write an upload: %w", err)
	}
	if err := u.file.Truncate(int64(len(b))); err != nil {
		return fmt.Errorf("write an upload: %w", err)
	}
	sum := sha256.Sum256(b)
	u.Size, u.SHA256 = int64(len(b)), hex.EncodeToString(sum[:])
	return nil
}

// receiveUpload copies a file from r into a temporary file and hashes it. The parameter limit is the maximum size of
// the file, in bytes. The caller must discard the file.
func (s *shared) receiveUpload(r io.Reader, name string, limit int64) (_ *upload, err error) {
	f, err := s.blobs.Temp()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			blob.Discard(f)
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, limit+1))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case n > limit || tooLarge:
		return nil, fileTooLarge(limit)
	case isWriteError(err):
		return nil, fmt.Errorf("receive upload: %w", err)
	case err != nil:
		return nil, bodyError(err)
	}
	return &upload{file: f, DocumentInput: models.DocumentInput{Document: models.Document{Name: fileName(name), SHA256: hex.EncodeToString(h.Sum(nil)), Size: n}}}, nil
}

// isWriteError reports whether err was caused by the service's temporary file rather than by the client.
func isWriteError(err error) bool {
	_, ok := errors.AsType[*os.PathError](err)
	return ok
}

const maxFileName = 200 // characters

// fileName returns the last element of an uploaded file's path, without invalid characters and truncated to the maximum
// length.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(plaintext.Strip(name), `\`, "/"))
	if name == "." || name == "/" {
		return ""
	}
	return firstCharacters(name, maxFileName)
}
