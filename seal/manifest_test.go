package seal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/manifest"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

// TestRecord checks that the report contains the content of the seal, and nothing that the seal does not confirm.
func TestRecord(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	j := sealkit.Job(t, sealkit.SimplePDF(3))
	j.Envelope.Sender = "Acme Ltd"
	_, b := sealkit.Sealed(t, k.Sealer(t), j)
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.NotNil(t, r.Record)
	require.True(t, r.Record.Confirmed)
	require.Equal(t, "Acme Ltd", r.Record.Sender)
	require.Equal(t, "acme", r.Record.TenantID)
	require.Equal(t, sealkit.EnvelopeID, r.Record.EnvelopeID)
	require.Equal(t, j.Envelope.Subject, r.Record.Subject)
	require.Equal(t, verify.RecordDocument{ID: sealkit.DocumentID, Name: "agreement.pdf", Order: 1, Of: 1, PageCount: 3, SHA256: j.OriginalSHA256}, r.Record.Document)
	require.Equal(t, sealkit.PagesOf(b), r.Record.Pages.Total)
	require.Equal(t, 4, r.Record.Pages.Certificate)
	require.Len(t, r.Record.Signers, 2)
	require.Equal(t, "email_otp", r.Record.Signers[0].AuthMethod)
	require.NotNil(t, r.Record.Signers[0].VerifiedAt)
	require.Nil(t, r.Record.Signers[1].VerifiedAt, "the signer was identified only by the link")
	require.Len(t, r.Record.Events, len(j.Events))
	require.Equal(t, "envelope.created", r.Record.Events[0].Event)
	require.Equal(t, "Ada Lovelace", r.Record.Values[1].Text)

	unknown := sealkit.Verified(t, b, verify.Options{Now: sealkit.Clock})
	require.Equal(t, verify.VerdictUntrusted, unknown.Verdict)
	require.False(t, unknown.Record.Confirmed)
	changed := bytes.Clone(b)
	changed[100] ^= 1
	require.Nil(t, sealkit.Verified(t, changed, k.Trust()).Record)
}

// TestRecord_Appearance_IsConsistent checks that the record contains the pictures displayed to each signer, and that a
// record is invalid if it contradicts itself, the document or the audit trail.
func TestRecord_Appearance_IsConsistent(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	view := map[string]any{"documentId": sealkit.DocumentID, "page": 2, "level": 2, "appearance": "bb"}
	shown := func() *manifest.Appearance {
		return &manifest.Appearance{
			Profile: manifest.Profile{Number: 1, Module: "m"},
			Pages:   []manifest.PagePicture{{Page: 1, Level: 1, SHA256: "aa"}, {Page: 1, Level: 2, SHA256: "ab"}, {Page: 2, Level: 2, SHA256: "bb"}},
			Texts:   []manifest.PageText{{Page: 1, SHA256: "cc"}},
			Signers: []manifest.SignerPages{
				{SignerID: sealkit.AdaID, Levels: []manifest.LevelPages{{Level: 0, Pages: [][2]int{{1, 1}}}, {Level: 2, Pages: [][2]int{{1, 2}}}}},
				{SignerID: sealkit.JomoID, Levels: []manifest.LevelPages{}},
			},
		}
	}
	record := func(a *manifest.Appearance) seal.Job {
		j := sealkit.Job(t, sealkit.SimplePDF(3))
		event := func(name string, detail map[string]any) map[string]any {
			return map[string]any{"event": name, "actor": "signer:" + sealkit.AdaID, "timestamp": sealkit.Now.Format("2006-01-02T15:04:05.000000Z"), "detail": detail}
		}
		created := event("envelope.created", nil)
		created["actor"] = "app:demo"
		events := []map[string]any{created, event("document.added", map[string]any{"documentId": sealkit.DocumentID, "sha256": j.OriginalSHA256, "pageCount": 3, "order": 1}), event("page_viewed", view)}
		events = append(events, event("signer.signed", nil))
		last := event("signer.signed", nil)
		last["actor"] = "signer:" + sealkit.JomoID
		j.Events, j.ChainHead = sealkit.Chain(t, append(events, last)...)
		for i := range j.Signers {
			j.Signers[i].SignedAt = sealkit.Now
		}
		j.Appearance = a
		return j
	}
	_, b := sealkit.Sealed(t, k.Sealer(t), record(shown()))
	r := sealkit.Verified(t, b, k.Trust())
	require.True(t, r.OK(), sealkit.TextOf(t, r))
	require.Equal(t, shown().Pages, r.Record.Appearance.Pages)
	require.Equal(t, r.OriginalSHA256, r.Record.Appearance.SHA256)
	require.EqualValues(t, len(sealkit.SimplePDF(3)), r.Record.Appearance.Size)

	for name, change := range map[string]func(*manifest.Appearance){
		"another picture than was viewed": func(a *manifest.Appearance) { a.Pages[2].SHA256 = "dd" },
		"a page that is not listed":       func(a *manifest.Appearance) { a.Signers[0].Levels[1].Pages = [][2]int{{1, 3}} },
		"a range without end":             func(a *manifest.Appearance) { a.Signers[0].Levels[1].Pages = [][2]int{{1, 1 << 40}} },
		"a page is listed twice":          func(a *manifest.Appearance) { a.Pages[1].Level = 1 },
		"pages in disorder":               func(a *manifest.Appearance) { a.Pages[0].Page = 3 },
		"another signer":                  func(a *manifest.Appearance) { a.Signers[1].SignerID = sealkit.DocumentID },
		"a signer is missing":             func(a *manifest.Appearance) { a.Signers = a.Signers[:1] },
	} {
		a := shown()
		change(a)
		out, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
		require.NoError(t, err)
		_, err = k.Sealer(t).Seal(t.Context(), out, record(a))
		require.NoError(t, out.Close())
		require.ErrorContains(t, err, "does not verify", name)
	}
}
