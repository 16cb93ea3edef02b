package api_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/api"
	"countersign/models"
	"countersign/seal"
	"countersign/seal/cms"
	"countersign/seal/sealkey"
	"countersign/seal/trust"
	"countersign/temporal"
	"countersign/test/kit"
)

// seals produces the sealed file of a signed envelope, as a worker does.
func (s *service) seals(t *testing.T, c *client, envelope *response) []byte {
	t.Helper()
	_, certPEM, keyPEM, err := sealkey.SelfSigned("Acme Seals", s.clock.now(), rand.Reader)
	require.NoError(t, err)
	signer, chain, err := sealkey.LoadPEM(certPEM, keyPEM)
	require.NoError(t, err)
	require.NoError(t, s.store.RecordSealCertificate(t.Context(), chain[0]))
	keys, err := s.store.Keys(t.Context(), models.KeyManifests)
	require.NoError(t, err)
	sealer, err := seal.New(seal.Config{
		Signer: signer, Chain: chain, ManifestSigner: keys[0].Private, ManifestKeyID: keys[0].ID, Now: s.clock.now, Rand: rand.Reader, TempDir: t.TempDir(),
	})
	require.NoError(t, err)
	worker := activities.Activities{Store: s.store, Blobs: s.cfg.Blobs, Sealer: sealer, BaseURL: s.cfg.BaseURL, Now: s.clock.now, NewID: newID, Mail: &fakeMailer{}, AttachmentLimit: 10 << 20}
	sealed, err := worker.Seal(t.Context(), temporal.EnvelopeInput{AppID: s.app.ID, EnvelopeID: id(envelope)})
	require.NoError(t, err)
	require.Equal(t, models.StatusCompleted, sealed.Status)
	return c.get("/v1/envelopes/" + envelope.str("id") + "/document?kind=sealed").want(200).raw
}

// foreignSignedPDF returns a PDF signed by another program.
func foreignSignedPDF(t *testing.T) []byte {
	t.Helper()
	_, certPEM, keyPEM, err := sealkey.SelfSigned("Somebody", time.Now(), rand.Reader)
	require.NoError(t, err)
	key, chain, err := sealkey.LoadPEM(certPEM, keyPEM)
	require.NoError(t, err)
	signer, err := cms.NewSigner(key, chain, rand.Reader)
	require.NoError(t, err)
	der, err := signer.Sign(t.Context(), [32]byte{}, nil)
	require.NoError(t, err)
	b := []byte("%PDF-1.7\n")
	table := "xref\n0 6\n0000000000 65535 f \n"
	for i, body := range []string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm<</SigFlags 3/Fields[4 0 R]>>>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<<>>>>", "<</FT/Sig/T(Approved)/V 5 0 R>>",
		fmt.Sprintf("<</Type/Sig/SubFilter/adbe.pkcs7.detached/M(D:20260102030405Z)/ByteRange[0 100 200 300]/Contents<%x>>>", der),
	} {
		table += fmt.Sprintf("%010d 00000 n \n", len(b))
		b = fmt.Appendf(b, "%d 0 obj\n%s\nendobj\n", i+1, body)
	}
	return fmt.Appendf(b, "%strailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", table, len(b))
}

// TestVerify_LargeFiles checks that the size limit is the upload limit plus the maximum growth by sealing.
func TestVerify_LargeFiles(t *testing.T) {
	t.Parallel()
	const limit = 100 << 20
	s := onSQLite(t, func(cfg *api.Config) { cfg.UploadLimit = limit })
	c := s.client(t)
	e, token := c.sent(contract())
	c.signs(e, token)
	sealed := s.seals(t, c, e)
	verify := func(size int) *response {
		more := bytes.Repeat([]byte("%"), size-len(sealed))
		return (&client{t: t, s: s}).send(http.MethodPost, "/v1/verify", "application/pdf", append(bytes.Clone(sealed), more...))
	}
	a := verify(limit + 1<<20).want(200)
	require.Equal(t, "altered", a.str("verdict"), "%s", a.raw)
	require.EqualValues(t, len(sealed), a.body["additions"].(object)["from"])
	require.EqualValues(t, limit+1<<20-len(sealed), a.body["additions"].(object)["bytes"])
	verify(limit+115<<20+1).rejected(413, "file_too_large")
}

