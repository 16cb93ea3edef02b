package verify

import (
	"bytes"
	"context"
	"crypto/ecdsa"

	"countersign/seal/manifest"
)

// OpenedRecord is a seal.json that has been read.
type OpenedRecord struct {
	raw      []byte
	manifest manifest.Manifest
	kid      string
	key      *ecdsa.PublicKey
	err      error // what is wrong with the record
	chain    error // what is wrong with its audit chain
}

// OpenRecord reads a seal.json and checks its signature and its audit chain.
func OpenRecord(raw []byte) *OpenedRecord {
	r := &OpenedRecord{raw: raw}
	if r.manifest, r.kid, r.key, r.err = manifest.Open(raw); r.err == nil {
		r.chain = manifest.CheckChain(r.manifest.Audit.Events, r.manifest.Audit.Head, r.manifest.Envelope.ID)
	}
	return r
}

// of returns the record with these bytes: r if that is it.
func (r *OpenedRecord) of(raw []byte) *OpenedRecord {
	if r != nil && bytes.Equal(r.raw, raw) {
		return r
	}
	return OpenRecord(raw)
}

// checkRecord compares the record with itself, with its audit chain, and with
// the file that it is in.
func (e *examiner) checkRecord(context.Context) error {
	if e.record == nil {
		e.add("audit_chain.missing", nil)
		return nil
	}
	m := &e.record.manifest
	if err := e.record.chain; err != nil {
		e.add("audit_chain.broken", values{"reason": err})
		return nil
	}
	e.add("audit_chain.complete", values{"events": len(m.Audit.Events), "head": m.Audit.Head})
	if err := m.Check(); err != nil {
		e.add("manifest.contradiction", values{"reason": err})
	}
	return nil
}
