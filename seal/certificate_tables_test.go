package seal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/manifest"
	"countersign/test/kit/sealkit"
)

// TestCertificateNamesParts checks that the certificate and the record contain the host, witness, approver and viewer,
// and that verification finds no problem.
func TestCertificateNamesParts(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	for _, c := range []struct {
		parts []seal.Part
		says  []string
	}{
		{[]seal.Part{sealkit.Hosted, {WitnessFor: sealkit.AdaID}}, []string{`Role +Signed in person, on a device handed over by Hal Abelson\s+\(hal@host\.example\.org\)`, `Role +Witness of the signature of Ada Lovelace`}},
		{[]seal.Part{{Kind: "approver"}, {Kind: "viewer"}}, []string{`Role +Approver`, `Role +Viewer: opened every document`}},
	} {
		file, b := sealkit.Sealed(t, k.Sealer(t), sealkit.WithParts(t, sealkit.Job(t, sealkit.SimplePDF(1)), c.parts...))
		out, err := sealkit.Run(t, "pdftotext", "-layout", "-f", "2", file, "-")
		require.NoError(t, err)
		for _, says := range c.says {
			assert.Regexp(t, says, out)
		}
		r := sealkit.Verified(t, b, k.Trust())
		require.True(t, r.OK(), sealkit.TextOf(t, r))
		for i, p := range c.parts {
			require.Equal(t, p, r.Record.Signers[i].Part)
		}
	}
}

// TestRecordOfPartsAgreesWithTheChain checks that a record is rejected unless each signer has the role recorded in the
// chain, and each witness signed after the witnessed signer.
func TestRecordOfPartsAgreesWithTheChain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signed, record []seal.Part // roles of the signers a, who signs first, and b
		says           string
	}{
		"nothing":               {[]seal.Part{{}, {}}, []seal.Part{{}, {}}, ""},
		"as it was":             {[]seal.Part{sealkit.Hosted, {WitnessFor: "a"}}, []seal.Part{sealkit.Hosted, {WitnessFor: "a"}}, ""},
		"another kind":          {[]seal.Part{{Kind: "viewer"}, {}}, []seal.Part{{Kind: "approver"}, {}}, "role of signer a"},
		"a kind left out":       {[]seal.Part{{Kind: "viewer"}, {}}, []seal.Part{{}, {}}, "role of signer a"},
		"a kind of one's own":   {[]seal.Part{{}, {}}, []seal.Part{{}, {Kind: "approver"}}, "role of signer b"},
		"a witness left out":    {[]seal.Part{{}, {WitnessFor: "a"}}, []seal.Part{{}, {}}, "role of signer b"},
		"a witness too early":   {[]seal.Part{{WitnessFor: "b"}, {}}, []seal.Part{{WitnessFor: "b"}, {}}, "signer a is the witness of a person who had not signed"},
		"a witness of nobody":   {[]seal.Part{{}, {WitnessFor: "c"}}, []seal.Part{{}, {WitnessFor: "c"}}, "signer b is the witness of a person who had not signed"},
		"a witness of themself": {[]seal.Part{{WitnessFor: "a"}, {}}, []seal.Part{{WitnessFor: "a"}, {}}, "signer a is the witness of a person who had not signed"},
	} {
		m := sealkit.Record(t)
		second := sealkit.Now.Add(-time.Minute)
		m.Signers[1].SignedAt = &second
		events := sealkit.PlainEvents(t, m.Audit.Events)
		events[len(events)-1]["detail"] = sealkit.PartDetail(c.signed[0])
		m.Audit.Events, m.Audit.Head = sealkit.Chain(t, append(events,
			map[string]any{"event": "signer.signed", "actor": "signer:b", "timestamp": second, "detail": sealkit.PartDetail(c.signed[1])})...)
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
