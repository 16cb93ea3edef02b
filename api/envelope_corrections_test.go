package api_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

func tokenOf(link any) string {
	return strings.TrimPrefix(link.(string), "https://sign.example.com/sign/")
}

// linkOf requests the signing link of an envelope's signer and returns its token.
func (c *client) linkOf(e *response, i int) string {
	c.t.Helper()
	return tokenOf(c.post("/v1/envelopes/"+e.str("id")+"/signers/"+e.signer(i)["id"].(string)+"/signing-link", nil).want(200).body["signingUrl"])
}

// rejectedLink checks that a signing link is rejected with the given code.
func (c *client) rejectedLink(token, code string) {
	c.t.Helper()
	c.get("/v1/signing/"+token).rejected(401, code)
}

// TestReplaceSigner_EndsTheFormerLink checks that the new signer replaces the previous one, whose link becomes invalid
// immediately.
func TestReplaceSigner_EndsTheFormerLink(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{"signer.replaced"}}).want(201)
		data := twoSignerRequest()
		data["signers"].([]object)[1]["routingOrder"] = 2
		e, token := c.sent(data)
		at := "/v1/envelopes/" + e.str("id") + "/signers/"
		ada, bob := e.signer(0)["id"].(string), e.signer(1)["id"].(string)
		nobody.get("/v1/signing/" + token).want(200)
		nobody.post("/v1/signing/"+token+"/consent", nil).want(200)

		got := c.post(at+ada+"/replace", object{"name": "Grace", "email": "grace@example.com", "reason": "On leave", "authMethod": "email_otp"}).want(200)
		require.Equal(t, ada, got.str("id"), "the id and the fields do not change")
		require.Equal(t, []any{"Grace", "grace@example.com", "email_otp", "sent"}, []any{got.str("name"), got.str("email"), got.str("authMethod"), got.str("status")})
		previous := got.body["previous"].([]any)[0].(object)
		require.Equal(t, []any{"Ada", "ada@example.com", "On leave"}, []any{previous["name"], previous["email"], previous["reason"]})
		nobody.rejectedLink(token, "signing_link_invalid")
		nobody.get("/v1/signing/"+token+"/document").rejected(401, "signing_link_invalid")

		for _, method := range []string{"", "fax"} {
			faults := c.post(at+bob+"/replace", object{"name": "Rob", "email": "rob@example.com", "authMethod": method}).rejected(400, "validation_error").faults()
			require.Equal(t, []string{"authMethod"}, faults)
		}
		pending := c.post(at+bob+"/replace", object{"name": "Rob", "email": "rob@example.com"}).want(200)
		require.Equal(t, "pending", pending.str("status"))
		require.Nil(t, pending.body["previous"].([]any)[0].(object)["reason"])
		require.Equal(t, 1, s.outbox(t, e.str("id"), models.OutboxReinvite), "only the signer who can sign now is invited")

		fresh := c.linkOf(e, 0)
		code := nobody.get("/v1/signing/" + fresh).want(200)
		require.Equal(t, false, code.body["consentGiven"], "the previous signer's verification does not apply to the new signer")
		require.Equal(t, "Grace", code.str("signerName"))
		nobody.post("/v1/signing/"+fresh+"/consent", nil).rejected(401, "otp_required")
		nobody.post("/v1/signing/"+fresh+"/otp/request", nil).want(200)
		nobody.post("/v1/signing/"+fresh+"/otp/verify", object{"code": s.mails.code(t)}).want(200)
		nobody.post("/v1/signing/"+fresh+"/consent", nil).want(200)
		nobody.post("/v1/signing/"+fresh+"/sign", object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}}).want(200)
		c.post(at+ada+"/replace", object{"name": "X", "email": "x@example.com"}).rejected(409, "already_signed")
		c.post(at+uuid.NewString()+"/replace", object{"name": "X", "email": "x@example.com"}).rejected(404, "not_found")
		require.Contains(t, c.post(at+bob+"/replace", object{"name": "X", "email": "x@example.com", "authMethod": "sms_otp"}).rejected(400, "validation_error").body["errors"], "phone")

		for _, ev := range c.get("/v1/envelopes/" + e.str("id")).want(200).body["auditLog"].([]any) {
			if detail := ev.(object)["detail"]; ev.(object)["event"] == "signer.replaced" {
				require.EqualValues(t, 2, detail.(object)["person"])
				for _, name := range []string{"Ada", "ada@", "Grace", "grace@", "Rob"} {
					require.NotContains(t, fmt.Sprint(detail), name, "the chain contains no names")
				}
			}
		}
		list := c.get("/v1/console/webhook-deliveries?webhookId=" + hook.str("id")).want(200).body["data"].([]any)
		require.Len(t, list, 2)
		found := c.get("/v1/envelopes?tenantId=acme&signerEmail=grace@example.com").want(200)
		require.EqualValues(t, 1, found.body["total"])
		draft := c.draft(contract())
		c.post("/v1/envelopes/"+draft.str("id")+"/signers/"+draft.signer(0)["id"].(string)+"/replace", object{"name": "X", "email": "x@example.com"}).rejected(409, "envelope_draft")
		s.signIn(t, models.RoleViewer).post(at+bob+"/replace", object{"name": "X", "email": "x@example.com"}).rejected(403, "role_forbidden")
		c.with("If-Match", `"0"`).post(at+bob+"/replace", object{"name": "X", "email": "x@example.com"}).rejected(412, "precondition_failed")
	})
}

