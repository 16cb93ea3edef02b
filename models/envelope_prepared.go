package models

import (
	"slices"

	"github.com/google/uuid"
)

// PreparedChange describes a kind of removed content, with the number of occurrences.
type PreparedChange struct {
	Kind   string `json:"kind"`
	Page   int    `json:"page,omitempty"` // starts at 1; 0 if not on a page
	Count  int    `json:"count"`
	Detail string `json:"detail,omitempty"`
}

// IsPrepared reports whether recipients read a prepared file instead of the uploaded one.
func (d *Document) IsPrepared() bool { return d.PreparedSHA256 != "" }

// Presented returns the document with the file that recipients read, which is the prepared file if there is one.
func (d *Document) Presented() *Document {
	if !d.IsPrepared() {
		return d
	}
	shown := *d
	shown.SHA256, shown.Size, shown.BlobKey, shown.Encrypted = d.PreparedSHA256, d.PreparedSize, d.PreparedKey, d.PreparedEncrypted
	return &shown
}

// BlobKeys returns the storage keys of the document's files.
func (d *Document) BlobKeys() []string {
	if d.PreparedKey == "" {
		return []string{d.BlobKey}
	}
	return []string{d.BlobKey, d.PreparedKey}
}

func (e *Envelope) recordPrepared(act ActionContext, d *Document) {
	shown, changes := d.Presented(), []any{}
	for _, c := range d.PreparedChanges {
		change := map[string]any{"kind": c.Kind, "count": c.Count}
		if c.Page > 0 {
			change["page"] = c.Page
		}
		if c.Detail != "" {
			change["detail"] = c.Detail
		}
		changes = append(changes, change)
	}
	e.record(act, EventDocumentPrepared, uuid.Nil, Detail{
		"documentId": d.ID.String(), "sha256": shown.SHA256, "size": shown.Size, "changes": changes,
	})
}

// Prepare replaces the prepared file of an original in a draft with the one in the input, if any. It also replaces the
// previously detected fields with newly detected ones.
func (e *Envelope) Prepare(act ActionContext, id uuid.UUID, in DocumentInput, found func(*Document) ([]FieldInput, error), path func(int) string) (*Document, error) {
	if err := e.check(ActionEditDocument); err != nil {
		return nil, err
	}
	d := e.Document(id)
	if d == nil || d.Kind != DocumentOriginal {
		return nil, ErrNotFound
	}
	if d.SHA256 != in.SHA256 {
		return nil, Reject(KindConflict, "document_changed", "The document has been replaced. Reload it and try again.")
	}
	fields, err := found(d)
	if err != nil {
		return nil, err
	}
	d.PreparedSHA256, d.PreparedSize, d.PreparedKey, d.PreparedEncrypted = in.PreparedSHA256, in.PreparedSize, in.PreparedKey, in.PreparedEncrypted
	d.PreparedChanges, d.Preparation, d.SealFacts, d.Notes = in.PreparedChanges, in.Preparation, in.SealFacts, in.Warnings
	before := len(e.Fields)
	e.Fields = slices.DeleteFunc(e.Fields, func(f *Field) bool { return f.DocumentID == d.ID && f.Source != SourceRequest })
	if len(e.Fields) < before {
		e.edited(act)
	}
	e.recordPrepared(act, d)
	if len(fields) > 0 {
		if _, err := e.AddFields(act, fields, path); err != nil {
			return nil, err
		}
	}
	return d, nil
}
