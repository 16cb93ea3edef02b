package seal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal/manifest"
	"countersign/test/kit/sealkit"
)

// TestCertificateNamesPreviousSigners checks that the certificate and the record contain both persons with their
// actions, and that verification succeeds.
func TestCertificateNamesPreviousSigners(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	j := sealkit.WithPrevious(t, sealkit.Job(t, sealkit.SimplePDF(1)), 0, "on leave until May", "Grace Hopper", "Edith Clarke")
	file, b := sealkit.Sealed(t, k.Sealer(t), j)
	out, err := sealkit.Run(t, "pdftotext", "-layout", "-f", "2", file, "-")
	require.NoError(t, err)
	assert.Regexp(t, `Previously +Grace Hopper \(grace@before\.example\.org\), until 2026-11-21 06:00:00 UTC\n +Reason: on leave until May`, out)
	assert.Regexp(t, `Previously +Edith Clarke \(edith@before\.example\.org\), until`, out)
	assert.Regexp(t, `Signing link opened +Grace Hopper`, out)
	assert.Regexp(t, `Signer replaced: Edith Clarke +Sending application`, out)
	assert.Regexp(t, `Signing link opened +Edith Clarke`, out)
	assert.Regexp(t, `Signing delegated: Ada Lovelace +Edith Clarke`, out)
	assert.Regexp(t, `Signing link opened +Ada Lovelace`, out)
	assert.NotRegexp(t, `\d\d:\d\d:\d\d +Signed +(Grace|Edith)`, out)

	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.Equal(t, j.Signers[0].Previous, r.Record.Signers[0].Previous)
	require.Empty(t, r.Record.Signers[1].Previous)
}

// TestCertificateOfManyPreviousSigners checks that the list of previous signers continues on further pages. The list
// has the maximum number of signers, each with a reason of maximum length.
func TestCertificateOfManyPreviousSigners(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("Person%d of the legal department", i))
	}
	j := sealkit.WithPrevious(t, sealkit.Job(t, sealkit.SimplePDF(1)), 1, strings.Repeat("because it is so ", 60), names...)
	file, _ := sealkit.Sealed(t, sealkit.NewFixture(t).Sealer(t), j)
	pages, _ := certificateWords(t, file, 1)
	require.Greater(t, len(pages), 4)
	seen := 0
	for _, words := range pages {
		for _, w := range words {
			assert.Less(t, w.top, 842-20.0, w.text)
			if strings.Contains(w.text, "@before.example.org") {
				seen++
			}
		}
	}
	require.Equal(t, 20, seen)
}

// TestRecordOfPreviousSignersAgreesWithTheChain checks that the number, order and times of previous signers must match
// the chain. A record without previous signers is accepted, because old records do not list them.
func TestRecordOfPreviousSignersAgreesWithTheChain(t *testing.T) {
	t.Parallel()
	sound := func() manifest.Manifest {
		m := sealkit.Record(t)
		m.Signers[1].Previous = []manifest.PreviousSigner{{Name: "One", Email: "1@example.org", Until: sealkit.Now}, {Name: "Two", Email: "2@example.org", Until: sealkit.Now.Add(time.Second)}}
		m.Audit.Events, m.Audit.Head = sealkit.Chain(t, append(sealkit.PlainEvents(t, m.Audit.Events),
			map[string]any{"event": "signer.replaced", "actor": "app:x", "timestamp": sealkit.Now, "detail": map[string]any{"signerId": "b", "person": 2}},
			map[string]any{"event": "signer.delegated", "actor": "signer:b", "timestamp": sealkit.Now.Add(time.Second), "detail": map[string]any{"signerId": "b", "person": 3}},
		)...)
		return m
	}
	m := sound()
	require.NoError(t, m.Check())
	for name, change := range map[string]func(m *manifest.Manifest){
		"one less":        func(m *manifest.Manifest) { m.Signers[1].Previous = m.Signers[1].Previous[:1] },
		"of another":      func(m *manifest.Manifest) { m.Signers[0].Previous = m.Signers[1].Previous },
		"another time":    func(m *manifest.Manifest) { m.Signers[1].Previous[1].Until = sealkit.Now },
		"in another turn": func(m *manifest.Manifest) { p := m.Signers[1].Previous; p[0], p[1] = p[1], p[0] },
		"another number": func(m *manifest.Manifest) {
			m.Audit.Events[5] = json.RawMessage(strings.Replace(string(m.Audit.Events[5]), `"person":3`, `"person":2`, 1))
		},
	} {
		m := sound()
		change(&m)
		require.ErrorContains(t, m.Check(), "signer", name)
	}
	m = sound()
	m.Signers[1].Previous = nil
	require.NoError(t, m.Check())
}