// outbox returns the number of outbox rows of one kind for an envelope.
func (s *service) outbox(t *testing.T, envelope string, kind models.OutboxKind) (n int) {
	t.Helper()
	rows, err := s.store.ClaimOutbox(t.Context(), 1000, time.Minute)
	require.NoError(t, err)
	for len(rows) > 0 {
		for _, r := range rows {
			if r.Key.String() == envelope && r.Kind == kind {
				n++
			}
			require.NoError(t, s.store.FinishOutbox(t.Context(), r.Seq))
		}
		rows, err = s.store.ClaimOutbox(t.Context(), 1000, time.Minute)
		require.NoError(t, err)
	}
	return n
}

// TestResendInvitation_IsLimited checks that the invitation of each signer can be resent five times an hour, each time
// with a new link.
func TestResendInvitation_IsLimited(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	e, token := c.sent(twoSignerRequest())
	at := "/v1/envelopes/" + e.str("id") + "/signers/" + e.signer(0)["id"].(string) + "/resend"
	for range models.ResendLimit {
		c.post(at, nil).want(202)
	}
	nobody.rejectedLink(token, "signing_link_invalid")
	rejected := c.post(at, nil).rejected(429, "resend_rate_limited")
	require.NotEmpty(t, rejected.header.Get("Retry-After"))
	c.post(strings.Replace(at, e.signer(0)["id"].(string), e.signer(1)["id"].(string), 1), nil).want(202)
	require.Equal(t, models.ResendLimit+1, s.outbox(t, e.str("id"), models.OutboxReinvite))
	s.clock.advance(time.Hour)
	c = s.client(t)
	c.post(at, nil).want(202)
	c.with("If-Match", `"0"`).post(at, nil).rejected(412, "precondition_failed")
	s.signIn(t, models.RoleViewer).post(at, nil).rejected(403, "role_forbidden")
	c.post("/v1/envelopes/"+e.str("id")+"/void", nil).want(200)
	c.post(at, nil).rejected(409, "envelope_terminal")
}

