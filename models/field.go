package models

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Origin is the corner of the page from which y is measured.
type Origin string

// The origins. Stored fields use OriginTopLeft.
const (
	OriginTopLeft    Origin = "top-left"
	OriginBottomLeft Origin = "bottom-left"
)

// Field is an area on a page that a signer fills in. X and Y are the distances of its left and top edges from the left
// and top edges of the displayed page. W and H are its width and height. All are in points (1/72 inch).
type Field struct {
	ID         uuid.UUID `gorm:"primaryKey" json:"-"` // the JSON form is used for the content of templates
	EnvelopeID uuid.UUID `json:"-"`
	DocumentID uuid.UUID `json:"documentId"`
	SignerID   uuid.UUID `json:"-"`
	Position   int       `json:"-"`
	Type       FieldType `json:"type"`
	Page       int       `json:"page"` // starts at 1
	X          float64   `json:"x"`
	Y          float64   `json:"y"`
	W          float64   `json:"w"`
	H          float64   `json:"h"`
	Required   bool      `json:"required"`
	// Origin is bottom-left only until the field's document is added.
	Origin Origin `json:"origin,omitempty"`
	// Name identifies the field for the sender, in conditions and in responses. Several fields of one signer with the
	// same name share a single value.
	Name string `json:"name"`
	// DefaultValue is the value prefilled by the sender, or "" if there is none.
	DefaultValue string          `json:"defaultValue,omitempty"`
	Attributes   FieldAttributes `gorm:"serializer:json" json:"attributes"`
	// Source specifies how the field was created.
	Source FieldSource `json:"source,omitempty"`
}

// FieldSource specifies how a field was created.
type FieldSource string

// The sources of fields.
const (
	SourceRequest FieldSource = "" // specified in a request
	SourceTag     FieldSource = "tag"
	SourceForm    FieldSource = "form"
)

// FieldInput is the input for a field. SignerRef is a signer's ID, zero-based index, or email address. Alternatively,
// Role specifies a signer's role. If DocumentID is nil, the field belongs to the first document. If Name is empty, a
// name is generated from the type and a number, and the attribute Named is false.
type FieldInput struct {
	DocumentID   *uuid.UUID
	SignerRef    string
	Role         string
	Type         FieldType
	Page         int
	X, Y, W, H   float64
	Required     bool
	Origin       Origin
	Name         string
	DefaultValue string
	Attributes   FieldAttributes
	// Anchor is the text at which the field is placed. The text is located before the field is created.
	Anchor *Anchor
	Source FieldSource
}

// edgeTolerance is the distance, in points, by which a field may extend beyond the edge of the page. It is needed
// because clients round page sizes.
const edgeTolerance = 0.5

