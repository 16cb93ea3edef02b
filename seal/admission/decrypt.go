package admission

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"countersign/seal"
	"countersign/seal/rejection"
	"countersign/seal/sandbox"
	"countersign/seal/verify"
)

// maxPassword is the maximum length of an encoded password in bytes. The standard ignores further bytes (7.6.4.3).
const maxPassword = 127

// pdfcpuConfig returns the default configuration of pdfcpu. The configuration is created only once, because creating it
// sets a global variable that prevents pdfcpu from searching the user's home directory for files.
//
//nolint:gochecknoglobals // immutable
var pdfcpuConfig = sync.OnceValue(func() model.Configuration {
	model.ConfigPath = "disable"
	return *model.NewDefaultConfiguration()
})

// boundedConfig returns the pdfcpu configuration for a file of the given size. Optimization is disabled because it used
// 1.8 GB for a file of 398 KB.
func boundedConfig(size int64, lim Limits) *model.Configuration {
	conf := pdfcpuConfig()
	conf.Optimize, conf.OptimizeBeforeWriting, conf.Offline = false, false, true
	conf.Limits.MaxStreamBytes, conf.Limits.MaxDecodeBytes = size, lim.MaxMemory/8
	conf.Limits.MaxObjectCount, conf.Limits.MaxXRefEntries = 4*lim.MaxObjects, 4*lim.MaxObjects
	return &conf
}

// isEncrypted reports whether a readable file is encrypted.
func isEncrypted(r io.ReaderAt, size int64, lim Limits) (bool, error) {
	f, err := open(r, size, lim)
	if err != nil {
		return false, err
	}
	return !f.Trailer().Get("Encrypt").IsNull(), nil
}

// decrypt returns an unencrypted copy of the PDF with the same objects.
func decrypt(ctx context.Context, r io.ReaderAt, size int64, lim Limits, password string) ([]byte, error) {
	if len(password) > sentPassword {
		return nil, errWrongPassword()
	}
	in, size := seal.Concat(r, size, binary.BigEndian.AppendUint16([]byte(password), uint16(len(password)))) //nolint:gosec // at most sentPassword
	var a decrypted
	if lim.Validators == nil {
		reading, release := lim.Reading(ctx)
		a = decryptHere(reading, in, size, lim)
		release()
	} else if err := lim.Validators.Run(ctx, sandbox.Bounds{Memory: lim.MaxMemory, CPU: lim.Timeout}, taskDecrypt, in, size, &a, maxDecrypted); err != nil {
		return nil, err
	}
	return a.PDF, a.Err()
}

const taskDecrypt = 'd'

// maxDecrypted is the maximum size of the result in bytes.
const maxDecrypted = 100 << 20

// decrypted is the result of the decryption task. The file is transmitted in base64.
type decrypted struct {
	sandbox.Answer

	PDF []byte `json:"pdf,omitempty"`
}

// decryptTask decrypts a file in a separate process. Its input consists of the file, the password, and two bytes
// with the length of the password.
func decryptTask(ctx context.Context, r io.ReaderAt, size int64, bounds sandbox.Bounds) any {
	lim := DefaultLimits()
	lim.MaxMemory, lim.Timeout = bounds.Memory, bounds.CPU
	return decryptHere(ctx, r, size, lim)
}