// TestSigningLinks checks that the sender gets the current link, or a new link if the sender requests one or the
// current link has expired.
func TestSigningLinks(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, nobody := s.client(t), &client{t: t, s: s}
	data := twoSignerRequest()
	data["signers"].([]object)[1]["routingOrder"], data["expiresInDays"] = 2, nil
	e, token := c.sent(data)
	at := "/v1/envelopes/" + e.str("id") + "/signers/" + e.signer(0)["id"].(string) + "/signing-link"
	nobody.get("/v1/signing/" + token).want(200)
	nobody.post("/v1/signing/"+token+"/consent", nil).want(200)
	got := c.post(at, nil).want(200)
	require.Equal(t, true, nobody.get("/v1/signing/" + tokenOf(got.body["signingUrl"])).want(200).body["consentGiven"], "the current link, unchanged")
	require.NotNil(t, got.body["expiresAt"])
	require.Equal(t, true, nobody.get("/v1/signing/" + token).want(200).body["consentGiven"])
	rotated := tokenOf(c.post(at, object{"rotate": true}).want(200).body["signingUrl"])
	require.NotEqual(t, token, rotated)
	nobody.rejectedLink(token, "signing_link_invalid")
	require.Equal(t, true, nobody.get("/v1/signing/" + rotated).want(200).body["consentGiven"], "consent stays")
	c.post(strings.Replace(at, e.signer(0)["id"].(string), e.signer(1)["id"].(string), 1), nil).rejected(409, "signer_not_awaited")
	s.clock.advance(models.LinkLifetime)
	c = s.client(t)
	nobody.rejectedLink(rotated, "signing_link_expired")
	again := tokenOf(c.post(at, nil).want(200).body["signingUrl"])
	nobody.get("/v1/signing/" + again).want(200)
	log := c.get("/v1/envelopes/" + e.str("id")).want(200)
	require.Equal(t, 3, strings.Count(strings.Join(log.eventNames(), " "), "link.issued"))
	for i, name := range log.eventNames() {
		if name == "link.issued" {
			require.Equal(t, models.AppActor(s.app.ID), log.body["auditLog"].([]any)[i].(object)["actor"])
		}
	}
	require.Zero(t, s.outbox(t, e.str("id"), models.OutboxReinvite), "the link is not emailed")
	c.post(strings.Replace(at, e.signer(0)["id"].(string), uuid.NewString(), 1), nil).rejected(404, "not_found")
	c.post(at, object{"rotate": "x"}).rejected(400, "validation_error")
	c.with("If-Match", `"0"`).post(at, nil).rejected(412, "precondition_failed")
	s.signIn(t, models.RoleSupport).post(at, nil).rejected(403, "role_forbidden")
}

// TestReschedule_ExtendsLinks checks that the expiry of emailed links changes with the deadline.
func TestReschedule_ExtendsLinks(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := contract()
		data["expiresInDays"] = 1
		e, mailed := c.sent(data)
		at := "/v1/envelopes/" + e.str("id")
		later := s.clock.now().Add(10 * 24 * time.Hour).Truncate(time.Microsecond)
		got := c.patch(at, object{"expiresAt": later.Format(time.RFC3339Nano), "reminderHours": 7}).want(200)
		require.Equal(t, later.Format(time.RFC3339Nano), got.str("expiresAt"))
		require.EqualValues(t, 7, got.body["reminderHours"])
		require.Equal(t, "envelope.updated", got.eventNames()[len(got.eventNames())-1])
		require.Equal(t, 1, s.outbox(t, e.str("id"), models.OutboxRescheduled), "the workflow is notified of the new deadline")

		s.clock.advance(3 * 24 * time.Hour) // after the expiry of the original link
		c = s.client(t)
		_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error { return e.Expire(s.act("system")) })
		require.ErrorContains(t, err, "envelope_not_due")
		c.signs(e, mailed)

		short, link := c.sent(contract())
		nobody.get("/v1/signing/" + link).want(200)
		c.patch("/v1/envelopes/"+short.str("id"), object{"expiresAt": s.clock.now().Add(time.Minute).Format(time.RFC3339Nano)}).want(200)
		s.clock.advance(2 * time.Minute)
		nobody.rejectedLink(link, "signing_link_expired")
		nobody.post("/v1/signing/"+link+"/sign", object{"fields": []object{}}).rejected(401, "signing_link_expired")
		require.Equal(t, "closed", nobody.get("/v1/signing/"+link+"/outcome").want(200).str("outcome"))

		open, _ := c.sent(contract())
		at = "/v1/envelopes/" + open.str("id")
		require.Nil(t, c.patch(at, object{"expiresAt": nil}).want(200).body["expiresAt"], "no deadline")
		for _, bad := range []any{s.clock.now().Add(-time.Minute).Format(time.RFC3339), "tomorrow", 5, s.clock.now().AddDate(11, 0, 0).Format(time.RFC3339)} {
			require.Contains(t, c.patch(at, object{"expiresAt": bad}).rejected(400, "validation_error").body["errors"], "expiresAt")
		}
		require.Contains(t, c.patch(at, object{"expiresInDays": 3}).rejected(400, "validation_error").body["errors"], "expiresInDays")
		s.signIn(t, models.RoleSupport).patch(at, object{"reminderHours": nil}).want(200)
		c.post(at+"/void", nil).want(200)
		c.patch(at, object{"expiresAt": nil}).rejected(409, "envelope_terminal")
	})
}

