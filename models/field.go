package models

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// FieldType says what a signer puts into a field.
type FieldType string

// The types.
const (
	FieldSignature FieldType = "signature"
	FieldInitial   FieldType = "initial"
	FieldDate      FieldType = "date"
	FieldText      FieldType = "text"
	FieldCheckbox  FieldType = "checkbox"
)

// Image reports whether the field holds a picture rather than text.
func (t FieldType) Image() bool { return t == FieldSignature || t == FieldInitial }

// Origin says from which corner of the page y is counted.
type Origin string

// The origins. Stored fields are top-left.
const (
	OriginTopLeft    Origin = "top-left"
	OriginBottomLeft Origin = "bottom-left"
)

// Field is a place on a page that a signer fills. X and Y are the distances of
// its left and top edge from the left and top edge of the page as a reader
// shows it, W and H its size, all in points (1/72 inch).
type Field struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	EnvelopeID uuid.UUID
	DocumentID uuid.UUID
	SignerID   uuid.UUID
	Position   int
	Type       FieldType
	Page       int // from 1
	X, Y, W, H float64
	Required   bool
	// Origin is bottom-left only while the field waits for its document.
	Origin Origin
}

// FieldInput is what a field is made from. SignerRef is a signer's id, its
// zero-based index, or its e-mail address. DocumentID nil means the first document.
type FieldInput struct {
	DocumentID *uuid.UUID
	SignerRef  string
	Type       FieldType
	Page       int
	X, Y, W, H float64
	Required   bool
	Origin     Origin
}

// edgeTolerance is how far, in points, a field may reach over the page's edge:
// clients round page sizes.
const edgeTolerance = 0.5

func fieldPath(i int) string { return fmt.Sprintf("fields[%d].", i) }

