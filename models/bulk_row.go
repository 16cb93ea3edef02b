package models

import (
	"encoding/json"
	"fmt"
)

// BulkRowData is what the envelope of a row is made from, beside the template.
type BulkRowData struct {
	Signers   []SignerInput
	Values    map[string]string `json:",omitempty"`
	Variables map[string]string `json:",omitempty"`
	// DefaultExpiryDays is the tenant's when the bulk send was accepted, for a template that says nothing.
	DefaultExpiryDays *int `json:",omitempty"`
}

// SetData keeps what the envelope is made from.
func (r *BulkRow) SetData(d BulkRowData) error {
	b, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("write row %d: %w", r.Row, err)
	}
	r.Data = string(b)
	return nil
}

// Envelope makes the envelope of a row from the template's version, and sends it. It is
// not stored yet.
func (b *BulkSend) Envelope(act ActionContext, of *LoadedTemplate, r *BulkRow, maxDocuments int) (*Envelope, error) {
	var d BulkRowData
	if err := json.Unmarshal([]byte(r.Data), &d); err != nil {
		return nil, fmt.Errorf("read row %d: %w", r.Row, err)
	}
	e, err := of.NewEnvelope(act, TemplateUse{
		TenantID: b.TenantID, CreatedBy: b.CreatedBy, ExternalID: r.ExternalID, DefaultExpiryDays: d.DefaultExpiryDays,
		Signers: d.Signers, Values: d.Values, Variables: d.Variables,
	}, maxDocuments)
	if err != nil {
		return nil, err
	}
	if err := e.Send(act, nil); err != nil {
		return nil, err
	}
	return e, nil
}
