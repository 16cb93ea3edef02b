package api

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/prepare"
	"countersign/seal/admission"
)

// addFoundFields adds the fields described by the tags and the form of an upload.
func addFoundFields(app caller, e *models.Envelope, act models.ActionContext, d *models.Document, u *upload) error {
	found, err := allowedFields(app, e, d, u)
	if err != nil || len(found) == 0 {
		return err
	}
	_, err = e.AddFields(act, found, foundPath)
	return err
}

// allowedFields returns the fields described by the tags and the form of an upload. It returns an error if a field has
// a type that the caller may not add.
func allowedFields(app caller, e *models.Envelope, d *models.Document, u *upload) ([]models.FieldInput, error) {
	found, err := foundFields(e, d, u.revision, u.preparing.Options)
	return found, cmp.Or(err, app.allowFields(found...))
}

// foundPath returns the JSON path that identifies a found field in problems.
func foundPath(i int) string { return fmt.Sprintf("found[%d].", i) }

// foundFields returns the fields described by the tags and the form in a prepared upload.
func foundFields(e *models.Envelope, d *models.Document, rev *admission.Prepared, opt prepare.Options) ([]models.FieldInput, error) {
	if rev == nil {
		return nil, nil
	}
	var out []models.FieldInput
	for _, t := range rev.Tags {
		in, err := fieldOfTag(e, d, t)
		if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	names := prepare.FieldNames(rev.Fields)
	for i, f := range rev.Fields {
		if f.Hidden {
			continue // invisible to signers
		}
		signer, ok := signerOfRole(e, cmp.Or(f.Role(), opt.FormRole))
		if !ok {
			return nil, models.InvalidField("formRole", "must name the signer who fills the form: a role, signer1 and so on, or an email address")
		}
		in := placed(d, f.Place, fieldOfForm(f, names[i]))
		in.SignerRef = signer
		if in.W > 0 && in.H > 0 {
			out = append(out, in)
		}
	}
	return out, nil
}

// fieldOfTag returns the field described by a tag.
func fieldOfTag(e *models.Envelope, d *models.Document, t prepare.FoundTag) (models.FieldInput, error) {
	signer, ok := signerOfRole(e, t.Role)
	if !ok {
		return models.FieldInput{}, models.Reject(models.KindInvalid, "text_tag_invalid",
			"The tag %q on page %d cannot be used: its role %q does not identify any of the envelope's %d signer(s). Use a signer's role, a number such as signer1, or an email address. If there is only one signer, omit the role.",
			t.Text, t.Place.Page, t.Role, len(e.Signers))
	}
	in := placed(d, t.Place, models.FieldInput{
		SignerRef: signer, Type: models.FieldType(t.Type), Required: t.Required, Source: models.SourceTag, Name: t.Name, DefaultValue: t.Default,
		Attributes: models.FieldAttributes{
			Label: t.Label, Placeholder: t.Placeholder, ReadOnly: t.ReadOnly, Format: t.Format, Options: t.Options,
			FontSize: t.FontSize, Align: models.Align(t.Align),
		},
	})
	if t.Min != "" || t.Max != "" {
		in.Attributes.Validation = &models.FieldValidation{Min: t.Min, Max: t.Max}
	}
	if t.Condition != nil {
		in.Attributes.Condition = &models.Condition{All: []models.Clause{{Field: t.Condition.Field, Is: &t.Condition.Is}}}
	}
	if in.Type == models.FieldRadio { // an option in the radio group whose name is the tag's name
		in.Attributes.Group, in.Name = t.Name, ""
		if len(t.Options) > 0 {
			in.Attributes.Option = t.Options[0]
		}
		in.Attributes.Options = nil
	}
	p := models.Problems{}
	in.Check(p, "", nil)
	delete(p, "documentId") // the document is already known
	for _, path := range slices.Sorted(maps.Keys(p)) {
		return in, models.Reject(models.KindInvalid, "text_tag_invalid", "The tag %q on page %d cannot be used: %s %s.", t.Text, t.Place.Page, path, p[path][0])
	}
	return in, nil
}

// fieldOfForm returns the field for a form field in the file.
func fieldOfForm(f prepare.FormField, name string) models.FieldInput {
	in := models.FieldInput{
		Type: models.FieldType(f.Type), Required: f.Required, Source: models.SourceForm, Name: name, DefaultValue: cmp.Or(f.Value, f.Default),
		Attributes: models.FieldAttributes{Label: firstCharacters(plaintext.Line(cmp.Or(f.Label, f.Name)), maxLabel), ReadOnly: f.ReadOnly},
	}
	a := &in.Attributes
	switch f.Type {
	case "text", "date":
		a.MaxLength, a.Comb, a.Multiline = f.MaxLength, f.Comb, f.Multiline && !f.Comb
		a.Align = models.Align(f.Align)
		if f.FontSize >= 4 && f.FontSize <= 72 {
			a.FontSize = f.FontSize
		}
		if f.Type == "date" {
			a.Format, a.MaxLength, a.Comb, a.Multiline = dateFormat(f.Format), 0, false, false
		}
	case "checkbox":
		in.DefaultValue = ""
		if f.Option != "" && cmp.Or(f.Value, f.Default) == f.Option {
			in.DefaultValue = "true"
		}
	case "radio":
		a.Group, a.Option, in.Name, in.DefaultValue = name, f.Option, "", ""
		if f.Option != "" && cmp.Or(f.Value, f.Default) == f.Option {
			in.DefaultValue = "true"
		}
	case "select":
		in.DefaultValue = ""
		for _, o := range f.Options {
			if strings.TrimSpace(o.Text) == "" || slices.Contains(a.Options, o.Text) {
				continue
			}
			a.Options = append(a.Options, o.Text)
			if v := cmp.Or(f.Value, f.Default); v == o.Export || v == o.Text {
				in.DefaultValue = o.Text
			}
		}
	case "signature":
		a.ReadOnly, in.DefaultValue = false, ""
	}
	if a.ReadOnly && in.DefaultValue == "" {
		in.Required = false // the signer could never fill in the field
	}
	if p := (models.Problems{}); in.Type == models.FieldDate {
		if in.Check(p, "", nil); len(p["format"])+len(p["defaultValue"]) > 0 { // a date whose format is unsupported becomes a text field
			in.Type, a.Format = models.FieldText, ""
		}
	}
	return in
}

// maxLabel is the maximum length of a field's label, in characters.
const maxLabel = 200

// dateFormat converts the date pattern of a PDF form, in which m is the month and M the minute, to the format of a
// field.
func dateFormat(pattern string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case 'm':
			return 'M'
		case 'M':
			return 'm'
		}
		return r
	}, pattern)
}

