package admission

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"countersign/prepare"
	"countersign/prepare/pagetext"
	"countersign/seal/pdf"
	"countersign/seal/refusal"
	"countersign/seal/verify"
)

// errActiveContent says that preparing the PDF takes something out.
var errActiveContent = errors.New("seal: the PDF has active content")

// errDocumentSigned refuses to change what somebody has signed.
func errDocumentSigned(what string) error {
	return refusal.New(refusal.DocumentSigned, "The PDF carries a signature or usage rights, so nothing may be changed in it, but "+what+
		" would have to be taken out. Print it into a new PDF first.")
}

// Upload is what is examined and prepared.
type Upload struct {
	File   io.ReaderAt
	Size   int64
	SHA256 [sha256.Size]byte
	// Password opens an encrypted file; nil: such a file is refused.
	Password *string
}

// Prepared is how an upload was prepared.
type Prepared struct {
	*prepare.Revision

	// Decrypted is the upload without its password, to which the revision is appended;
	// nil: it is appended to the upload.
	Decrypted []byte
}

// AdmitUpload is AdmitPrepared of an upload that may be encrypted.
func AdmitUpload(ctx context.Context, u Upload, lim Limits, opt prepare.Options) (Info, *Prepared, error) {
	locked := false
	if u.Password != nil && u.Size <= lim.MaxBytes {
		var err error
		if locked, err = isEncrypted(u.File, u.Size, lim); err != nil {
			return Info{}, nil, refusalOf(err)
		}
	}
	if !locked {
		info, rev, err := AdmitPrepared(ctx, u.File, u.Size, u.SHA256, lim, opt)
		if err != nil || rev == nil {
			return info, nil, err
		}
		return info, &Prepared{Revision: rev}, nil
	}
	opening, cancel := context.WithTimeout(ctx, wallClockFactor*lim.Timeout)
	defer cancel()
	plain, err := decrypt(opening, u.File, u.Size, lim, *u.Password)
	if err != nil {
		return Info{}, nil, refusalOf(err)
	}
	lim.MaxBytes += int64(len(plain)) // it bounds what is uploaded
	info, rev, err := AdmitPrepared(ctx, bytes.NewReader(plain), int64(len(plain)), sha256.Sum256(plain), lim, opt)
	if err != nil {
		return info, nil, err
	}
	if info.Signed {
		return info, nil, errDocumentSigned("its encryption")
	}
	if rev == nil {
		rev = &prepare.Revision{}
	}
	rev.Changes = append([]prepare.Change{{Kind: PasswordRemoved, Count: 1}}, rev.Changes...)
	return info, &Prepared{Revision: rev, Decrypted: plain}, nil
}

// AdmitPrepared examines an uploaded PDF whose SHA-256 is hash, prepared as the
// options say. The revision is nil if nothing has to change; else what was examined
// is the PDF with what the revision appends. A tag that cannot be read is a
// *refusal.Error, as is all else that is wrong with the file.
func AdmitPrepared(ctx context.Context, r io.ReaderAt, size int64, hash [sha256.Size]byte, lim Limits, opt prepare.Options) (Info, *prepare.Revision, error) {
	if size > lim.MaxBytes || !opt.ReadsPages() {
		info, err := admit(ctx, r, size, lim, opt.ActiveContent != prepare.ActiveRefuse)
		if !errors.Is(err, errActiveContent) {
			return info, nil, err
		}
	}
	reading, cancel := context.WithTimeout(ctx, lim.Timeout)
	defer cancel()
	rev, signed, err := revise(reading, r, size, hash, lim, opt)
	if err != nil {
		return Info{}, nil, refusalOf(err)
	}
	if len(rev.Appended) > 0 {
		whole := Appended{r, size, rev.Appended}
		r, size = whole, whole.Length()
		lim.MaxBytes += int64(len(rev.Appended)) // it bounds what is uploaded
	}
	info, err := admit(ctx, r, size, lim, signed && opt.ActiveContent != prepare.ActiveRefuse)
	if len(rev.Appended) == 0 {
		rev = nil
	}
	return info, rev, err
}

// revise makes the revision of a PDF, and tells whether that is signed.
func revise(ctx context.Context, r io.ReaderAt, size int64, hash [sha256.Size]byte, lim Limits, opt prepare.Options) (rev *prepare.Revision, signed bool, err error) {
	if err := checkEnds(r, size); err != nil {
		return nil, signed, err
	}
	f, err := openLimited(r, size, lim)
	if err != nil {
		return nil, signed, err
	}
	if err := checkEncryption(f); err != nil {
		return nil, signed, err
	}
	signed, err = verify.IsSigned(f)
	if err != nil {
		return nil, signed, err
	}
	if signed {
		opt.ActiveContent = prepare.ActiveRefuse // what runs nothing may stay, and the rest is refused
	}
	if opt.ActiveContent != prepare.ActiveRefuse {
		if err := checkForm(f, true, false); err != nil && !errors.Is(err, errActiveContent) {
			return nil, signed, err
		}
	}
	rev, err = prepare.Prepare(ctx, f, hash, opt)
	switch {
	case err != nil:
		return nil, signed, refusalOfTags(err)
	case signed && len(rev.Appended) > 0:
		return nil, signed, errDocumentSigned("tags or fields")
	}
	return rev, signed, nil
}

func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// Appended reads a file and what follows it as one.
type Appended struct {
	Base io.ReaderAt
	Size int64 // of Base
	Tail []byte
}

// Length is that of both.
func (a Appended) Length() int64 { return a.Size + int64(len(a.Tail)) }

// ReadAt implements io.ReaderAt.
func (a Appended) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	if at < a.Size {
		var err error
		n, err = a.Base.ReadAt(b[:min(int64(len(b)), a.Size-at)], at)
		if at+int64(n) < a.Size || n == len(b) {
			return n, err
		}
	}
	n += copy(b[n:], a.Tail[min(at+int64(n)-a.Size, int64(len(a.Tail))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Suggest lists the tags and the widgets of an upload that was admitted.
func Suggest(ctx context.Context, r io.ReaderAt, size int64, lim Limits) ([]prepare.FoundTag, []prepare.FormField, error) {
	reading, cancel := context.WithTimeout(ctx, lim.Timeout)
	defer cancel()
	f, err := openLimited(r, size, lim)
	if err != nil {
		return nil, nil, refusalOf(err)
	}
	tags, err := prepare.FindTags(reading, f)
	if err != nil {
		return nil, nil, refusalOf(refusalOfTags(err))
	}
	fields, err := prepare.ReadForm(reading, f)
	if err != nil {
		return nil, nil, refusalOf(refusalOfTags(err))
	}
	return tags, fields, nil
}

func openLimited(r io.ReaderAt, size int64, lim Limits) (*pdf.File, error) {
	limits := pdf.DefaultLimits()
	limits.MaxObjects, limits.MaxPages = lim.MaxObjects, lim.MaxPages
	return pdf.Open(r, size, limits)
}

// refusalOfTags turns errors of reading tags and forms into refusals.
func refusalOfTags(err error) error {
	var tag *prepare.TagError
	switch {
	case errors.As(err, &tag):
		return refusal.New(refusal.TextTag, upperFirst(tag.Error())+".")
	case errors.Is(err, pagetext.ErrLimit):
		return refusal.New(refusal.PDFTooComplex, "The PDF is too complex"+reason(err)+".")
	}
	return err
}
