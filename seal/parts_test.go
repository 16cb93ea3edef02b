package seal_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/manifest"
)

// withParts gives signers their parts, in the record and in the events of their signatures.
func withParts(t *testing.T, j seal.Job, parts ...seal.Part) seal.Job {
	t.Helper()
	j.Signers = append([]seal.Signer{}, j.Signers...)
	var events []map[string]any
	for _, raw := range j.Events {
		var e map[string]any
		require.NoError(t, json.Unmarshal(raw, &e))
		delete(e, "hash")
		for i, p := range parts {
			if j.Signers[i].Part = p; e["event"] == "signer.signed" && e["actor"] == "signer:"+j.Signers[i].ID {
				e["detail"] = partDetail(p)
			}
		}
		events = append(events, e)
	}
	j.Events, j.ChainHead = chain(t, events...)
	return j
}

func partDetail(p seal.Part) map[string]any {
	d := map[string]any{}
	if p.Kind != "" {
		d["kind"] = p.Kind
	}
	if p.WitnessFor != "" {
		d["witnessFor"] = p.WitnessFor
	}
	return d
}

var hosted = seal.Part{Kind: "in_person", Host: &seal.Host{Name: "Hal Abelson", Email: "hal@host.example.org"}}

// TestCertificateNamesParts: host, witness, approver and viewer are on the certificate
// and in the record, and verification finds nothing wrong.
func TestCertificateNamesParts(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	for _, c := range []struct {
		parts []seal.Part
		says  []string
	}{
		{[]seal.Part{hosted, {WitnessFor: adaID}}, []string{`Role +Signed in person, on a device handed over by Hal Abelson\s+\(hal@host\.example\.org\)`, `Role +Witness of the signature of Ada Lovelace`}},
		{[]seal.Part{{Kind: "approver"}, {Kind: "viewer"}}, []string{`Role +Approver`, `Role +Viewer: opened every document`}},
	} {
		file, b := sealed(t, k.sealer(t), withParts(t, job(t, simplePDF(1)), c.parts...))
		out, err := run(t, "pdftotext", "-layout", "-f", "2", file, "-")
		require.NoError(t, err)
		for _, says := range c.says {
			assert.Regexp(t, says, out)
		}
		r := verified(t, b, k.trust())
		require.True(t, r.OK(), textOf(t, r))
		for i, p := range c.parts {
			require.Equal(t, p, r.Record.Signers[i].Part)
		}
	}
}

// TestRecordOfPartsAgreesWithTheChain: nobody's part is other than what the signature
// was recorded with, and a witness signed after whom they witnessed.
func TestRecordOfPartsAgreesWithTheChain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signed, record []seal.Part // of a, who signs first, and of b
		says           string
	}{
		"nothing":               {[]seal.Part{{}, {}}, []seal.Part{{}, {}}, ""},
		"as it was":             {[]seal.Part{hosted, {WitnessFor: "a"}}, []seal.Part{hosted, {WitnessFor: "a"}}, ""},
		"another kind":          {[]seal.Part{{Kind: "viewer"}, {}}, []seal.Part{{Kind: "approver"}, {}}, "part signer a"},
		"a kind left out":       {[]seal.Part{{Kind: "viewer"}, {}}, []seal.Part{{}, {}}, "part signer a"},
		"a kind of one's own":   {[]seal.Part{{}, {}}, []seal.Part{{}, {Kind: "approver"}}, "part signer b"},
		"a witness left out":    {[]seal.Part{{}, {WitnessFor: "a"}}, []seal.Part{{}, {}}, "part signer b"},
		"a witness too early":   {[]seal.Part{{WitnessFor: "b"}, {}}, []seal.Part{{WitnessFor: "b"}, {}}, "signer a is a witness of nobody"},
		"a witness of nobody":   {[]seal.Part{{}, {WitnessFor: "c"}}, []seal.Part{{}, {WitnessFor: "c"}}, "signer b is a witness of nobody"},
		"a witness of themself": {[]seal.Part{{WitnessFor: "a"}, {}}, []seal.Part{{WitnessFor: "a"}, {}}, "signer a is a witness of nobody"},
	} {
		m := record(t)
		second := now.Add(-time.Minute)
		m.Signers[1].SignedAt = &second
		events := plainEvents(t, m.Audit.Events)
		events[len(events)-1]["detail"] = partDetail(c.signed[0])
		m.Audit.Events, m.Audit.Head = chain(t, append(events,
			map[string]any{"event": "signer.signed", "actor": "signer:b", "timestamp": second, "detail": partDetail(c.signed[1])})...)
		m.Signers = append([]manifest.Signer{}, m.Signers...)
		for i := range m.Signers {
			m.Signers[i].Part = c.record[i]
		}
		if err := m.Check(); c.says == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.says, name)
		}
	}
}