// placed sets the position of a field to its displayed position, clipped to the page.
func placed(d *models.Document, at prepare.Position, in models.FieldInput) models.FieldInput {
	w, h, _ := d.PageSize(at.Page)
	x0, y0, x1, y1 := max(at.X, 0), max(at.Y, 0), min(at.X+at.W, w), min(at.Y+at.H, h)
	in.DocumentID, in.Page, in.Origin = &d.ID, at.Page, models.OriginTopLeft
	in.X, in.Y, in.W, in.H = x0, y0, max(x1-x0, 0), max(y1-y0, 0)
	return in
}

// signerOfRole returns the ID of the signer with the given role, number (signer1, r1) or email address. If role is
// empty, it returns the only signer.
func signerOfRole(e *models.Envelope, role string) (string, bool) {
	if role == "" {
		if len(e.Signers) == 1 {
			return e.Signers[0].ID.String(), true
		}
		return "", false
	}
	if i := slices.IndexFunc(e.Signers, func(s *models.Signer) bool { return s.Role == role }); i >= 0 {
		return e.Signers[i].ID.String(), true
	}
	if m := numberedRole.FindStringSubmatch(role); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 || n > len(e.Signers) {
			return "", false
		}
		return e.Signers[n-1].ID.String(), true
	}
	found := ""
	for _, s := range e.Signers {
		if strings.EqualFold(s.Email, role) {
			if found != "" {
				return "", false
			}
			found = s.ID.String()
		}
	}
	return found, found != ""
}

var numberedRole = regexp.MustCompile(`^(?i:r|signer)([1-9][0-9]?)$`)
