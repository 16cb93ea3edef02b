package api

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"countersign/models"
	"countersign/prepare"
)

// addFoundFields adds the fields that tags and the form of an upload describe.
func addFoundFields(e *models.Envelope, act models.ActionContext, d *models.Document, u *upload) error {
	found, err := foundFields(e, d, u.revision, u.preparing.Options)
	if err != nil || len(found) == 0 {
		return err
	}
	_, err = e.AddFields(act, found, foundPath)
	return err
}

// foundPath names a field that was found, by its number.
func foundPath(i int) string { return fmt.Sprintf("found[%d].", i) }

// foundFields are the fields that a revision's tags and form describe.
func foundFields(e *models.Envelope, d *models.Document, rev *prepare.Revision, opt prepare.Options) ([]models.FieldInput, error) {
	if rev == nil {
		return nil, nil
	}
	var out []models.FieldInput
	for _, t := range rev.Tags {
		signer, ok := signerOfTag(e, t)
		if !ok {
			return nil, models.Refuse(models.KindInvalid, "text_tag_invalid",
				"The tag %q on page %d cannot be used: its role %q is none of the envelope's %d signer(s); expected role=signer1 and so on, a signer's e-mail address, or one signer alone.",
				t.Text, t.Place.Page, t.Role, len(e.Signers))
		}
		out = append(out, placed(d, t.Place, models.FieldInput{
			SignerRef: signer, Type: models.FieldType(t.Type), Required: t.Required, Source: models.SourceTag,
		}))
	}
	for _, f := range rev.Fields {
		if f.Hidden {
			continue // nobody sees it
		}
		signer, ok := signerOfRole(e, cmp.Or(f.Role(), opt.FormRole))
		if !ok {
			return nil, models.InvalidField("formRole", "must name the signer who fills the form: signer1 and so on, or an e-mail address")
		}
		in := placed(d, f.Place, models.FieldInput{
			SignerRef: signer, Type: models.FieldType(f.Type), Required: f.Required, Source: models.SourceForm,
		})
		if in.W > 0 && in.H > 0 {
			out = append(out, in)
		}
	}
	return out, nil
}

// placed puts a field where the document shows it, as far as that is on its page.
func placed(d *models.Document, at prepare.Place, in models.FieldInput) models.FieldInput {
	w, h, _ := d.PageSize(at.Page)
	x0, y0, x1, y1 := max(at.X, 0), max(at.Y, 0), min(at.X+at.W, w), min(at.Y+at.H, h)
	in.DocumentID, in.Page, in.Origin = &d.ID, at.Page, models.OriginTopLeft
	in.X, in.Y, in.W, in.H = x0, y0, max(x1-x0, 0), max(y1-y0, 0)
	return in
}

// signerOfTag is the index of the signer whom a tag means, as a reference.
func signerOfTag(e *models.Envelope, t prepare.FoundTag) (string, bool) {
	if t.Signer > 0 {
		return strconv.Itoa(t.Signer - 1), t.Signer <= len(e.Signers)
	}
	return signerOfRole(e, t.Role)
}

// signerOfRole is the index of the signer whom a role means, as a reference: of the
// only one, by number (signer1, r1), or by e-mail address.
func signerOfRole(e *models.Envelope, role string) (string, bool) {
	if role == "" {
		return "0", len(e.Signers) == 1
	}
	if m := numberedRole.FindStringSubmatch(role); m != nil {
		n, err := strconv.Atoi(m[1])
		return strconv.Itoa(n - 1), err == nil && n <= len(e.Signers)
	}
	found := -1
	for i, s := range e.Signers {
		if strings.EqualFold(s.Email, role) {
			if found >= 0 {
				return "", false
			}
			found = i
		}
	}
	return strconv.Itoa(found), found >= 0
}

var numberedRole = regexp.MustCompile(`^(?i:r|signer)([1-9][0-9]?)$`)