// TestExtendWhileExpiring checks that if an envelope is extended while it expires, only one of the two operations
// succeeds.
func TestExtendWhileExpiring(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		for range 6 {
			c := s.client(t)
			e, token := c.sent(contract())
			at := "/v1/envelopes/" + e.str("id")
			c.patch(at, object{"expiresAt": s.clock.now().Add(time.Second).Format(time.RFC3339Nano)}).want(200)
			s.clock.advance(2 * time.Second)
			var extended *response
			var expired error
			var wg sync.WaitGroup
			wg.Go(func() {
				extended = c.patch(at, object{"expiresAt": s.clock.now().Add(time.Hour).Format(time.RFC3339Nano)})
			})
			wg.Go(func() {
				_, expired = s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error { return e.Expire(s.act("system")) })
			})
			wg.Wait()
			status := c.get(at).want(200).str("status")
			if expired == nil {
				extended.rejected(409, "envelope_terminal")
				require.Equal(t, "expired", status)
			} else {
				require.ErrorContains(t, expired, "envelope_not_due")
				extended.want(200)
				require.NotEqual(t, "expired", status)
				c.signs(e, token)
			}
		}
	})
}

// TestReplaceSigner_WhileSigning checks that either the previous or the new signer signs, but never both.
func TestReplaceSigner_WhileSigning(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		for range 8 {
			e, token := c.sent(contract())
			at := "/v1/envelopes/" + e.str("id")
			nobody.get("/v1/signing/" + token).want(200)
			nobody.post("/v1/signing/"+token+"/consent", nil).want(200)
			var signed, replaced *response
			var wg sync.WaitGroup
			wg.Go(func() {
				signed = nobody.post("/v1/signing/"+token+"/sign", object{"fields": []object{{"fieldId": e.field(0)["id"], "textValue": "yes"}}})
			})
			wg.Go(func() {
				replaced = c.post(at+"/signers/"+e.signer(0)["id"].(string)+"/replace", object{"name": "Grace", "email": "grace@example.com"})
			})
			wg.Wait()
			now := c.get(at).want(200).signer(0)
			if signed.status == 200 {
				replaced.rejected(409, "envelope_sealing")
				require.Equal(t, []any{"Ada Byron", "signed"}, []any{now["name"], now["status"]})
			} else {
				signed.rejected(401, "signing_link_invalid")
				replaced.want(200)
				require.Equal(t, []any{"Grace", "sent"}, []any{now["name"], now["status"]})
			}
		}
	})
}

// TestDelegation checks that a signer with a confirmed code can delegate once, and only if the sender allows it.
func TestDelegation(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := twoSignerRequest()
		data["signers"] = []object{{"name": "Ada", "email": "ada@example.com", "allowDelegation": true}, {"name": "Bob", "email": "bob@example.com", "authMethod": "none"}}
		e, token := c.sent(data)
		require.Equal(t, true, e.signer(0)["allowDelegation"])
		to := object{"name": "Grace", "email": "grace@example.com", "reason": "Signs for us", "authMethod": "none"}
		at := "/v1/signing/" + token
		require.Equal(t, true, nobody.get(at).want(200).body["mayDelegate"])
		nobody.post(at+"/delegate", to).rejected(401, "otp_required")
		confirm := func(token string) {
			nobody.post("/v1/signing/"+token+"/otp/request", nil).want(200)
			nobody.post("/v1/signing/"+token+"/otp/verify", object{"code": s.mails.code(t)}).want(200)
		}
		confirm(token)
		for _, address := range []string{"BOB@example.com", "ada@example.com", "x"} {
			require.Contains(t, nobody.post(at+"/delegate", with(to, "email", address)).rejected(400, "validation_error").body["errors"], "email")
		}
		nobody.post(at+"/delegate", to).want(204)
		nobody.rejectedLink(token, "signing_link_invalid")
		require.Equal(t, 1, s.outbox(t, e.str("id"), models.OutboxReinvite))
		now := c.get("/v1/envelopes/" + e.str("id")).want(200)
		require.Equal(t, []any{"Grace", "email_otp", "sent"}, []any{now.signer(0)["name"], now.signer(0)["authMethod"], now.signer(0)["status"]}, "the authentication method does not change")
		require.Equal(t, "signer.delegated", now.eventNames()[len(now.eventNames())-1])
		fresh := c.linkOf(e, 0)
		confirm(fresh)
		require.NotContains(t, nobody.get("/v1/signing/"+fresh).want(200).body, "mayDelegate", "once only")
		nobody.post("/v1/signing/"+fresh+"/delegate", with(to, "email", "next@example.com")).rejected(409, "delegation_exhausted")

		bob := tokenOf(e.signer(1)["signingUrl"])
		require.NotContains(t, nobody.get("/v1/signing/"+bob).want(200).body, "mayDelegate")
		nobody.post("/v1/signing/"+bob+"/delegate", to).rejected(403, "delegation_not_allowed")
		c.post("/v1/envelopes/"+e.str("id")+"/void", nil).want(200)
		nobody.post("/v1/signing/"+fresh+"/delegate", to).rejected(401, "signing_link_closed")
	})
}

