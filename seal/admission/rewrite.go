package admission

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"countersign/pdf"
	"countersign/prepare"
	"countersign/seal/appearance"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
	"countersign/seal/verify"
)

// Values of documentOptions.repair. RepairAuto is the default.
const (
	RepairAuto   = "auto"
	RepairReject = "refuse"
)

// Renderer interprets documents as signers will see them, and can save them again.
type Renderer interface {
	Inspect(ctx context.Context, file io.ReaderAt, size int64, text bool) (*appearance.Inspection, error)
	Save(ctx context.Context, file io.ReaderAt, size int64) ([]byte, error)
	SameAppearance(ctx context.Context, a io.ReaderAt, sizeA int64, b io.ReaderAt, sizeB int64) (bool, error)
}

// isRepairable reports whether saving the file again might fix the cause of its rejection.
func isRepairable(r *rejection.Error) bool {
	return slices.Contains([]string{rejection.PDFNeedsRepair, rejection.PDFTruncated, rejection.PDFAmbiguous, rejection.PDFNoPages, rejection.DocumentSigned}, r.Code)
}

// rewrite admits a new file in place of a rejected upload. The renderer saves the upload again without its signatures.
// The appearance of every page must stay the same.
func rewrite(ctx context.Context, u Upload, lim Limits, opt prepare.Options, cause *rejection.Error) (Info, *Prepared, error) {
	rewriting, cancel := context.WithTimeout(ctx, wallClockFactor*lim.Timeout)
	defer cancel()
	// The sealed file will contain the upload unchanged, so the upload must not contain a second seal.
	if marked, err := verify.ContainsMark(rewriting, u.File, u.Size); err != nil || marked {
		return Info{}, nil, RejectionOf(cmp.Or(err, error(errResemblesSeal())))
	}
	release, err := u.reserve(ctx)
	if err != nil {
		return Info{}, nil, err
	}
	defer release()
	saved, err := lim.Renderer.Save(rewriting, u.File, u.Size)
	if err != nil {
		return Info{}, nil, withRepairReason(cause, err)
	}
	p := &Prepared{Signatures: verify.Signatures(ctx, u.File, u.Size)}
	changes := []prepare.Change{{Kind: manifest.Repaired, Count: 1, Detail: safeText(cause.Message)}}
	if cause.Code == rejection.PDFEncrypted {
		changes = []prepare.Change{{Kind: manifest.PasswordRemoved, Count: 1}}
	}
	plain, removed, err := cleanSaved(saved, lim)
	if err != nil {
		return Info{}, nil, withRepairReason(cause, err)
	}
	if plain != nil {
		saved = plain
	}
	if removed > 0 {
		if len(p.Signatures) == 0 {
			p.Signatures = verify.Signatures(ctx, bytes.NewReader(saved), int64(len(saved)))
		}
		change := prepare.Change{Kind: manifest.SignaturesRemoved, Count: removed, Detail: signers(p.Signatures)}
		if cause.Code == rejection.DocumentSigned {
			changes = nil
		}
		changes = append(changes, change)
	} else {
		p.Signatures = nil
	}
	same, err := lim.Renderer.SameAppearance(rewriting, u.File, u.Size, bytes.NewReader(saved), int64(len(saved)))
	if err == nil && !same {
		err = errAppearanceDiffers
	}
	if err != nil {
		return Info{}, nil, withRepairReason(cause, err)
	}
	info, p, err := admitRewritten(ctx, saved, p, changes, lim, opt)
	if again, ok := errors.AsType[*rejection.Error](err); ok && isRepairable(again) {
		return Info{}, nil, withRepairReason(cause, again)
	}
	for _, c := range changes {
		if c.Kind == manifest.PasswordRemoved {
			continue
		}
		info.Warnings = append(info.Warnings, Warning{Code: c.Kind, Count: c.Count, Detail: c.Detail})
	}
	return info, p, err
}

// maxSigners is the maximum length of the text that lists the signers, in characters.
const maxSigners = 200

// signers returns the distinct names of the signers from their certificates, separated by commas.
func signers(all []manifest.Signature) string {
	var names []string
	for _, s := range all {
		if s.By != "" && !slices.Contains(names, s.By) {
			names = append(names, s.By)
		}
	}
	text := []rune(strings.Join(names, ", "))
	return string(text[:min(len(text), maxSigners)])
}

var errAppearanceDiffers = rejection.New(rejection.PDFNeedsRepair, "A page would look different.")

// withRepairReason adds to a rejection the reason why the file was not repaired. If err is not a rejection, it returns
// err.
func withRepairReason(cause *rejection.Error, err error) error {
	why, ok := errors.AsType[*rejection.Error](RejectionOf(err))
	if !ok {
		return err
	}
	return rejection.New(cause.Code, cause.Message+" It could not be repaired: "+firstLower(why.Message))
}

func firstLower(s string) string {
	if s == "" || strings.HasPrefix(s, "PDF") {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// cleanSaved returns a document without its signatures, their permissions and their validation data. It also replaces
// objects that contain only a reference, and corrects the page tree. It returns nil if nothing has to be changed, and
// the number of signatures removed.
func cleanSaved(b []byte, lim Limits) ([]byte, int, error) {
	f, err := open(bytes.NewReader(b), int64(len(b)), lim)
	if err != nil {
		return nil, 0, err
	}
	_, root, err := f.Catalog()
	if err != nil {
		return nil, 0, err
	}
	nodes, copies := repairPageTree(f)
	removed, corrected := 0, len(copies)
	id := sha256.Sum256(b)
	out, err := pdf.Rewrite(f, id[:16], func(o pdf.Object) (pdf.Value, bool, error) {
		v := o.Value
		if _, ok := v.Ref(); ok {
			if v, err = f.ResolvePlain(v); err != nil {
				return o.Value, true, nil //nolint:nilerr // the examination reports the error
			}
			corrected++
		}
		if !v.IsDict() {
			return v, true, nil
		}
		d, err := v.Dict()
		if err != nil {
			return nil, false, err
		}
		if node := nodes[o.Ref]; node != nil {
			d = node
			corrected++
		}
		switch kind, _ := d.Get("Type").Name(); {
		case o.IsStream() && (kind == "ObjStm" || kind == "XRef"):
			return nil, false, nil
		case d.Get("ByteRange") != nil && d.Get("Contents") != nil: // a signature
			return nil, false, nil
		case o.Ref == root:
			d.Delete("Perms")
			d.Delete("DSS")
			if form, err := d.Get("AcroForm").Dict(); err == nil {
				form.Delete("SigFlags")
				d.Set("AcroForm", form.Value())
			}
		case d.Get("SigFlags") != nil && d.Get("Fields") != nil:
			d.Delete("SigFlags")
		}
		if v, err := f.Dict(d.Get("V")); err == nil && v.Get("ByteRange") != nil {
			d.Delete("V")
			removed++
		}
		return d.Value(), true, nil
	}, copies...)
	if err != nil {
		return nil, 0, fmt.Errorf("rewrite a saved PDF: %w", err)
	}
	if removed+corrected == 0 {
		return nil, 0, nil
	}
	return out, removed, nil
}