func decryptHere(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (a decrypted) {
	var err error
	a.PDF, err = decryptWithPDFCPU(ctx, r, size, lim)
	a.Set(RejectionOf(err))
	return a
}

func decryptWithPDFCPU(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (b []byte, err error) {
	defer func() {
		if recover() != nil {
			b, err = nil, errUndecipherable()
		}
	}()
	length := make([]byte, 2)
	if _, err := r.ReadAt(length, size-2); err != nil {
		return nil, err
	}
	password := make([]byte, binary.BigEndian.Uint16(length))
	size -= int64(len(length) + len(password))
	if _, err := r.ReadAt(password, size); err != nil {
		return nil, err
	}
	r = io.NewSectionReader(r, 0, size)
	f, err := open(r, size, lim)
	if err != nil {
		return nil, err
	}
	lock, err := readLock(f)
	if err != nil {
		return nil, err
	}
	return unlock(ctx, lock, r, string(password), lim)
}

// unlock decrypts a file. pdfcpu rejects AES-256 passwords that contain spaces or symbols. For AES-256, unlock
// therefore first changes the file so that pdfcpu can open it without a password.
func unlock(ctx context.Context, lock *locked, r io.ReaderAt, password string, lim Limits) ([]byte, error) {
	size := lock.f.Size()
	completed, err := lock.addKeyLengths()
	if err != nil {
		return nil, err
	}
	if lock.ref == nil || completed {
		r, size = lock.withDictionary(r, lock.dict)
	}
	for _, p := range passwords(password, lock.isAES256()) {
		if lock.isAES256() {
			key, err := lock.fileKey(p)
			if err != nil {
				return nil, err
			}
			if key == nil {
				continue
			}
			if r, size, err = lock.withoutPassword(r, key); err != nil {
				return nil, err
			}
			p = ""
		}
		b, err := decryptFile(ctx, r, size, p, lim)
		if rejected, ok := errors.AsType[*rejection.Error](err); ok && rejected.Code == rejection.PDFPassword {
			continue
		}
		return b, err
	}
	return nil, errWrongPassword()
}

// decryptFile decrypts a file with an encoded password.
func decryptFile(ctx context.Context, r io.ReaderAt, size int64, password string, lim Limits) ([]byte, error) {
	conf := boundedConfig(size, lim)
	conf.UserPW, conf.OwnerPW = password, password
	conf.WriteObjectStream, conf.WriteXRefStream = false, false
	conf.Cmd = model.DECRYPT
	var out bytes.Buffer
	// The Decrypt function of pdfcpu rejects every file that its validator rejects, so it is not used here. This
	// package's own parser decides whether the result is accepted.
	c, err := pdfcpu.ReadWithContext(ctx, io.NewSectionReader(r, 0, size), conf)
	if err == nil {
		err = readObjectStreams(ctx, c)
	}
	if err == nil {
		completeSignatures(c)
		c.Write.Writer = bufio.NewWriter(&out)
		err = errors.Join(pdfcpu.WriteContext(c), c.Write.Flush())
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, pdfcpu.ErrWrongPassword), err != nil && strings.Contains(err.Error(), "password"):
		return nil, errWrongPassword()
	case err != nil:
		return nil, errUndecipherable()
	}
	return out.Bytes(), nil
}

// readObjectStreams reads the objects in object streams. pdfcpu normally reads them during validation, and it writes
// only objects that have been read.
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

// completeSignatures adds the optional entries of signature dictionaries that pdfcpu cannot write without. It also
// removes the type of a dictionary that contains no signature, because pdfcpu would write it as one. The signatures are
// invalid in any case, because the decrypted file has other bytes.
func completeSignatures(c *model.Context) {
	for _, entry := range c.Table {
		d, ok := entry.Object.(types.Dict)
		if !ok {
			continue
		}
		if d["Contents"] == nil || d["ByteRange"] == nil {
			if name := d.NameEntry("Type"); name != nil && *name == "Sig" {
				delete(d, "Type")
			}
			continue
		}
		for key, name := range map[string]types.Name{"Type": "Sig", "Filter": "Adobe.PPKLite", "SubFilter": "adbe.pkcs7.detached"} {
			if d.NameEntry(key) == nil {
				d[key] = name
			}
		}
	}
}

func errWrongPassword() error {
	return rejection.New(rejection.PDFPassword, "The password does not open the PDF.")
}

func errUndecipherable() *rejection.Error {
	return rejection.New(rejection.PDFEncrypted, "The PDF cannot be decrypted. Only encryption with a password, using RC4 or AES, is supported.")
}

// Tasks returns the tasks that run in sandboxed processes: decrypting uploads and examining sealed documents.
func Tasks() map[byte]sandbox.Task {
	return map[byte]sandbox.Task{taskDecrypt: decryptTask, verify.TaskExamine: verify.ExamineTask}
}