// TestVerify_ReportsSignedContent checks that the report describes the signed content, and identifies altered files and
// files from other sealers.
func TestVerify_ReportsSignedContent(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		contract := twoSigners()
		fields := contract["fields"].([]object)
		fields[0]["name"] = "price"
		choice := clone(fields[4])
		choice["type"], choice["group"], choice["option"], choice["y"] = "radio", "pets", "cat", 300
		contract["fields"] = append(fields, choice)
		e, _ := c.sent(contract)
		picture := base64.StdEncoding.EncodeToString(kit.Signature())
		for i, entries := range [][]object{
			{entry(e, 0, "900 euros"), {"fieldId": e.field(1)["id"], "signatureImageBase64": picture}, entry(e, 2, "true")},
			{entry(e, 3, "agreed")},
			{entry(e, 4, "agreed, too"), entry(e, 5, "true")},
		} {
			at := s.link(t, e, i)
			page := (&client{t: t, s: s}).binds(at)
			page.post(at+"/consent", nil).want(200)
			document := at + "/documents/" + e.document(0)["id"].(string) + "/pages/1"
			page.get(document + "?level=1").want(200)
			page.get(document + "/text").want(200)
			page.post(at+"/page-view", object{"documentId": e.document(0)["id"], "page": 1, "dwellMs": 10}).want(204)
			page.post(at+"/sign", object{"fields": entries}).want(200)
		}
		sealed := s.seals(t, c, e)

		verify := func(pdf []byte) *response {
			return (&client{t: t, s: s}).send(http.MethodPost, "/v1/verify", "application/pdf", pdf).want(200)
		}
		valid := verify(sealed)
		require.Equal(t, "valid", valid.str("verdict"), "%s", valid.raw)
		record := valid.body["record"].(object)
		require.Equal(t, e.str("id"), record["envelopeId"])
		require.Equal(t, true, record["confirmed"])
		require.Len(t, record["signers"], 3)
		require.Len(t, record["values"], 6)
		shown := record["appearance"].(object)
		require.Len(t, shown["pages"], 1)
		require.Len(t, shown["signers"], 3)
		s.verifiesPages(t, sealed, shown)

		altered := verify(append(bytes.Clone(sealed), "\n% and one more thing\n"...))
		require.Equal(t, "altered", altered.str("verdict"), "%s", altered.raw)
		require.Nil(t, altered.body["record"])
		require.EqualValues(t, len(sealed), altered.body["additions"].(object)["from"])

		findings := func(a *response) (codes []string) {
			for _, f := range a.body["findings"].([]any) {
				codes = append(codes, f.(object)["code"].(string))
			}
			return codes
		}
		require.Contains(t, findings(valid), "recorded.same")
		require.Contains(t, findings(altered), "recorded.earlier", "this file differs from the stored one")
		db, err := s.store.DB()
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "DELETE FROM documents WHERE kind = 'sealed'")
		require.NoError(t, err)
		for _, lost := range []*response{verify(sealed), verify(append(bytes.Clone(sealed), '\n', '%'))} {
			require.Contains(t, findings(lost), "recorded.unknown")
			require.NotContains(t, findings(lost), "recorded.same")
		}
		foreign := verify(foreignSignedPDF(t))
		require.Equal(t, "not_sealed", foreign.str("verdict"), "%s", foreign.raw)
		require.Len(t, foreign.body["signatures"], 1)
	})
}

func TestVerify_Endpoint(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	s.clock.nextMinute() // so that all following requests count in the same minute
	nobody := &client{t: t, s: s}
	a := nobody.send(http.MethodPost, "/v1/verify", "application/pdf", kit.OnePage()).want(200)
	require.Equal(t, "not_sealed", a.str("verdict"))
	ct, body := multipartBody(t, nil, kit.OnePage())
	nobody.send(http.MethodPost, "/v1/verify", ct, body).want(200)
	nobody.send(http.MethodPost, "/v1/verify", "application/pdf", nil).rejected(400, "validation_error")
	nobody.send(http.MethodPost, "/v1/verify", "text/plain", []byte("x")).rejected(400, "content_type")
	nobody.send(http.MethodPost, "/v1/verify", "application/pdf", make([]byte, 116<<20+1)).rejected(413, "file_too_large")
	ct, body = multipartBody(t, nil, make([]byte, 116<<20+1))
	nobody.send(http.MethodPost, "/v1/verify", ct, body).rejected(413, "file_too_large")
	ct, body = multipartBody(t, map[string]string{"other": "x"}, nil)
	nobody.send(http.MethodPost, "/v1/verify", ct, body).rejected(400, "validation_error")
	for i := range 30 {
		if a = nobody.send(http.MethodPost, "/v1/verify", "application/pdf", []byte(fmt.Sprint(i))); a.status == http.StatusTooManyRequests {
			return
		}
	}
	t.Fatal("not limited")
}

// TestVerify_TrustsConfiguredSealers checks that the seal of another installation is valid if its certificate and
// record keys are trusted.
func TestVerify_TrustsConfiguredSealers(t *testing.T) {
	t.Parallel()
	other := onSQLite(t, nil)
	c := other.client(t)
	e, token := c.sent(contract())
	c.signs(e, token)
	sealed := other.seals(t, c, e)
	policy, err := other.store.Trust(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, policy.Sealers)
	for verdict, trusted := range map[string]trust.Policy{"untrusted": {}, "valid": policy} {
		s := onSQLite(t, func(cfg *api.Config) { cfg.Trust = trusted })
		a := (&client{t: t, s: s}).send(http.MethodPost, "/v1/verify", "application/pdf", sealed).want(200)
		require.Equal(t, verdict, a.str("verdict"), "%s", a.raw)
	}
}
