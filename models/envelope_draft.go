package models

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Limits for the sender's texts and settings.
const (
	MaxExternalID     = 200 // characters
	maxMetadata       = 20  // pairs
	maxMetadataLength = 500 // characters of a name or a value
)

// Change is a field of an edit. It has an effect only if Present is true.
type Change[T any] struct {
	Present bool
	Value   T
}

// Apply assigns the value to *to if the change is present.
func (c Change[T]) Apply(to *T) {
	if c.Present {
		*to = c.Value
	}
}

// EnvelopeEdit describes changes to an envelope, usually a draft.
type EnvelopeEdit struct {
	Subject       Change[*string]
	Message       Change[*string]
	ExpiresInDays Change[*int]
	ReminderHours Change[*int]
	Metadata      Change[map[string]string]
	Labels        Change[[]string]   // possible in every status
	ExpiresAt     Change[*time.Time] // only for a sent envelope, see Patch
}

// Edit edits a draft.
func (e *Envelope) Edit(act ActionContext, in EnvelopeEdit) error {
	if err := e.check(ActionEditEnvelope); err != nil {
		return err
	}
	p := Problems{}
	checkSubject(p, in.Subject.Value)
	checkMessage(p, in.Message.Value)
	checkExpiresInDays(p, in.ExpiresInDays.Value)
	checkReminderHours(p, in.ReminderHours.Value)
	checkMetadata(p, in.Metadata.Value)
	checkLabels(p, in.Labels.Value)
	if err := p.Err(); err != nil {
		return err
	}
	in.Subject.Apply(&e.Subject)
	in.Message.Apply(&e.Message)
	in.ReminderHours.Apply(&e.ReminderHours)
	in.Metadata.Apply(&e.Metadata)
	in.Labels.Apply(&e.Labels)
	if in.ExpiresInDays.Present {
		e.ExpiresInDays = in.ExpiresInDays.Value
		e.resetDeadline(e.CreatedAt)
	}
	e.edited(act)
	return nil
}

