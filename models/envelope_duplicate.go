package models

import "github.com/google/uuid"

// Duplicate returns a new draft with the documents, recipients and fields of the envelope, so that the sender can send
// it again. The external ID and the values entered by signers are not copied. maxDocuments is the limit set by the
// app's plan.
func (e *Envelope) Duplicate(act ActionContext, createdBy string, maxDocuments int) (*Envelope, error) {
	if e.Purged() {
		return nil, ErrPurged
	}
	own, err := NewEnvelope(act, Envelope{
		AppID: e.AppID, TenantID: e.TenantID, CreatedBy: createdBy, Subject: e.Subject, Message: e.Message, ExpiresInDays: e.ExpiresInDays,
		ReminderHours: e.ReminderHours, Metadata: e.Metadata, Labels: e.Labels, FieldOrigin: e.FieldOrigin,
	})
	if err != nil {
		return nil, err
	}
	signers, documents := make(map[uuid.UUID]*Signer), make(map[uuid.UUID]uuid.UUID)
	for _, s := range e.Recipients() {
		if signers[s.ID], err = own.AddSigner(act, s.input()); err != nil {
			return nil, err
		}
	}
	for _, d := range e.Originals() {
		copied, err := own.AddDocument(act, d.sharedInput(), maxDocuments)
		if err != nil {
			return nil, err
		}
		documents[d.ID] = copied.ID
	}
	fields := make([]FieldInput, 0, len(e.Fields))
	for _, f := range e.Fields {
		in := TemplateField{Field: *f}.input()
		in.SignerRef = signers[f.SignerID].ID.String()
		if in.DocumentID = nil; documents[f.DocumentID] != uuid.Nil { // otherwise, use the first document
			in.DocumentID = new(documents[f.DocumentID])
		}
		fields = append(fields, in)
	}
	_, err = own.AddFields(act, fields, IndexedPath)
	return own, err
}

// sharedInput returns the input for a document in another envelope that uses the same files. They are not examined
// again.
func (d *Document) sharedInput() DocumentInput {
	in := DocumentInput{Document: *d, Warnings: d.Notes}
	in.Shared, in.OriginalID, in.RetentionUntil = true, nil, nil
	return in
}
