package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/credential"
	"countersign/models"
	"countersign/temporal"
)

// TestReceipt checks that, for one day after signing, the receipt permits the signer to view the status of the envelope
// and download the sealed copy.
func TestReceipt(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, token := c.sent(contract())
		nobody := &client{t: t, s: s}
		at := "/v1/signing/" + token
		nobody.get(at).want(200)
		nobody.post(at+"/consent", nil).want(200)
		fields := object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}
		receipt := nobody.post(at+"/sign", fields).want(200).str("receiptToken")
		nobody.get(at).rejected(410, "signing_link_used")

		waiting := nobody.get("/v1/receipts/" + receipt).want(200)
		require.Equal(t, "in_progress", waiting.str("envelopeStatus"))
		require.Empty(t, waiting.body["documents"])
		s.completes(t, e.str("id"), 0)
		done := nobody.get("/v1/receipts/" + receipt).want(200)
		require.Equal(t, "completed", done.str("envelopeStatus"))
		copies := done.body["documents"].([]any)
		require.Len(t, copies, 1)
		link, ok := strings.CutPrefix(copies[0].(object)["downloadUrl"].(string), "https://sign.example.com")
		require.True(t, ok)
		require.Equal(t, copies[0].(object)["sha256"], nobody.get("/v1"+link).want(200).str("sha256"))

		for _, other := range []string{token, c.token, strings.TrimPrefix(link, "/download/"), "x"} {
			nobody.get("/v1/receipts/"+other).rejected(401, "receipt_invalid")
		}
		require.Equal(t, 401, nobody.get("/v1/signing/"+receipt).status)
		require.Equal(t, 401, nobody.get("/v1/download/"+receipt).status)
		require.Equal(t, 401, (&client{t: t, s: s, token: receipt}).get("/v1/envelopes?tenantId=acme").status)
		s.clock.advance(25 * time.Hour)
		nobody.get("/v1/receipts/"+receipt).rejected(401, "receipt_invalid")
	})
}

func TestReceipt_OfPurgedDocument(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	at := "/v1/signing/" + token
	c.get(at).want(200)
	c.post(at+"/consent", nil).want(200)
	// No receipt is issued for a rejected signature.
	require.Empty(t, c.post(at+"/sign", object{"fields": []object{}}).want(400).str("receiptToken"))
	receipt := c.post(at+"/sign", object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}).want(200).str("receiptToken")
	s.completes(t, e.str("id"), 1)
	_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error {
		act := s.act("system")
		act.At = act.At.Add(25 * time.Hour)
		return e.Purge(act)
	})
	require.NoError(t, err)
	c.get("/v1/receipts/"+receipt).rejected(410, "document_purged")
}

// silentWorkflows simulates a Temporal server whose workers do not respond.
type silentWorkflows struct{ fakeWorkflows }

func (silentWorkflows) Progress(ctx context.Context, _ uuid.UUID) (temporal.Progress, error) {
	<-ctx.Done()
	return temporal.Progress{}, ctx.Err()
}

// TestReceipt_RequiresASignature checks that a receipt token is invalid before the signer signs, and after the signer
// declines.
func TestReceipt_RequiresASignature(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	receipt := func(e *response) string {
		token, err := s.cfg.Tokens.IssueReceipt(signerLinkOf(s, e))
		require.NoError(t, err)
		return "/v1/receipts/" + token
	}
	e, token := c.sent(contract())
	nobody.get(receipt(e)).rejected(401, "receipt_invalid")
	nobody.get("/v1/signing/" + token).want(200)
	nobody.get(receipt(e)).rejected(401, "receipt_invalid")
	early := receipt(e)
	c.signs(e, token)
	nobody.get(early).want(200)

	e, token = c.sent(contract())
	nobody.post("/v1/signing/"+token+"/decline", nil).want(200)
	nobody.get(receipt(e)).rejected(401, "receipt_invalid")
}

// signerLinkOf returns the signing link of an envelope's first signer.
func signerLinkOf(s *service, e *response) credential.SigningLink {
	return credential.SigningLink{App: s.app.ID, Link: models.Link{EnvelopeID: id(e), SignerID: uuid.MustParse(e.signer(0)["id"].(string))}}
}