// AddFields adds fields to a draft, all or none. path maps the index of an
// input to the prefix of its problems ("" or "fields[0].").
func (e *Envelope) AddFields(act ActionContext, ins []FieldInput, path func(int) string) ([]*Field, error) {
	if err := e.check(ActionAddField); err != nil {
		return nil, err
	}
	p := Problems{}
	if len(e.Fields)+len(ins) > MaxFields {
		p.Add("fields", "an envelope can have at most %d fields", MaxFields)
		return nil, p.Err()
	}
	made := make([]*Field, 0, len(ins))
	for i, in := range ins {
		made = append(made, e.newField(act, in, p, path(i), len(e.Fields)+i))
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	e.Fields = append(e.Fields, made...)
	for _, f := range made {
		e.record(act, EventFieldAdded, f.SignerID, Detail{
			"fieldId": f.ID.String(), "documentId": f.DocumentID.String(), "signerId": f.SignerID.String(),
			"type": string(f.Type), "page": f.Page,
		})
	}
	return made, nil
}

// IndexedPath prefixes problems with the field's place in the request.
func IndexedPath(i int) string { return fieldPath(i) }

// NoPrefix is for a request that is a single field.
func NoPrefix(int) string { return "" }

// check notes what is wrong with a field whatever its document is, and reports
// whether it can be placed on a page.
func (in FieldInput) check(p Problems, path string) bool {
	switch in.Type {
	case FieldSignature, FieldInitial, FieldDate, FieldText, FieldCheckbox:
	default:
		p.addFirst(path+"type", "must be signature, initial, date, text or checkbox")
	}
	switch in.Origin {
	case OriginTopLeft, OriginBottomLeft:
	default:
		p.addFirst(path+"origin", "must be top-left or bottom-left")
	}
	ok := in.Page >= 1
	if !ok {
		p.addFirst(path+"page", "must be 1 or more")
	}
	numbers := []struct {
		name string
		v    float64
	}{{"x", in.X}, {"y", in.Y}, {"w", in.W}, {"h", in.H}}
	for i, n := range numbers {
		switch {
		case !finite(n.v):
			p.addFirst(path+n.name, "must be a number of points")
			ok = false
		case i < 2 && n.v < -edgeTolerance:
			p.addFirst(path+n.name, "must be 0 or more")
			ok = false
		case i >= 2 && n.v <= 0:
			p.addFirst(path+n.name, "must be more than 0")
			ok = false
		}
	}
	return ok
}

const (
	noSuchSigner   = "names no signer of this envelope (use the signer's id, its zero-based index, or its e-mail address)"
	noSuchDocument = "names no document of this envelope"
)

// Check notes under path what is wrong with a field of an envelope that is yet to
// be made, as far as that is known before its document is examined. signers nil
// leaves open whom the field is for.
func (in FieldInput) Check(p Problems, path string, signers []SignerInput) {
	in.check(p, path)
	emails := make([]string, 0, len(signers))
	for _, s := range signers {
		emails = append(emails, s.Email)
	}
	if signers != nil && signerIndex(in.SignerRef, emails) < 0 {
		p.addFirst(path+"signerId", noSuchSigner)
	}
	if in.DocumentID != nil {
		p.addFirst(path+"documentId", noSuchDocument) // its id is not known yet
	}
}

func (e *Envelope) newField(act ActionContext, in FieldInput, p Problems, path string, position int) *Field {
	f := &Field{
		ID: act.NewID(), EnvelopeID: e.ID, DocumentID: e.FirstDocumentID, Position: position,
		Type: in.Type, Page: in.Page, X: in.X, Y: in.Y, W: in.W, H: in.H, Required: in.Required, Origin: in.Origin,
	}
	if s := e.resolveSigner(in.SignerRef); s != nil {
		f.SignerID = s.ID
	} else {
		p.Add(path+"signerId", noSuchSigner)
	}
	ok := in.check(p, path)
	if in.DocumentID != nil {
		f.DocumentID = *in.DocumentID
	}
	d := e.Document(f.DocumentID)
	switch {
	case d != nil:
		if ok {
			f.normalize(p, path, d)
		}
	case f.DocumentID != e.FirstDocumentID:
		p.Add(path+"documentId", noSuchDocument)
	}
	return f
}

// normalize checks the field against its page and turns a bottom-left field into a
// top-left one.
func (f *Field) normalize(p Problems, path string, d *Document) {
	pw, ph, ok := d.PageSize(f.Page)
	if !ok {
		p.Add(path+"page", "there is no page %d: the document has %d page(s)", f.Page, d.PageCount)
		return
	}
	if f.Origin == OriginBottomLeft {
		f.Y = ph - f.Y - f.H
		f.Origin = OriginTopLeft
	}
	if f.Y < -edgeTolerance || f.X+f.W > pw+edgeTolerance || f.Y+f.H > ph+edgeTolerance {
		p.Add(path+"x", "the field (x %g, y %g, w %g, h %g from the top left) reaches outside page %d, which is %g × %g points",
			f.X, f.Y, f.W, f.H, f.Page, pw, ph)
	}
}

// resolveSigner finds the signer that ref means.
func (e *Envelope) resolveSigner(ref string) *Signer {
	if id, err := uuid.Parse(ref); err == nil {
		return e.Signer(id)
	}
	emails := make([]string, 0, len(e.Signers))
	for _, s := range e.Signers {
		emails = append(emails, s.Email)
	}
	if i := signerIndex(ref, emails); i >= 0 {
		return e.Signers[i]
	}
	return nil
}

// signerIndex is the index that ref gives, or that of the one signer who has
// that address; negative if there is none.
func signerIndex(ref string, emails []string) int {
	if i, err := strconv.Atoi(ref); err == nil {
		if i >= len(emails) {
			return -1
		}
		return i
	}
	found := -1
	for i, email := range emails {
		if strings.EqualFold(email, ref) {
			if found >= 0 {
				return -1 // two signers share the address: the reference is ambiguous
			}
			found = i
		}
	}
	return found
}