// TestDelegate_WhileVoiding checks that voiding succeeds, and that a concurrent delegation either takes effect first or
// is rejected.
func TestDelegate_WhileVoiding(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.client(t), &client{t: t, s: s}
		data := contract()
		data["signers"] = []object{{"name": "Ada", "email": "ada@example.com", "authMethod": "none", "allowDelegation": true}}
		for range 6 {
			e, token := c.sent(data)
			var delegated, voided *response
			var wg sync.WaitGroup
			wg.Go(func() {
				delegated = nobody.post("/v1/signing/"+token+"/delegate", object{"name": "Grace", "email": "grace@example.com"})
			})
			wg.Go(func() { voided = c.post("/v1/envelopes/"+e.str("id")+"/void", nil) })
			wg.Wait()
			voided.want(200)
			events := c.get("/v1/envelopes/" + e.str("id")).want(200).eventNames()
			if delegated.status == 204 {
				require.Less(t, slices.Index(events, "signer.delegated"), slices.Index(events, "envelope.voided"))
			} else {
				delegated.rejected(401, "signing_link_closed")
				require.NotContains(t, events, "signer.delegated")
			}
		}
	})
}

// TestResendCopies_IsLimited checks that the links to the sealed files can be resent five times an hour to an address
// of the envelope.
func TestResendCopies_IsLimited(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	e, token := c.sent(contract())
	at := "/v1/envelopes/" + e.str("id") + "/copies"
	c.post(at, object{"email": "ada@example.com"}).rejected(409, "envelope_not_completed")
	c.signs(e, token)
	c.post(at, object{"email": "ada@example.com"}).rejected(409, "envelope_not_completed")
	s.completes(t, e.str("id"), 1)
	require.Contains(t, c.post(at, object{"email": "eve@example.com"}).rejected(400, "validation_error").body["errors"], "email")
	for range models.CopyLimit {
		c.post(at, object{"email": "ADA@example.com"}).want(202)
	}
	c.post(at, object{"email": "ada@example.com"}).rejected(429, "copies_rate_limited")
	require.Equal(t, models.CopyLimit, s.outbox(t, e.str("id"), models.OutboxCopies))
	s.signIn(t, models.RoleViewer).post(at, object{"email": "ada@example.com"}).rejected(403, "role_forbidden")
	c.with("If-Match", `"0"`).post(at, object{"email": "ada@example.com"}).rejected(412, "precondition_failed")
	s.clock.advance(48 * time.Hour)
	_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), func(e *models.Envelope) error { return e.Purge(s.act("system")) })
	require.NoError(t, err)
	s.client(t).post(at, object{"email": "ada@example.com"}).rejected(410, "document_purged")
}

// payloadOf returns the body of a webhook delivery.
func payloadOf(c *client, delivery string) object {
	c.t.Helper()
	return c.get("/v1/console/webhook-deliveries/" + delivery).want(200).body["payload"].(object)
}
