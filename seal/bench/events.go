package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gowebpki/jcs"
)

// events returns an audit chain of n events and its head.
func events(n int) (raw []json.RawMessage, head string) {
	head = strings.Repeat("0", 64)
	for i := range n {
		e := map[string]any{
			"id": fmt.Sprint(i), "envelopeId": "3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11", "seq": i + 1, "event": "signer.viewed",
			"timestamp": "2026-11-21T07:00:00.000000Z", "actor": "signer:signer-0", "ip": "203.0.113.7", "userAgent": nil, "detail": nil, "prevHash": head,
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