// AddFields adds all fields to a draft, or none if any is invalid. The path function returns the path prefix ("" or
// "fields[0].") for the problems of the input at an index.
func (e *Envelope) AddFields(act ActionContext, ins []FieldInput, path func(int) string) ([]*Field, error) {
	if err := e.check(ActionAddField); err != nil {
		return nil, err
	}
	p := Problems{}
	if len(e.Fields)+len(ins) > MaxFields {
		p.Add("fields", "an envelope can have at most %d fields", MaxFields)
		return nil, p.Err()
	}
	names := e.newFieldNames(ins)
	made := make([]*Field, 0, len(ins))
	for i, in := range ins {
		f := e.newField(act, in, p, path(i), e.nextFieldPosition()+i)
		f.Name = names[i]
		made = append(made, f)
	}
	if len(p) == 0 {
		checkFieldSet(p, e.Signers, append(slices.Clone(e.Fields), made...), func(f *Field) string {
			if i := slices.Index(made, f); i >= 0 {
				return path(i)
			}
			return ""
		})
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

// IndexedPath returns the path prefix for the problems of a field in a list.
func IndexedPath(i int) string { return fmt.Sprintf("fields[%d].", i) }

// NoPrefix returns the empty prefix, for a request with a single field.
func NoPrefix(int) string { return "" }

// check records the problems of a field that do not depend on the field's document, and reports whether the field can
// be placed on a page.
func (in FieldInput) check(p Problems, path string) bool {
	in.checkAttributes(p, path)
	switch in.Origin {
	case OriginTopLeft, OriginBottomLeft:
	default:
		p.addFirst(path+"origin", "must be top-left or bottom-left")
	}
	if in.Anchor != nil {
		return false // the anchor determines the position
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

const noSuchDocument = "must be the id of a document of this envelope"

// Check records the problems of a field in a future envelope that can be detected before its document is examined. The
// paths of the problems begin with path. If signers is nil, the recipient is not checked.
func (in FieldInput) Check(p Problems, path string, signers []SignerInput) {
	in.check(p, path)
	if signers != nil {
		i := in.signerIndex(len(signers), func(i int) (role, email string) { return signers[i].Role, signers[i].Email })
		if i < 0 {
			in.checkSigner(p, path, nil, i == sharedIndex)
		} else {
			in.checkSigner(p, path, &signers[i].Kind, false)
		}
	}
	if in.DocumentID != nil {
		p.addFirst(path+"documentId", noSuchDocument) // the ID is not known yet
	}
}

func (e *Envelope) newField(act ActionContext, in FieldInput, p Problems, path string, position int) *Field {
	f := &Field{
		ID: act.NewID(), EnvelopeID: e.ID, DocumentID: e.FirstDocumentID, Position: position,
		Type: in.Type, Page: in.Page, X: in.X, Y: in.Y, W: in.W, H: in.H, Required: in.Required, Origin: in.Origin,
		DefaultValue: in.DefaultValue, Attributes: in.Attributes,
		Source: in.Source,
	}
	f.Attributes.Named = in.Name != ""
	if s := e.resolveSigner(in); s == nil {
		in.checkSigner(p, path, nil, e.signerIndex(in) == sharedIndex)
	} else {
		f.SignerID = s.ID
		in.checkSigner(p, path, &s.Kind, false)
	}
	ok := in.check(p, path)
	if in.Anchor != nil {
		p.addFirst(path+"anchor", anchorNeedsDocument)
	}
	if in.DocumentID != nil {
		f.DocumentID = *in.DocumentID
	}
	switch d := e.Document(f.DocumentID); {
	case d == nil && f.DocumentID != e.FirstDocumentID:
		p.Add(path+"documentId", noSuchDocument)
	case d != nil && ok:
		f.normalize(p, path, d)
	}
	return f
}

// normalize checks that the field is within its page, and converts a bottom-left position to a top-left one.
func (f *Field) normalize(p Problems, path string, d *Document) {
	pw, ph, ok := d.PageSize(f.Page)
	if !ok {
		p.Add(path+"page", "page %d does not exist: the document has %d page(s)", f.Page, d.PageCount)
		return
	}
	if f.Origin == OriginBottomLeft {
		f.Y = ph - f.Y - f.H
		f.Origin = OriginTopLeft
	}
	if f.Y < -edgeTolerance || f.X+f.W > pw+edgeTolerance || f.Y+f.H > ph+edgeTolerance {
		p.Add(path+"x", "the field (x %g, y %g, w %g, h %g from the top left) extends beyond page %d, which is %g × %g points",
			f.X, f.Y, f.W, f.H, f.Page, pw, ph)
	}
}

const (
	noSuchSigner = "must be a signer of this envelope: its id, its zero-based index, or its email address"
	sharedEmail  = "is the email address of several signers of this envelope: use a signer's id or zero-based index"
	noFields     = "is a recipient who cannot have fields, such as a viewer or a copy recipient"
	noSuchRole   = "is not the role of a signer of this envelope"
)

// checkSigner records a problem if the field refers to a nonexistent recipient (kind is nil) or to a recipient who
// cannot have fields. If shared is set, several recipients have the referenced address.
func (in FieldInput) checkSigner(p Problems, path string, kind *RecipientKind, shared bool) {
	member, missing := "signerId", noSuchSigner
	if shared {
		missing = sharedEmail
	}
	if in.Role != "" {
		member, missing = "role", noSuchRole
	}
	if kind == nil {
		p.addFirst(path+member, missing)
	} else if !kind.takesFields() {
		p.addFirst(path+member, noFields)
	}
}

// resolveSigner returns the signer of a field, or nil if there is none.
func (e *Envelope) resolveSigner(in FieldInput) *Signer {
	if id, err := uuid.Parse(in.SignerRef); err == nil && in.Role == "" {
		return e.Recipient(id)
	}
	if i := e.signerIndex(in); i >= 0 {
		return e.Recipients()[i]
	}
	return nil
}

func (e *Envelope) signerIndex(in FieldInput) int {
	all := e.Recipients()
	return in.signerIndex(len(all), func(i int) (role, email string) { return all[i].Role, all[i].Email })
}

// sharedIndex is the index returned for an address that belongs to several signers.
const sharedIndex = -2

// signerIndex returns the index of the signer with the field's role among n signers. For a field without a role, it
// resolves the reference, which is an index or an address that belongs to only one signer. The result is negative if
// there is no such signer. Calling of(i) returns the role and the address of the signer at index i.
func (in FieldInput) signerIndex(n int, of func(i int) (role, email string)) int {
	if in.Role != "" {
		for i := range n {
			if role, _ := of(i); role == in.Role {
				return i
			}
		}
		return -1
	}
	if i, err := strconv.Atoi(in.SignerRef); err == nil {
		if i < 0 || i >= n {
			return -1
		}
		return i
	}
	found := -1
	for i := range n {
		if _, email := of(i); strings.EqualFold(email, in.SignerRef) {
			if found >= 0 {
				return sharedIndex
			}
			found = i
		}
	}
	return found
}

// Anchor specifies text in a document at which a field is placed.
type Anchor struct {
	Text       string  `json:"text"`
	Match      string  `json:"match,omitempty"` // first, last, all or a number; default first
	Page       int     `json:"page,omitempty"`  // 0 for any page
	DX         float64 `json:"dx,omitempty"`    // points to the right
	DY         float64 `json:"dy,omitempty"`    // points down
	At         string  `json:"at,omitempty"`    // after, over or below; default after
	WholeWord  bool    `json:"wholeWord,omitempty"`
	IgnoreCase bool    `json:"ignoreCase,omitempty"`
	IfMissing  string  `json:"ifMissing,omitempty"` // refuse or skip; default refuse
}

const anchorNeedsDocument = "requires a document: upload it before you add its fields"

// ErrAnchorNeedsDocument returns the error for a field with an anchor but without a document.
func ErrAnchorNeedsDocument(path string) error {
	return &Error{
		Kind: KindInvalid, Code: "anchor_needs_document", Message: "A field with an anchor requires a document that contains the anchor's text: upload the document first.",
		Fields: map[string][]string{path + "anchor": {anchorNeedsDocument}},
	}
}
