package sealing_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/manifest"
	"countersign/test/kit/sealkit"
)

// TestRecord_Contradictions_AreReported checks that each contradiction within a record is reported.
func TestRecord_Contradictions_AreReported(t *testing.T) {
	t.Parallel()
	good := sealkit.Record(t)
	require.NoError(t, good.Check())
	event := func(m *manifest.Manifest, i int, was, is string) {
		m.Audit.Events[i] = json.RawMessage(strings.Replace(string(m.Audit.Events[i]), was, is, 1))
	}
	for name, tt := range map[string]struct {
		change func(m *manifest.Manifest)
		says   string // expected error, or empty if the record is valid
	}{
		"another version":              {func(m *manifest.Manifest) { m.Version = 2 }, "version 2"},
		"no envelope":                  {func(m *manifest.Manifest) { m.Envelope.ID = "" }, "does not name the envelope"},
		"no document":                  {func(m *manifest.Manifest) { m.Document = "" }, "or the document"},
		"no time":                      {func(m *manifest.Manifest) { m.SealedAt = time.Time{} }, "time of sealing"},
		"a certificate before page 1":  {func(m *manifest.Manifest) { m.CertificatePage = 0 }, "page numbers"},
		"a certificate behind the end": {func(m *manifest.Manifest) { m.Pages = 3 }, "page numbers"},
		"a longer certificate":         {func(m *manifest.Manifest) { m.Pages = 9 }, ""},
		"fewer pages":                  {func(m *manifest.Manifest) { m.CertificatePage = 3 }, "number of pages"},
		"a number too many":            {func(m *manifest.Manifest) { m.All[1].Order = 3 }, "document 2 has number 3"},
		"another hash":                 {func(m *manifest.Manifest) { m.Original.SHA256 = "x" }, "hash of the original"},
		"not among the documents":      {func(m *manifest.Manifest) { m.Document = "d3" }, "listed 0 times"},
		"twice among them":             {func(m *manifest.Manifest) { m.All[1] = m.All[0]; m.All[1].Order = 2 }, "listed 2 times"},
		"another hash of all":          {func(m *manifest.Manifest) { m.Envelope.OriginalHash = m.All[0].SHA256 }, "hash of all"},
		"an event that is none":        {func(m *manifest.Manifest) { m.Audit.Events[3] = json.RawMessage("[]") }, "event 4"},
		"another id added":             {func(m *manifest.Manifest) { event(m, 1, "d1", "d9") }, "document 1 differs"},
		"another hash added":           {func(m *manifest.Manifest) { event(m, 1, "1111", "1112") }, "document 1 differs"},
		"another number added":         {func(m *manifest.Manifest) { event(m, 2, `"order":2`, `"order":1`) }, "document 2 differs"},
		"one more was added":           {func(m *manifest.Manifest) { m.Audit.Events = append(m.Audit.Events, m.Audit.Events[2]) }, "more documents"},
		"one less was added":           {func(m *manifest.Manifest) { m.Audit.Events = m.Audit.Events[:2] }, "adds 1 documents, but the record lists 2"},
		"signed by nobody":             {func(m *manifest.Manifest) { event(m, 3, "signer:a", "app:a") }, "without a signer"},
		"signed twice":                 {func(m *manifest.Manifest) { m.Audit.Events = append(m.Audit.Events, m.Audit.Events[3]) }, "second signature of a signer"},
		"signed at another time":       {func(m *manifest.Manifest) { at := sealkit.Now; m.Signers[0].SignedAt = &at }, "signing time of signer a"},
		"signed without an event":      {func(m *manifest.Manifest) { at := sealkit.Now; m.Signers[1].SignedAt = &at }, "signing time of signer b"},
		"an event without a signature": {func(m *manifest.Manifest) { m.Signers[0].SignedAt = nil }, "signing time of signer a"},
		"not among the signers":        {func(m *manifest.Manifest) { m.Signers = m.Signers[1:] }, "not listed as a signer"},
		"another zone": {func(m *manifest.Manifest) {
			at := m.Signers[0].SignedAt.In(time.FixedZone("", 3600))
			m.Signers[0].SignedAt = &at
		}, ""},
	} {
		m := sealkit.Record(t)
		tt.change(&m)
		err := m.Check()
		if tt.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, tt.says, name)
	}
	alone := sealkit.Record(t)
	alone.All, alone.Audit.Events = alone.All[:1], append(alone.Audit.Events[:2:2], alone.Audit.Events[3])
	alone.Envelope.OriginalHash = alone.All[0].SHA256
	require.NoError(t, alone.Check(), "for one document, the hash of all originals equals its own")
}

// TestChecksOfTheChain checks that events form a valid chain only if they belong to one completed envelope and are in
// order.
func TestChecksOfTheChain(t *testing.T) {
	t.Parallel()
	m := sealkit.Record(t)
	events := m.Audit.Events
	require.NoError(t, manifest.CheckChain(events, m.Audit.Head, sealkit.EnvelopeID))
	made := func(all ...map[string]any) ([]json.RawMessage, string) { return sealkit.Chain(t, all...) }
	created, signed := map[string]any{"event": "envelope.created"}, map[string]any{"event": "signer.signed"}
	unsigned, head := made(created)
	require.ErrorContains(t, manifest.CheckChain(unsigned, head, sealkit.EnvelopeID), "the 1 events of the chain do not complete")
	later, head := made(signed)
	require.ErrorContains(t, manifest.CheckChain(later, head, sealkit.EnvelopeID), "does not begin with")
	require.ErrorContains(t, manifest.CheckChain(events, strings.Repeat("0", 64), sealkit.EnvelopeID), "the last hash of the chain differs")
	require.ErrorContains(t, manifest.CheckChain(events, m.Audit.Head, "other"), "event 1 belongs to another envelope")
	require.ErrorContains(t, manifest.CheckChain(events[1:], m.Audit.Head, sealkit.EnvelopeID), "event 1 has number 2")
	require.ErrorContains(t, manifest.CheckChain(nil, strings.Repeat("0", 64), sealkit.EnvelopeID), "the 0 events of the chain")
	for i, change := range []struct{ was, is, says string }{
		{"app:x", "app:y", "event 1 was modified"},
		{`"prevHash":"`, `"prevHash":"0`, "event 2 does not continue"},
		{`"seq":3`, `"seq":4`, "event 3 has number 4"},
		{`{`, `[{`, "event 4 cannot be read"},
	} {
		changed := append([]json.RawMessage{}, events...)
		changed[i] = json.RawMessage(strings.Replace(string(events[i]), change.was, change.is, 1))
		require.ErrorContains(t, manifest.CheckChain(changed, m.Audit.Head, sealkit.EnvelopeID), change.says)
	}
}