// EditSigner replaces the input of a signer in a draft.
func (e *Envelope) EditSigner(act ActionContext, id uuid.UUID, in SignerInput) (*Signer, error) {
	s := e.Recipient(id)
	if s == nil {
		return nil, ErrNotFound
	}
	if err := e.check(ActionEditSigner); err != nil {
		return nil, err
	}
	p := Problems{}
	in.Check(p, "")
	if in.Role != "" && slices.ContainsFunc(e.Recipients(), func(other *Signer) bool { return other != s && other.Role == in.Role }) {
		p.Add("role", "is already used by another signer")
	}
	e.checkOwnWitness(p, in)
	if rules, ok := in.Kind.rules(); ok && !rules.takesFields && slices.ContainsFunc(e.Fields, func(f *Field) bool { return f.SignerID == id }) {
		p.Add("kind", "cannot have fields: remove this recipient's fields first")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	in.apply(s)
	e.renumberSigners()
	e.edited(act)
	return s, nil
}

// RemoveSigner removes a signer and the signer's fields from a draft.
func (e *Envelope) RemoveSigner(act ActionContext, id uuid.UUID) error {
	if e.Recipient(id) == nil {
		return ErrNotFound
	}
	if err := e.check(ActionRemoveSigner); err != nil {
		return err
	}
	e.Signers = slices.DeleteFunc(e.Signers, func(s *Signer) bool { return s.ID == id })
	e.Copies = slices.DeleteFunc(e.Copies, func(s *Signer) bool { return s.ID == id })
	e.renumberSigners()
	e.removeFields(func(f *Field) bool { return f.SignerID == id })
	e.edited(act)
	return nil
}

// renumberSigners renumbers the signers of a draft, and updates their mailboxes.
func (e *Envelope) renumberSigners() {
	all := e.Recipients()
	e.Signers, e.Copies = nil, nil
	for i, s := range all {
		s.Position, s.Mailbox = i, e.mailbox(s.Email, i)
		e.AddRecipient(s)
	}
	e.alignWitnesses()
}

// EditField replaces the input of a field in a draft.
func (e *Envelope) EditField(act ActionContext, id uuid.UUID, in FieldInput) (*Field, error) {
	i := slices.IndexFunc(e.Fields, func(f *Field) bool { return f.ID == id })
	if i < 0 {
		return nil, ErrNotFound
	}
	if err := e.check(ActionEditField); err != nil {
		return nil, err
	}
	p := Problems{}
	was := e.Fields[i]
	f := e.newField(act, in, p, "", was.Position)
	f.ID, f.Name = id, e.newFieldNames([]FieldInput{in})[0]
	if in.Name == was.Name {
		f.Attributes.Named = was.Attributes.Named
	}
	fields := slices.Clone(e.Fields)
	fields[i] = f
	if len(p) == 0 {
		checkFieldSet(p, e.Signers, fields, func(*Field) string { return "" })
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	e.Fields = fields
	e.edited(act)
	return f, nil
}

// Field returns the field with the given ID, or nil.
func (e *Envelope) Field(id uuid.UUID) *Field {
	return find(e.Fields, func(f *Field) bool { return f.ID == id })
}

// RemoveField removes a field from a draft.
func (e *Envelope) RemoveField(act ActionContext, id uuid.UUID) error {
	if e.Field(id) == nil {
		return ErrNotFound
	}
	if err := e.check(ActionRemoveField); err != nil {
		return err
	}
	e.removeFields(func(f *Field) bool { return f.ID == id })
	e.edited(act)
	return nil
}

// removeFields removes the selected fields, and renumbers the remaining ones.
func (e *Envelope) removeFields(which func(*Field) bool) {
	e.Fields = slices.DeleteFunc(e.Fields, which)
	for i, f := range e.Fields {
		f.Position = i
	}
}

// DocumentEdit describes changes to a document in a draft.
type DocumentEdit struct {
	Name  Change[string]
	Order Change[int] // starts at 1; the other documents move
}

// EditDocument renames or reorders a document in a draft.
func (e *Envelope) EditDocument(act ActionContext, id uuid.UUID, in DocumentEdit) (*Document, error) {
	d := e.Document(id)
	if d == nil {
		return nil, ErrNotFound
	}
	if err := e.check(ActionEditDocument); err != nil {
		return nil, err
	}
	p := Problems{}
	if in.Name.Present {
		CheckText(p, "name", in.Name.Value, 0, 200)
	}
	if n := len(e.Documents); in.Order.Present && (in.Order.Value < 1 || in.Order.Value > n) {
		p.Add("document_order", "must be between 1 and %d", n)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	in.Name.Apply(&d.Name)
	if in.Order.Present {
		docs := slices.DeleteFunc(e.Originals(), func(o *Document) bool { return o.ID == id })
		e.Documents = slices.Insert(docs, in.Order.Value-1, d)
		e.renumberDocuments(act)
	}
	e.edited(act)
	return d, nil
}

// RemoveDocument removes a document and its fields from a draft. It returns the storage keys of the files that are no
// longer referenced.
func (e *Envelope) RemoveDocument(act ActionContext, id uuid.UUID) (blobKeys []string, err error) {
	d := e.Document(id)
	if d == nil {
		return nil, ErrNotFound
	}
	if err := e.check(ActionRemoveDocument); err != nil {
		return nil, err
	}
	e.Documents = slices.DeleteFunc(e.Documents, func(o *Document) bool { return o.ID == id })
	e.removeFields(func(f *Field) bool { return f.DocumentID == id })
	e.renumberDocuments(act)
	e.edited(act)
	return d.BlobKeys(), nil
}

// renumberDocuments numbers the documents of a draft from 1 in their current order.
func (e *Envelope) renumberDocuments(act ActionContext) {
	for i, d := range e.Documents {
		d.Order = i + 1
	}
	e.HashOriginal = CombineHashes(e.Documents)
	if len(e.Documents) > 0 {
		e.FirstDocumentID = e.Documents[0].ID
	} else {
		e.FirstDocumentID = act.NewID()
	}
}

// Delete deletes a draft. Only its ID, its owner and its audit chain remain. Delete returns the storage keys of the
// files.
func (e *Envelope) Delete(act ActionContext) (blobKeys []string, err error) {
	if err := e.check(ActionDelete); err != nil {
		return nil, err
	}
	for _, d := range e.Documents {
		blobKeys = append(blobKeys, d.BlobKeys()...)
	}
	e.transition(ActionDelete)
	e.Signers, e.Copies, e.Fields, e.Documents = nil, nil, nil, nil
	e.Subject, e.Message, e.ExternalID, e.Metadata, e.Labels, e.HashOriginal = nil, nil, nil, nil, nil, nil
	e.record(act, EventEnvelopeDeleted, uuid.Nil, nil)
	return blobKeys, nil
}

// edited records the editor of the draft. The audit trail contains no events for individual edits, because sending
// records their combined result.
func (e *Envelope) edited(act ActionContext) {
	if !slices.Contains(e.Editors, act.Actor) {
		e.Editors = append(slices.Clone(e.Editors), act.Actor)
	}
}

// recordPreparation records the editors of an edited draft and the digest of its fields, before the draft is sent.
func (e *Envelope) recordPreparation(act ActionContext) error {
	if len(e.Editors) == 0 {
		return nil
	}
	sum, err := e.FieldsDigest()
	if err != nil {
		return err
	}
	e.record(act, EventDraftPrepared, uuid.Nil, Detail{
		"editors": slices.Clone(e.Editors), "fieldsSha256": sum,
		"counts": map[string]any{"documents": len(e.Originals()), "signers": len(e.Recipients()), "fields": len(e.Fields)},
	})
	return nil
}

// FieldsDigest returns the SHA-256 hash, in lowercase hexadecimal, of the RFC 8785 canonical JSON of the list of
// fields. Each entry contains the ID, document, signer, type, page and position, and whether the field is required. If
// the envelope uses properties that the original API does not support, each entry also contains the name, default
// value and attributes.
func (e *Envelope) FieldsDigest() (string, error) {
	list := make([]map[string]any, 0, len(e.Fields))
	for _, f := range e.Fields {
		members := map[string]any{
			"id": f.ID, "documentId": f.DocumentID, "signerId": f.SignerID, "type": f.Type, "page": f.Page,
			"x": f.X, "y": f.Y, "w": f.W, "h": f.H, "required": f.Required,
		}
		if e.Extended() {
			members["name"], members["defaultValue"], members["attributes"] = f.Name, f.DefaultValue, f.Attributes
		}
		list = append(list, members)
	}
	b, err := canonicalJSON(list)
	if err != nil {
		return "", fmt.Errorf("compute digest of fields: %w", err)
	}
	return hexDigest(b), nil
}

func checkSubject(p Problems, subject *string) {
	CheckText(p, "subject", Deref(subject, ""), 0, 255)
}

func checkMessage(p Problems, message *string) {
	CheckParagraph(p, "message", Deref(message, ""), 0, 2000)
}

func checkExternalID(p Problems, id *string) {
	if id != nil {
		CheckText(p, "externalId", *id, 1, MaxExternalID)
	}
}

func checkExpiresInDays(p Problems, days *int) {
	if days != nil && (*days < 1 || *days > 3650) {
		p.Add("expiresInDays", "must be between 1 and 3650, or null for no deadline")
	}
}

func checkReminderHours(p Problems, hours *int) {
	if hours != nil && (*hours < 0 || *hours > 24*365) {
		p.Add("reminderHours", "must be between 0 (no reminders) and %d, or null for the tenant's default", 24*365)
	}
}

func checkMetadata(p Problems, metadata map[string]string) {
	if len(metadata) > maxMetadata {
		p.Add("metadata", "must have at most %d members", maxMetadata)
		return
	}
	for name, value := range metadata {
		if name == "" || utf8.RuneCountInString(name) > maxMetadataLength {
			p.Add("metadata", "must have names of 1 to %d characters", maxMetadataLength)
			continue
		}
		CheckText(p, "metadata", name, 1, maxMetadataLength)
		CheckParagraph(p, "metadata", value, 0, maxMetadataLength)
	}
}
