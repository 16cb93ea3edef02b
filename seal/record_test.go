package seal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/verify"
)

// TestRecord: the report says what the seal says, and nothing that is not
// confirmed by it.
func TestRecord(t *testing.T) {
	t.Parallel()
	k := newSealerFixture(t)
	j := job(t, simplePDF(3))
	j.Envelope.Sender = "Acme Ltd"
	_, b := sealed(t, k.sealer(t), j)
	r := verified(t, b, k.trust())
	require.True(t, r.OK(), textOf(t, r))
	require.NotNil(t, r.Record)
	require.True(t, r.Record.Confirmed)
	require.Equal(t, "Acme Ltd", r.Record.Sender)
	require.Equal(t, "acme", r.Record.TenantID)
	require.Equal(t, envelopeID, r.Record.EnvelopeID)
	require.Equal(t, j.Envelope.Subject, r.Record.Subject)
	require.Equal(t, verify.RecordDocument{ID: documentID, Name: "agreement.pdf", Order: 1, Of: 1, PageCount: 3, SHA256: j.OriginalSHA256}, r.Record.Document)
	require.Equal(t, pagesOf(b), r.Record.Pages.Total)
	require.Equal(t, 4, r.Record.Pages.Certificate)
	require.Len(t, r.Record.Signers, 2)
	require.Equal(t, "email_otp", r.Record.Signers[0].AuthMethod)
	require.NotNil(t, r.Record.Signers[0].VerifiedAt)
	require.Nil(t, r.Record.Signers[1].VerifiedAt, "known by the link alone")
	require.Len(t, r.Record.Events, len(j.Events))
	require.Equal(t, "envelope.created", r.Record.Events[0].Event)
	require.Equal(t, "Ada Lovelace", r.Record.Values[1].Text)

	unknown := verified(t, b, verify.Options{Now: clock})
	require.Equal(t, verify.VerdictUntrusted, unknown.Verdict)
	require.False(t, unknown.Record.Confirmed)
	changed := bytes.Clone(b)
	changed[100] ^= 1
	require.Nil(t, verified(t, changed, k.trust()).Record)
}
