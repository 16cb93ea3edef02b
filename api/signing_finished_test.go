package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// signedEvent returns the details of the signer.signed event of a signer.
func signedEvent(c *client, e *response, signer string) object {
	c.t.Helper()
	for _, ev := range c.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any) {
		ev := ev.(object)
		if detail, _ := ev["detail"].(object); ev["event"] == "signer.signed" && detail["signerId"] == signer {
			return detail
		}
	}
	require.FailNow(c.t, "not signed")
	return nil
}

// TestFinishedPage_ShownBeforeSigning_IsRecorded checks that a signer can view a page with all values, and that the
// signature event contains the hash of that page.
func TestFinishedPage_ShownBeforeSigning_IsRecorded(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e, _ := c.sent(twoSigners())
		document := e.document(0)["id"].(string)
		finished := "/documents/" + document + "/pages/1/finished"
		picture := "/v1/envelopes/" + e.str("id") + "/documents/" + document + "/pages/1"
		empty := c.get(picture + "?entries=true").want(200)
		require.Equal(t, c.get(picture).want(200).raw, empty.raw, "nobody has signed")

		ada := nobody.binds(s.link(t, e, 0))
		at := s.link(t, e, 0)
		values := object{"fields": []object{entry(e, 0, "999,999"), entry(e, 2, "true")}}
		nobody.post(at+finished, values).rejected(401, "otp_required")
		ada.post(at+finished, values).rejected(401, "consent_required")
		ada.get(at).want(200)
		ada.post(at+"/consent", nil).want(200)
		first := ada.post(at+finished+"?level=1", values).want(200)
		require.Equal(t, "no-store", first.header.Get("Cache-Control"))
		require.Equal(t, "1", first.header.Get("X-Appearance-Profile"))
		require.Equal(t, first.header.Get("X-Appearance-SHA256"), appearanceOf(t, first.raw))
		require.NotEqual(t, c.get(picture+"?level=1").want(200).header.Get("X-Appearance-SHA256"), appearanceOf(t, first.raw))
		again := ada.post(at+finished+"?level=1", values).want(200)
		require.Equal(t, first.raw, again.raw)
		require.NotEqual(t, first.raw, ada.post(at+finished+"?level=1", object{"fields": []object{entry(e, 0, "1")}}).want(200).raw)
		first = ada.post(at+finished+"?level=1", values).want(200)
		second := ada.post(at+finished, values).want(200)

		// Invalid values, pages, documents and levels are rejected.
		ada.post(at+finished, object{"fields": []object{entry(e, 3, "of another")}}).rejected(400, "validation_error")
		ada.post(at+finished, object{}).rejected(400, "validation_error")
		ada.post(at+finished+"?level=3", values).rejected(400, "validation_error")
		ada.post(at+"/documents/"+document+"/pages/2/finished", values).rejected(404, "not_found")
		ada.post(at+"/documents/"+uuid.NewString()+"/pages/1/finished", values).rejected(404, "not_found")
		values["shown"] = hex.EncodeToString(make([]byte, 32))
		ada.post(at+finished, values).rejected(409, "values_changed")
		delete(values, "shown")

		ada.post(at+"/sign", values).want(200)
		ada.post(at+finished, values).rejected(409, "already_signed")
		lines := fmt.Sprintf("%s 1 1 %s\n%s 1 2 %s\n", document, appearanceOf(t, first.raw), document, appearanceOf(t, second.raw))
		sum := sha256.Sum256([]byte(lines))
		detail := signedEvent(c, e, e.signer(0)["id"].(string))
		require.EqualValues(t, 2, detail["finishedPages"])
		require.Equal(t, hex.EncodeToString(sum[:]), detail["finished"])

		// The sender can see the entered values. The finished page of the next signer contains the values of both signers.
		entered := c.get(picture + "?entries=true&level=1").want(200)
		require.Equal(t, "private, no-cache", entered.header.Get("Cache-Control"))
		require.NotEqual(t, c.get(picture+"?level=1").want(200).raw, entered.raw)
		require.NotEqual(t, first.raw, entered.raw, "without the footer line")
		c.with("If-None-Match", entered.header.Get("ETag")).get(picture + "?entries=true&level=1").want(304)
		c.get(picture+"?entries=x").rejected(400, "validation_error")
		s.other(t).get(picture+"?entries=true").rejected(404, "not_found")

		grace := nobody.binds(s.link(t, e, 1))
		at = s.link(t, e, 1)
		grace.get(at).want(200)
		grace.post(at+"/consent", nil).want(200)
		grace.post(at+finished+"?level=1", object{"fields": []object{entry(e, 3, "one")}}).want(200)
		grace.post(at+"/sign", object{"fields": []object{entry(e, 3, "another")}}).want(200)
		require.NotContains(t, signedEvent(c, e, e.signer(1)["id"].(string)), "finished", "these values were not displayed")
		stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
		require.NoError(t, err)
		require.Len(t, stored.Signers[0].Pages.Finished.Pages, 2)
		require.Nil(t, stored.Signers[1].Pages.Finished)
	})
}

// TestSealedPages_AreShownToSenderAndRecipients checks that the sender and the recipients can view the pages of a
// sealed document until it is purged.
func TestSealedPages_AreShownToSenderAndRecipients(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e, token := c.sent(contract())
		c.signs(e, token)
		portal := "/v1/download/" + s.completes(t, e.str("id"), 1) + "/pages/"
		stored, err := s.store.Envelope(t.Context(), s.app.ID, id(e))
		require.NoError(t, err)
		sealed := "/v1/envelopes/" + e.str("id") + "/documents/" + stored.Sealed()[0].ID.String() + "/pages/"
		for _, suffix := range []string{"", "?level=1", "/text"} {
			want := c.get(sealed + "1" + suffix).want(200)
			require.Equal(t, want.raw, nobody.get(portal+"1"+suffix).want(200).raw)
			require.NotEmpty(t, want.header.Get("X-Appearance-SHA256"))
		}
		require.Equal(t, c.get(sealed+"1").want(200).raw, c.get(sealed+"1?entries=true").want(200).raw)
		for _, page := range []string{"0", "2", "x", "2/text"} {
			nobody.get(portal+page).rejected(404, "not_found")
			c.get(sealed+page).rejected(404, "not_found")
		}
		nobody.get(portal+"1?level=3").rejected(400, "validation_error")
		nobody.get("/v1/download/x/pages/1").rejected(401, "download_link_invalid")
		require.Zero(t, countEvents(c, e, "document.downloaded"))
	})
}

func countEvents(c *client, e *response, name string) int {
	c.t.Helper()
	n := 0
	for _, ev := range c.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any) {
		if ev.(object)["event"] == name {
			n++
		}
	}
	return n
}
