package admission

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"countersign/seal/refusal"
	"countersign/seal/sandbox"
)

// PasswordRemoved is the kind of change that takes a password off.
const PasswordRemoved = "password_removed"

// maxPassword bounds a password, in bytes: of longer ones the standard takes no notice (7.6.4.3).
const maxPassword = 127

// isEncrypted reports whether a file that can be read is encrypted.
func isEncrypted(r io.ReaderAt, size int64, lim Limits) (bool, error) {
	if err := checkEnds(r, size); err != nil {
		return false, err
	}
	f, err := openLimited(r, size, lim)
	if err != nil {
		return false, err
	}
	return !f.Trailer().Get("Encrypt").IsNull(), nil
}

// decrypt returns a PDF without its encryption: a new file with the same objects.
func decrypt(ctx context.Context, r io.ReaderAt, size int64, lim Limits, password string) ([]byte, error) {
	if len(password) > maxPassword {
		return nil, errWrongPassword()
	}
	head := append(binary.BigEndian.AppendUint32(nil, uint32(len(password))), password...) //nolint:gosec // at most maxPassword
	in := prefixed{head, r, size}
	var a decrypted
	if lim.Validators == nil {
		a = decryptHere(ctx, in, in.size(), lim)
	} else if err := lim.Validators.Run(ctx, sandbox.Bounds{Memory: lim.MaxMemory, CPU: lim.Timeout}, taskDecrypt, in, in.size(), &a, maxDecrypted); err != nil {
		return nil, err
	}
	return a.PDF, a.Err()
}

// taskDecrypt names the task of taking a password off.
const taskDecrypt = 'd'

// maxDecrypted bounds the answer, in bytes.
const maxDecrypted = 100 << 20

// decrypted is the answer: the file, in base64 on its way.
type decrypted struct {
	sandbox.Answer

	PDF []byte `json:"pdf,omitempty"`
}

// decryptTask is what is done in a process of its own. The password comes before the file.
func decryptTask(ctx context.Context, r io.ReaderAt, size int64, bounds sandbox.Bounds) any {
	lim := DefaultLimits()
	lim.MaxMemory, lim.Timeout = bounds.Memory, bounds.CPU
	return decryptHere(ctx, r, size, lim)
}

func decryptHere(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (a decrypted) {
	defer func() {
		if recover() != nil {
			a = decrypted{}
			a.Set(errUndecipherable())
		}
	}()
	var n [4]byte
	if _, err := r.ReadAt(n[:], 0); err != nil {
		a.Set(err)
		return a
	}
	length := int64(binary.BigEndian.Uint32(n[:]))
	password := make([]byte, min(length, maxPassword))
	if _, err := r.ReadAt(password, 4); err != nil && len(password) > 0 {
		a.Set(err)
		return a
	}
	conf := pdfcpuConfig()
	conf.Optimize, conf.OptimizeBeforeWriting, conf.Offline = false, false, true
	conf.UserPW, conf.OwnerPW = string(password), string(password)
	conf.WriteObjectStream, conf.WriteXRefStream = false, false
	conf.Limits.MaxStreamBytes, conf.Limits.MaxDecodeBytes = size, lim.MaxMemory/8
	conf.Limits.MaxObjectCount, conf.Limits.MaxXRefEntries = 4*lim.MaxObjects, 4*lim.MaxObjects
	conf.Cmd = model.DECRYPT
	var out bytes.Buffer
	// api.Decrypt would refuse what the validator objects to; our own reader decides about the result.
	c, err := pdfcpu.ReadWithContext(ctx, io.NewSectionReader(r, 4+length, size-4-length), &conf)
	if err == nil {
		err = readObjectStreams(ctx, c)
	}
	if err == nil {
		err = api.WriteContext(c, &out)
	}
	switch {
	case ctx.Err() != nil:
		a.Set(ctx.Err())
	case errors.Is(err, pdfcpu.ErrWrongPassword), err != nil && strings.Contains(err.Error(), "password"):
		a.Set(errWrongPassword())
	case err != nil:
		a.Set(errUndecipherable())
	default:
		a.PDF = out.Bytes()
	}
	return a
}

// readObjectStreams reads the objects in streams, which pdfcpu leaves for its validator to do, and writes only if they are read.
func readObjectStreams(ctx context.Context, c *model.Context) error {
	for _, entry := range c.Table {
		lazy, ok := entry.Object.(types.LazyObjectStreamObject)
		if !ok {
			continue
		}
		object, err := lazy.DecodedObject(ctx)
		if err != nil {
			return err
		}
		entry.Object = object
	}
	return nil
}

func errWrongPassword() error {
	return refusal.New(refusal.PDFPassword, "The password does not open the PDF.")
}

func errUndecipherable() error {
	return refusal.New(refusal.PDFEncrypted, "The PDF is encrypted in a way that cannot be read. Remove the protection first.")
}

// prefixed reads a file behind a few bytes.
type prefixed struct {
	head []byte
	r    io.ReaderAt
	rest int64
}

func (p prefixed) size() int64 { return int64(len(p.head)) + p.rest }

// ReadAt implements io.ReaderAt.
func (p prefixed) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	if at < int64(len(p.head)) {
		n = copy(b, p.head[at:])
		if n == len(b) {
			return n, nil
		}
		at = int64(len(p.head))
	}
	m, err := p.r.ReadAt(b[n:], at-int64(len(p.head)))
	return n + m, err
}
