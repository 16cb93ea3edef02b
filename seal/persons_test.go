package seal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/manifest"
)

// withPrevious gives a signer predecessors, the first ones until the signer opened the link, with the events that
// record them.
func withPrevious(t *testing.T, j seal.Job, signer int, reason string, names ...string) seal.Job {
	t.Helper()
	s := j.Signers[signer]
	var events []map[string]any
	for _, raw := range j.Events {
		var e map[string]any
		require.NoError(t, json.Unmarshal(raw, &e))
		delete(e, "hash")
		if e["event"] == "signer.viewed" && e["actor"] == "signer:"+s.ID {
			at := e["timestamp"]
			until, err := time.Parse(time.RFC3339Nano, at.(string))
			require.NoError(t, err)
			for i, name := range names {
				was := seal.PreviousSigner{Name: name, Email: strings.ToLower(strings.Fields(name)[0]) + "@before.example.org", Until: until, Reason: reason}
				s.Previous = append(s.Previous, was)
				by, event := "app:demo", "signer.replaced"
				if i%2 == 1 {
					by, event = "signer:"+s.ID, "signer.delegated"
				}
				events = append(events, map[string]any{"event": "signer.viewed", "actor": "signer:" + s.ID, "timestamp": at}, map[string]any{
					"event": event, "actor": by, "timestamp": at, "detail": map[string]any{"signerId": s.ID, "person": i + 2},
				})
			}
		}
		events = append(events, e)
	}
	j.Signers = append([]seal.Signer{}, j.Signers...)
	j.Signers[signer] = s
	j.Events, j.ChainHead = chain(t, events...)
	return j
}

// TestCertificateNamesPreviousSigners: both persons are on the certificate and in the record, each with their acts,
// and verification succeeds.
func TestCertificateNamesPreviousSigners(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	j := withPrevious(t, job(t, simplePDF(1)), 0, "on leave until May", "Grace Hopper", "Edith Clarke")
	file, b := sealed(t, k.sealer(t), j)
	out, err := run(t, "pdftotext", "-layout", "-f", "2", file, "-")
	require.NoError(t, err)
	assert.Regexp(t, `Previously +Grace Hopper \(grace@before\.example\.org\), until 2026-11-21 06:00:00 UTC\n +Reason: on leave until May`, out)
	assert.Regexp(t, `Previously +Edith Clarke \(edith@before\.example\.org\), until`, out)
	assert.Regexp(t, `Signing link opened +Grace Hopper`, out)
	assert.Regexp(t, `Another person named to sign: Edith Clarke +Sending application`, out)
	assert.Regexp(t, `Signing link opened +Edith Clarke`, out)
	assert.Regexp(t, `Handed over to another person: Ada Lovelace +Edith Clarke`, out)
	assert.Regexp(t, `Signing link opened +Ada Lovelace`, out)
	assert.NotRegexp(t, `\d\d:\d\d:\d\d +Signed +(Grace|Edith)`, out)

	r := verified(t, b, k.trust())
	require.True(t, r.OK(), textOf(t, r))
	require.Equal(t, j.Signers[0].Previous, r.Record.Signers[0].Previous)
	require.Empty(t, r.Record.Signers[1].Previous)
}

// TestCertificateOfManyPreviousSigners: the maximum number of persons, with reasons of maximum length, flows over the
// pages.
func TestCertificateOfManyPreviousSigners(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("Person%d of the legal department", i))
	}
	j := withPrevious(t, job(t, simplePDF(1)), 1, strings.Repeat("because it is so ", 60), names...)
	file, _ := sealed(t, newSealerFixture(t).sealer(t), j)
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

// TestRecordOfPreviousSignersAgreesWithTheChain: how many there were, in which order and
// until when; a record that names none is one of before they were recorded.
func TestRecordOfPreviousSignersAgreesWithTheChain(t *testing.T) {
	t.Parallel()
	sound := func() manifest.Manifest {
		m := record(t)
		m.Signers[1].Previous = []manifest.PreviousSigner{{Name: "One", Email: "1@example.org", Until: now}, {Name: "Two", Email: "2@example.org", Until: now.Add(time.Second)}}
		m.Audit.Events, m.Audit.Head = chain(t, append(plainEvents(t, m.Audit.Events),
			map[string]any{"event": "signer.replaced", "actor": "app:x", "timestamp": now, "detail": map[string]any{"signerId": "b", "person": 2}},
			map[string]any{"event": "signer.delegated", "actor": "signer:b", "timestamp": now.Add(time.Second), "detail": map[string]any{"signerId": "b", "person": 3}},
		)...)
		return m
	}
	m := sound()
	require.NoError(t, m.Check())
	for name, change := range map[string]func(m *manifest.Manifest){
		"one less":        func(m *manifest.Manifest) { m.Signers[1].Previous = m.Signers[1].Previous[:1] },
		"of another":      func(m *manifest.Manifest) { m.Signers[0].Previous = m.Signers[1].Previous },
		"another time":    func(m *manifest.Manifest) { m.Signers[1].Previous[1].Until = now },
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

// plainEvents returns the events of a chain without hashes, to build a new chain.
func plainEvents(t *testing.T, raw []json.RawMessage) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, r := range raw {
		var e map[string]any
		require.NoError(t, json.Unmarshal(r, &e))
		delete(e, "hash")
		out = append(out, e)
	}
	return out
}
