package admission

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"countersign/prepare"
	"countersign/prepare/revision1"
	"countersign/seal"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
	"countersign/seal/verify"
)

// Upload is a file to examine and prepare.
type Upload struct {
	File   io.ReaderAt
	Size   int64
	SHA256 [sha256.Size]byte
	// Password is the password of an encrypted file. If it is nil, only files that can be opened without a password are
	// accepted.
	Password *string
	// Repair is RepairAuto or RepairReject. Empty means RepairAuto.
	Repair string
	// Reserve waits until enough memory is available for saving a file again. If it is nil, memory is not limited.
	Reserve func(context.Context) (release func(), err error)
}

func (u *Upload) reserve(ctx context.Context) (release func(), err error) {
	if u.Reserve == nil {
		return func() {}, nil
	}
	return u.Reserve(ctx)
}

// Prepared describes the result of preparing an upload.
type Prepared struct {
	*prepare.Revision

	// Rewritten replaces the upload if the upload was decrypted, repaired, or stripped of signatures. The revision is
	// then appended to Rewritten. If Rewritten is nil, the revision is appended to the upload.
	Rewritten []byte
	// Signatures lists the upload's signatures that are missing from Rewritten.
	Signatures []manifest.Signature
}

// AdmitUpload admits an upload that may be encrypted, signed or damaged. See AdmitPrepared.
func AdmitUpload(ctx context.Context, u Upload, lim Limits, opt prepare.Options) (Info, *Prepared, error) {
	info, p, err := admitReadable(ctx, u, lim, opt)
	cause, ok := errors.AsType[*rejection.Error](err)
	if !ok || u.Repair == RepairReject || lim.Renderer == nil {
		return info, p, err
	}
	if isRepairable(cause) {
		return rewrite(ctx, u, lim, opt, cause)
	}
	if *cause == *errUndecipherable() && (u.Password == nil || *u.Password == "") { // the renderer supports more files
		info, p, err = rewrite(ctx, u, lim, opt, cause)
		if again, ok := errors.AsType[*rejection.Error](err); ok && again.Code == cause.Code {
			err = cause
		}
	}
	return info, p, err
}

// admitReadable admits an upload that may be encrypted. See AdmitPrepared.
func admitReadable(ctx context.Context, u Upload, lim Limits, opt prepare.Options) (Info, *Prepared, error) {
	locked := false
	if u.Password != nil && u.Size <= lim.MaxBytes {
		var err error
		if locked, err = isEncrypted(u.File, u.Size, lim); err != nil {
			return Info{}, nil, RejectionOf(err)
		}
	}
	if !locked {
		info, rev, err := AdmitPrepared(ctx, u.File, u.Size, u.SHA256, lim, opt)
		rejected, ok := errors.AsType[*rejection.Error](err)
		if locked = ok && rejected.Code == rejection.PDFEncrypted && u.Password == nil; !locked {
			if err != nil || rev == nil {
				return info, nil, err
			}
			return info, &Prepared{Revision: rev}, nil
		}
	}
	release, err := u.reserve(ctx)
	if err != nil {
		return Info{}, nil, err
	}
	defer release()
	password := "" // opens a file that has only an owner password
	if u.Password != nil {
		password = *u.Password
	}
	opening, cancel := context.WithTimeout(ctx, wallClockFactor*lim.Timeout)
	defer cancel()
	// The sealed file will contain the upload unchanged, so the upload must not contain a second seal.
	if marked, err := verify.ContainsMark(opening, u.File, u.Size); err != nil || marked {
		return Info{}, nil, RejectionOf(cmp.Or(err, error(errResemblesSeal())))
	}
	plain, err := decrypt(opening, u.File, u.Size, lim, password)
	if r, ok := errors.AsType[*rejection.Error](err); ok && u.Password == nil && r.Code == rejection.PDFPassword {
		err = errEncrypted()
	}
	if err != nil {
		return Info{}, nil, RejectionOf(err)
	}
	return admitRewritten(ctx, plain, &Prepared{}, []prepare.Change{{Kind: manifest.PasswordRemoved, Count: 1}}, lim, opt)
}

// admitRewritten admits the new file that replaces an upload, and records the changes that led to it.
func admitRewritten(ctx context.Context, b []byte, p *Prepared, changes []prepare.Change, lim Limits, opt prepare.Options) (Info, *Prepared, error) {
	lim.MaxBytes += int64(len(b)) // the limit applies to the upload
	info, rev, err := AdmitPrepared(ctx, bytes.NewReader(b), int64(len(b)), sha256.Sum256(b), lim, opt)
	if err != nil {
		return info, nil, err
	}
	if rev == nil {
		rev = &prepare.Revision{}
	}
	rev.Changes = append(changes, rev.Changes...)
	p.Revision, p.Rewritten = rev, b
	return info, p, nil
}

// AdmitPrepared prepares an uploaded PDF according to the options and then examines it. The argument hash is the
// SHA-256 hash of the PDF. If no change is necessary, the revision is nil. Otherwise AdmitPrepared examines the PDF
// with the revision's bytes appended. Problems with the file, including an invalid tag, are returned as a
// *rejection.Error.
func AdmitPrepared(ctx context.Context, r io.ReaderAt, size int64, hash [sha256.Size]byte, lim Limits, opt prepare.Options) (Info, *prepare.Revision, error) {
	if size > lim.MaxBytes || !opt.ReadsPages() {
		info, err := admit(ctx, r, size, lim, false)
		if opt.ActiveContent == prepare.ActiveReject || !isActive(err) {
			return info, nil, RejectionOf(err)
		}
	}
	reading, release := lim.Reading(ctx)
	rev, err := revise(reading, r, size, hash, lim, opt)
	release()
	if err != nil {
		return Info{}, nil, RejectionOf(err)
	}
	if len(rev.Appended) > 0 {
		r, size = seal.Concat(r, size, rev.Appended)
		lim.MaxBytes += int64(len(rev.Appended)) // the limit applies to the upload
	}
	info, err := admit(ctx, r, size, lim, false)
	if len(rev.Appended) == 0 {
		rev = nil
	}
	return info, rev, RejectionOf(err)
}

func revise(ctx context.Context, r io.ReaderAt, size int64, hash [sha256.Size]byte, lim Limits, opt prepare.Options) (*prepare.Revision, error) {
	f, err := open(r, size, lim)
	if err != nil {
		return nil, err
	}
	if err := checkEncryption(f); err != nil {
		return nil, err
	}
	if err := checkSigned(ctx, f); err != nil {
		return nil, err
	}
	if err := checkCatalog(ctx, f, revision1.NewFinder(f), false); err != nil && (opt.ActiveContent == prepare.ActiveReject || !isActive(err)) {
		return nil, err
	}
	return prepare.Prepare(ctx, f, hash, opt)
}

// Suggest returns the tags and form fields of an admitted upload.
func Suggest(ctx context.Context, r io.ReaderAt, size int64, lim Limits) ([]prepare.FoundTag, []prepare.FormField, error) {
	reading, release := lim.Reading(ctx)
	defer release()
	f, err := open(r, size, lim)
	if err != nil {
		return nil, nil, RejectionOf(err)
	}
	tags, err := prepare.FindTags(reading, f)
	if err != nil {
		return nil, nil, RejectionOf(err)
	}
	fields, err := prepare.ReadForm(reading, f)
	if err != nil {
		return nil, nil, RejectionOf(err)
	}
	return tags, fields, nil
}
