package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gowebpki/jcs"
)

// events returns an audit chain of n events, for a document signed by two signers, and the chain's head.
func events(n int, hash string, signed time.Time) (raw []json.RawMessage, head string) {
	head = strings.Repeat("0", 64)
	for i := range n {
		e := map[string]any{
			"id": fmt.Sprint(i), "envelopeId": "3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11", "seq": i + 1, "event": "signer.viewed",
			"timestamp": "2026-11-21T07:00:00.000000Z", "actor": "signer:signer-0", "ip": "203.0.113.7", "userAgent": nil, "detail": nil, "prevHash": head,
		}
		stamp := signed.Format("2006-01-02T15:04:05.000000Z")
		switch i {
		case 0:
			e["event"] = "envelope.created"
		case 1:
			e["event"], e["detail"] = "document.added", map[string]any{"documentId": "d", "sha256": hash, "order": 1}
		case n - 2:
			e["event"], e["timestamp"] = "signer.signed", stamp
		case n - 1:
			e["event"], e["timestamp"], e["actor"] = "signer.signed", stamp, "signer:signer-1"
		}
		sum := sha256.Sum256(canonical(e))
		head = hex.EncodeToString(sum[:])
		e["hash"] = head
		raw = append(raw, canonical(e))
	}
	return raw, head
}

func canonical(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if b, err = jcs.Transform(b); err != nil {
		panic(err)
	}
	return b
}
