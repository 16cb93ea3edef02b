package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"countersign/test/kit"
)

// twoSigners returns a request to create an envelope whose signers confirm a code by email. The first group has one
// signer with text fields and a signature image, and the second group has two signers with a text field each.
func twoSigners() object {
	signer := func(name string, group int) object {
		return object{"name": name, "email": strings.ToLower(name) + "@example.com", "routingOrder": group, "authMethod": "email_otp"}
	}
	field := func(signer, typ string, y int) object {
		return object{"signerId": signer, "type": typ, "page": 1, "x": 50, "y": y, "w": 200, "h": 30, "required": false}
	}
	return object{
		"tenantId": "acme", "subject": "Contract",
		"signers": []object{signer("Ada", 1), signer("Grace", 2), signer("Hedy", 2)},
		"fields":  []object{field("0", "text", 50), field("0", "signature", 100), field("0", "checkbox", 150), field("1", "text", 200), field("2", "text", 250)},
	}
}

// link returns the path of a signer's current signing link.
func (s *service) link(t *testing.T, envelope *response, i int) string {
	t.Helper()
	e, err := s.store.Envelope(t.Context(), s.app.ID, id(envelope))
	require.NoError(t, err)
	token, err := s.cfg.Tokens.IssueSigning(s.app.ID, e.Signers[i])
	require.NoError(t, err)
	return "/v1/signing/" + token
}

// code requests a one-time code, and returns the code that the email contains.
func (c *client) code(at string) string {
	c.t.Helper()
	c.post(at+"/otp/request", nil).want(200)
	c.s.mails.mu.Lock()
	defer c.s.mails.mu.Unlock()
	return regexp.MustCompile(`\b\d{6}\b`).FindString(c.s.mails.mails[len(c.s.mails.mails)-1].Text)
}

// binds confirms the signer of a link, and returns a client that uses the session.
func (c *client) binds(at string) *client {
	c.t.Helper()
	a := c.post(at+"/otp/verify", object{"code": c.code(at), "bind": true}).want(200)
	return c.with("X-Signer-Session", a.str("sessionToken"))
}

func entry(e *response, i int, text string) object {
	return object{"fieldId": e.field(i)["id"], "textValue": text}
}

