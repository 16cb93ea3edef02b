package seal

import (
	"bytes"
	"crypto/ecdsa"
)

// record is a seal.json that has been read.
type record struct {
	raw      []byte
	manifest Manifest
	kid      string
	key      *ecdsa.PublicKey
	err      error // what is wrong with the record
	chain    error // what is wrong with its audit chain
}

func readRecord(raw []byte) *record {
	r := &record{raw: raw}
	if r.manifest, r.kid, r.key, r.err = openManifest(raw); r.err == nil {
		r.chain = verifyChain(r.manifest.Audit.Events, r.manifest.Audit.Head, r.manifest.Envelope.ID)
	}
	return r
}

// of returns the record with these bytes: r if that is it.
func (r *record) of(raw []byte) *record {
	if r != nil && bytes.Equal(r.raw, raw) {
		return r
	}
	return readRecord(raw)
}