// TestRecord_OtherFormat_IsRejected checks that a record is accepted only in the format that Sign writes, and only
// with a matching key.
func TestRecord_OtherFormat_IsRejected(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	m := sealkit.Record(t)
	b, err := manifest.Sign(m, key, "k1", rand.Reader)
	require.NoError(t, err)
	got, kid, pub, err := manifest.Open(b)
	require.NoError(t, err)
	require.Equal(t, "k1", kid)
	require.True(t, key.PublicKey.Equal(pub))
	require.Equal(t, m.Envelope, got.Envelope)

	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	_, err = manifest.Sign(m, p384, "k1", rand.Reader)
	require.ErrorContains(t, err, "P-256")

	b64 := base64.RawURLEncoding
	// resigned signs a header and a payload that Sign would not write.
	resigned := func(header, payload string) []byte {
		protected, body := b64.EncodeToString([]byte(header)), b64.EncodeToString([]byte(payload))
		sum := sha256.Sum256([]byte(protected + "." + body))
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		require.NoError(t, err)
		sig := make([]byte, 64)
		r.FillBytes(sig[:32])
		s.FillBytes(sig[32:])
		out, err := json.MarshalIndent(map[string]string{"payload": body, "protected": protected, "signature": b64.EncodeToString(sig)}, "", "  ")
		require.NoError(t, err)
		return out
	}
	var parts map[string]string
	require.NoError(t, json.Unmarshal(b, &parts))
	rawHeader, err := b64.DecodeString(parts["protected"])
	require.NoError(t, err)
	rawPayload, err := b64.DecodeString(parts["payload"])
	require.NoError(t, err)
	header, payload := string(rawHeader), string(rawPayload)
	_, _, _, err = manifest.Open(resigned(header, payload))
	require.NoError(t, err)
	for name, was := range map[string][2]string{
		"algorithm": {"ES256", "ES384"}, "type": {"countersign-seal+json", "JWT"}, "key's type": {`"kty":"EC"`, `"kty":"RSA"`}, "curve": {"P-256", "P-521"},
		"no key": {`"jwk"`, `"jwx"`}, "x": {`"x":"`, `"x":"AAAA`}, "y": {`"y":"`, `"y":"AAAA`}, "x that is none": {`"x":"`, `"x":"!`}, "y that is none": {`"y":"`, `"y":"!`},
		"a point that is none": {`"x":"`, `"x":"` + strings.Repeat("A", 43) + `","X":"`}, "a member more": {`{"alg"`, `{"more":1,"alg"`}, "a blank more": {`{"alg"`, `{ "alg"`},
	} {
		require.Contains(t, header, was[0], name)
		_, _, _, err := manifest.Open(resigned(strings.Replace(header, was[0], was[1], 1), payload))
		require.ErrorIs(t, err, manifest.ErrMalformed, name)
	}
	for name, was := range map[string][2]string{
		"type": {`"type":"countersign-seal"`, `"type":"other"`}, "a member more": {`{"type"`, `{"more":1,"type"`}, "a blank more": {`{"type"`, `{ "type"`}, "no object": {`{"type"`, `["type"`},
	} {
		require.Contains(t, payload, was[0], name)
		_, _, _, err := manifest.Open(resigned(header, strings.Replace(payload, was[0], was[1], 1)))
		require.ErrorIs(t, err, manifest.ErrMalformed, name)
	}
	for name, bad := range map[string][]byte{
		"nothing": nil, "no object": []byte("[]"), "a byte more": append(bytes.Clone(b), '\n'), "compact": []byte(strings.Join(strings.Fields(string(b)), "")),
		"no base64":            bytes.Replace(b, []byte(`"payload": "`), []byte(`"payload": "!`), 1),
		"a header of another":  bytes.Replace(b, []byte(`"protected": "`), []byte(`"protected": "!`), 1),
		"a signature of bytes": bytes.Replace(b, []byte(`"signature": "`), []byte(`"signature": "!`), 1),
		"a longer signature":   bytes.Replace(b, []byte(`"signature": "`), []byte(`"signature": "AAAA`), 1),
		"a member more":        bytes.Replace(b, []byte("{\n"), []byte("{\n  \"x\": 1,\n"), 1),
	} {
		_, _, _, err := manifest.Open(bad)
		require.ErrorIs(t, err, manifest.ErrMalformed, name)
	}
	wrong := fmt.Sprintf(`"signature": "%s"`, b64.EncodeToString(make([]byte, 64)))
	forged := bytes.Replace(b, []byte(`"signature": "`+parts["signature"]+`"`), []byte(wrong), 1)
	_, _, _, err = manifest.Open(forged)
	require.ErrorContains(t, err, "signature is wrong")
}