func digest(t *testing.T, envelope string, filled []any) string {
	t.Helper()
	values := map[string]string{}
	for _, f := range filled {
		f := f.(object)
		hash, ok := f["picture"].(string)
		if !ok {
			sum := sha256.Sum256([]byte(f["value"].(string)))
			hash = hex.EncodeToString(sum[:])
		}
		values[f["signerId"].(string)] += fmt.Sprintf("%s %s\n", f["fieldId"], hash)
	}
	signers := []object{}
	for id, text := range values {
		sum := sha256.Sum256([]byte(text))
		signers = append(signers, object{"signerId": id, "valuesSha256": hex.EncodeToString(sum[:])})
	}
	slices.SortFunc(signers, func(a, b object) int { return strings.Compare(a["signerId"].(string), b["signerId"].(string)) })
	b, err := json.Marshal(object{"envelopeId": envelope, "signers": signers})
	require.NoError(t, err)
	b, err = jcs.Transform(b)
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// TestEarlierValues_AreShownAndRecorded checks that later signers receive the values entered earlier, and that the
// signature event identifies the displayed values.
func TestEarlierValues_AreShownAndRecorded(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		e, _ := c.sent(twoSigners())
		picture := kit.Signature()
		ada := s.link(t, e, 0)
		first := nobody.binds(ada)
		require.Equal(t, []any{}, first.get(ada).want(200).body["filled"])
		first.post(ada+"/consent", nil).want(200)
		first.post(ada+"/sign", object{"fields": []object{
			entry(e, 0, "The price is 999,999 euros"), entry(e, 2, "true"),
			{"fieldId": e.field(1)["id"], "signatureImageBase64": base64.StdEncoding.EncodeToString(picture)},
		}}).want(200)

		grace := s.link(t, e, 1)
		for _, path := range []string{"", "/shown"} { // without a confirmed code, the link grants no access to values
			a := nobody.get(grace + path).want(200)
			require.Nil(t, a.body["shown"])
			require.NotContains(t, string(a.raw), "999,999")
		}
		require.Nil(t, nobody.get(grace).want(200).body["draftKey"])
		nobody.get(grace+"/document?entries=true").rejected(401, "otp_required")
		second := nobody.binds(grace)
		ctx := second.get(grace).want(200)
		filled := ctx.body["filled"].([]any)
		require.Len(t, filled, 3)
		text, drawn := filled[0].(object), filled[1].(object)
		require.Equal(t, "The price is 999,999 euros", text["value"])
		require.Equal(t, "Ada", text["signerName"])
		require.Equal(t, e.field(0)["id"], text["fieldId"])
		require.EqualValues(t, 50, text["y"])
		require.Nil(t, drawn["value"])
		require.Equal(t, "true", filled[2].(object)["value"])
		require.Equal(t, ctx.str("shown"), digest(t, e.str("id"), filled), "a client can compute the digest")
		require.Equal(t, ctx.str("shown"), second.get(grace+"/shown").want(200).str("shown"))

		path := grace + "/pictures/" + drawn["picture"].(string)
		got := second.get(path).want(200)
		require.Equal(t, "image/png", got.header.Get("Content-Type"))
		require.Equal(t, `"`+drawn["picture"].(string)+`"`, got.header.Get("ETag"))
		sum := sha256.Sum256(got.raw)
		require.Equal(t, drawn["picture"], hex.EncodeToString(sum[:]))
		nobody.get(path).rejected(401, "otp_required")
		second.get(grace+"/pictures/"+strings.Repeat("0", 64)).rejected(404, "not_found")
		otherEnvelope, _ := c.sent(twoSigners())
		other := s.link(t, otherEnvelope, 0)
		nobody.binds(other).get(other+"/pictures/"+drawn["picture"].(string)).rejected(404, "not_found")

		require.Equal(t, kit.OnePage(), second.get(grace+"/document").want(200).raw, "without entries=true, the document is the uploaded file")
		doc := ctx.body["documents"].([]any)[0].(object)["documentId"].(string)
		reading := second.get(grace + "/documents/" + doc + "?entries=true").want(200)
		require.Contains(t, pdfText(t, reading.raw), "The price is 999,999 euros")
		require.NotContains(t, pdfText(t, reading.raw), "Sealed by")
		require.Equal(t, reading.raw, second.get(grace+"/document?entries=true").want(200).raw, "the bytes are the same for each request, so that ranges can be requested")

		// Grace and Hedy received the same values, and Hedy signs first.
		hedy := s.link(t, e, 2)
		third := nobody.binds(hedy)
		seen := third.get(hedy).want(200).str("shown")
		third.post(hedy+"/consent", nil).want(200)
		third.post(hedy+"/sign", object{"shown": seen, "fields": []object{entry(e, 4, "Only on Sundays")}}).want(200)
		second.post(grace+"/consent", nil).want(200)
		sign := object{"shown": ctx.str("shown"), "fields": []object{entry(e, 3, "yes")}}
		keyed := second.with("Idempotency-Key", "k")
		rejected := keyed.post(grace+"/sign", sign).rejected(409, "values_changed")
		details := rejected.body["details"].(object)
		require.Len(t, details["filled"], 4)
		require.Contains(t, string(rejected.raw), "Only on Sundays")
		sign["shown"] = details["shown"]
		second.post(grace+"/sign", sign).want(200)

		byName := map[string]object{}
		for _, ev := range c.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any) {
			if ev := ev.(object); ev["event"] == "signer.signed" {
				byName[ev["detail"].(object)["signerId"].(string)] = ev["detail"].(object)
			}
		}
		by := func(i int) object { return byName[e.signer(i)["id"].(string)] }
		require.NotNil(t, by(0)["shown"], "the signer was shown that no one had signed")
		require.Empty(t, by(0)["shownSigners"])
		require.Equal(t, false, by(0)["shownConfirmed"])
		require.Equal(t, seen, by(2)["shown"])
		require.Equal(t, e.signer(0)["id"], by(2)["shownSigners"])
		require.Equal(t, true, by(2)["shownConfirmed"])
		require.Equal(t, details["shown"], by(1)["shown"])
		require.Len(t, strings.Split(by(1)["shownSigners"].(string), ","), 2)
	})
}

// TestSign_WithoutDisplayedValues checks the event of a signature without the digest of the displayed values. The event
// records the values that were last delivered to the link's holder.
func TestSign_WithoutDisplayedValues(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	data := twoSigners()
	data["signers"].([]object)[0]["authMethod"] = "none"
	data["signers"].([]object)[1]["routingOrder"] = 1
	data["signers"].([]object)[2]["routingOrder"] = 1
	e, _ := c.sent(data)
	ada, grace, hedy := s.link(t, e, 0), s.link(t, e, 1), s.link(t, e, 2)
	require.NotNil(t, nobody.get(ada).want(200).body["shown"], "if no code is required, the link is sufficient")

	second := nobody.binds(grace)
	second.get(grace).want(200)
	nobody.post(ada+"/consent", nil).want(200)
	nobody.post(ada+"/sign", object{"fields": []object{entry(e, 0, "999,999")}}).want(200)
	second.post(grace+"/consent", nil).want(200)
	second.post(grace+"/sign", object{"fields": []object{}}).want(200)
	third := nobody.binds(hedy)
	third.post(hedy+"/consent", nil).want(200)
	third.post(hedy+"/sign", object{"fields": []object{}}).want(200)

	details := map[string]object{}
	for _, ev := range c.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any) {
		if ev := ev.(object); ev["event"] == "signer.signed" {
			details[ev["detail"].(object)["signerId"].(string)] = ev["detail"].(object)
		}
	}
	signed := func(i int) object { return details[e.signer(i)["id"].(string)] }
	require.Empty(t, signed(1)["shownSigners"], "the record states that Grace was shown the empty document")
	require.Equal(t, signed(0)["shown"], signed(1)["shown"])
	require.Contains(t, signed(2), "shown")
	require.Nil(t, signed(2)["shown"], "Hedy was shown no document")
}

func pdfText(t *testing.T, pdf []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.pdf")
	require.NoError(t, os.WriteFile(path, pdf, 0o600))
	out, err := exec.CommandContext(t.Context(), "pdftotext", path, "-").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
