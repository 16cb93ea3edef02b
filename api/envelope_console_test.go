package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store/blob"
)

// password is the password of all console users in the tests.
const password = "correct horse"

// signIn creates a console user with the given role and signs in. It can be called once for each role.
func (s *service) signIn(t *testing.T, role models.Role) *client {
	t.Helper()
	email := string(role) + "@example.com"
	_, err := s.store.CreateUser(t.Context(), s.app.ID, email, "Some "+string(role), password, role)
	require.NoError(t, err)
	return s.enters(t, object{"email": strings.ToUpper(email), "password": password})
}

// person creates a console user with the given role and signs in. It can be called repeatedly.
func (s *service) person(t *testing.T, role models.Role) *client {
	t.Helper()
	email := uuid.NewString() + "@example.com"
	_, err := s.store.CreateUser(t.Context(), s.app.ID, email, "Some "+string(role), password, role)
	require.NoError(t, err)
	return s.enters(t, object{"email": email, "password": password})
}

// enters returns a client that is signed in with the given credentials.
func (s *service) enters(t *testing.T, login object) *client {
	t.Helper()
	c := &client{t: t, s: s}
	a := c.post("/v1/console/login", login).want(200)
	require.InDelta(t, 28800, a.body["expires_in"], 0)
	c.token = a.str("access_token")
	return c
}

// TestConsoleEnvelopes_NameOwners checks that the list contains the sender and the last event of each envelope.
func TestConsoleEnvelopes_NameOwners(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		sam := s.person(t, models.RoleSender)
		me := sam.get("/v1/console/me").want(200).body["user"].(object)
		e, token := sam.sent(contract())
		other, _ := s.client(t).sent(contract())
		row := func(id string) object {
			return named(t, rowsOf(sam.get("/v1/console/envelopes").want(200)), "id", id)
		}
		require.Equal(t, me["id"], row(e.str("id"))["ownerId"])
		require.Equal(t, []any{object{"id": me["id"], "name": "Some sender"}}, row(e.str("id"))["users"])
		require.Nil(t, row(other.str("id"))["ownerId"])
		require.Empty(t, row(other.str("id"))["users"])
		sent := row(e.str("id"))["lastActivity"].(object)
		require.Equal(t, []any{"envelope.sent", "user:" + me["id"].(string)}, []any{sent["event"], sent["actor"]})
		(&client{t: t, s: s}).get("/v1/signing/" + token).want(200)
		require.Equal(t, "signer.viewed", row(e.str("id"))["lastActivity"].(object)["event"])
		inspected := sam.get("/v1/console/envelopes/" + e.str("id")).want(200).body
		require.Equal(t, me["id"], inspected["ownerId"])
		require.Equal(t, []any{object{"id": me["id"], "name": "Some sender"}}, inspected["users"])
		require.Empty(t, s.client(t).get("/v1/console/envelopes/" + other.str("id")).want(200).body["users"])
	})
}

func TestConsoleEnvelopes(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		data := contract()
		data["tenantId"], data["subject"] = "zeta", "Lease of the Blue House"
		c.sent(data)
		e, token := c.sent(contract())
		all := c.get("/v1/console/envelopes").want(200)
		require.Len(t, rowsOf(all), 2)
		require.Len(t, rowsOf(c.get("/v1/console/envelopes?tenantId=zeta").want(200)), 1)
		require.Len(t, rowsOf(c.get("/v1/console/envelopes?search=blue+house").want(200)), 1)
		require.Len(t, rowsOf(c.get("/v1/console/envelopes?search=ADA@EXAMPLE.com").want(200)), 2)
		require.Empty(t, rowsOf(c.get("/v1/console/envelopes?status=in_progress").want(200)))

		at := "/v1/console/envelopes/" + e.str("id")
		signer := e.signer(0)["id"].(string)
		a := c.post(at+"/signers/"+signer+"/resend", nil).want(202)
		require.NotContains(t, string(a.raw), "signingUrl")
		c.get("/v1/signing/"+token).rejected(401, "signing_link_invalid")
		rows, err := s.store.ClaimOutbox(t.Context(), 100, time.Minute)
		require.NoError(t, err)
		for range 3 { // rows of the same envelope are claimed one at a time
			for _, r := range rows {
				require.NoError(t, s.store.FinishOutbox(t.Context(), r.Seq))
			}
			if rows, err = s.store.ClaimOutbox(t.Context(), 100, time.Minute); len(rows) > 0 && rows[0].Kind == models.OutboxReinvite {
				break
			}
			require.NoError(t, err)
		}
		require.Len(t, rows, 1)
		require.Equal(t, models.OutboxReinvite, rows[0].Kind)
		require.Equal(t, signer, rows[0].Refs.SignerID.String())
		c.post(at+"/signers/"+uuid.NewString()+"/resend", nil).rejected(404, "not_found")
		c.get("/v1/envelopes/" + e.str("id") + "/progress").want(200)
		full := c.get(at).want(200)
		require.Contains(t, full.body, "mails")
		require.Contains(t, full.body, "deliveries")
		s.other(t).get(at).rejected(404, "not_found")
	})
}

// TestSealingProblem_IsShownToTheSender checks that the envelope reports a sealing problem until it is sealed or
// closed.
func TestSealingProblem_IsShownToTheSender(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, token := c.sent(contract())
		c.signs(e, token)
		at := "/v1/envelopes/" + e.str("id")
		require.NotContains(t, c.get(at).want(200).body, "sealingProblem")
		change := func(fn func(*models.Envelope) error) {
			t.Helper()
			_, err := s.store.Change(t.Context(), s.app.ID, uuid.MustParse(e.str("id")), fn)
			require.NoError(t, err)
		}
		change(func(e *models.Envelope) error { return e.SealingFailed(s.act("system"), models.SealingOriginalMissing) })
		full := c.get(at).want(200)
		problem, ok := full.body["sealingProblem"].(object)
		require.True(t, ok)
		require.Equal(t, "original_missing", problem["code"])
		require.NotEmpty(t, problem["message"])
		require.NotEmpty(t, problem["since"])
		require.Equal(t, "in_progress", full.str("status"))
		c.post(at+"/void", nil).rejected(400, "envelope_sealing")
		staff := s.signIn(t, models.RoleViewer)
		require.Contains(t, staff.get("/v1/console/envelopes/"+e.str("id")).want(200).body, "sealingProblem")
		row := staff.get("/v1/console/envelopes").want(200).body["data"].([]any)[0].(object)
		require.Contains(t, row, "sealingProblem")

		change(func(e *models.Envelope) error { return e.VoidStuck(s.act("system"), "the file is lost") })
		closed := c.get(at).want(200)
		require.Equal(t, "voided", closed.str("status"))
		require.NotContains(t, closed.body, "sealingProblem")
	})
}

// purgingStore is a file store that calls purge before it opens a file.
type purgingStore struct {
	blob.Store
	purge func()
}

func (p *purgingStore) Open(ctx context.Context, key string) (*blob.File, error) {
	p.purge()
	return p.Store.Open(ctx, key)
}

// TestUndeliveredMail_IsListed checks that a rejected invitation is listed until a later email is sent.
func TestUndeliveredMail_IsListed(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		e, _ := c.sent(contract())
		fine, _ := c.sent(contract())
		id, signer := uuid.MustParse(e.str("id")), uuid.MustParse(e.signer(0)["id"].(string))
		mail := func(name string) models.Mail {
			return models.Mail{ID: name + e.str("id"), EnvelopeID: id, SignerID: signer, Kind: models.MailInvitation}
		}
		undelivered := func(query string) map[string]any {
			out := map[string]any{}
			for _, v := range rowsOf(c.get("/v1/console/envelopes?" + query).want(200)) {
				out[v.(object)["id"].(string)] = v.(object)["undelivered"]
			}
			return out
		}
		none := []any{}
		require.Equal(t, map[string]any{e.str("id"): none, fine.str("id"): none}, undelivered(""))
		_, err := s.store.BeginMail(t.Context(), mail("one"))
		require.NoError(t, err)
		require.NoError(t, s.store.MailFailed(t.Context(), "one"+e.str("id"), "550 no such mailbox"))
		require.Equal(t, map[string]any{e.str("id"): []any{signer.String()}, fine.str("id"): none}, undelivered(""))
		require.Equal(t, map[string]any{e.str("id"): []any{signer.String()}}, undelivered("undelivered=true"))
		s.clock.advance(time.Second)
		_, err = s.store.BeginMail(t.Context(), mail("two"))
		require.NoError(t, err)
		require.Equal(t, []any{signer.String()}, undelivered("")[e.str("id")], "the next email is still being sent")
		require.NoError(t, s.store.MailSent(t.Context(), "two"+e.str("id")))
		require.Equal(t, none, undelivered("")[e.str("id")])
		c.get("/v1/envelopes?tenantId=acme").want(200) // checkContract verifies that this list omits the member
	})
}

// TestConsoleEnvelope_Details checks the details of an envelope: its outcome, emails, deliveries, and the state of
// their endpoint.
func TestConsoleEnvelope_Details(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		hook := c.post("/v1/webhooks", object{"url": "https://example.com/h", "events": []string{
			"envelope.completed", "envelope.voided", "signer.declined", "signer.signed",
		}, "secret": "long enough"}).want(201)
		settle := func(event string, o models.DeliveryOutcome, status int) *response {
			list := c.get("/v1/console/webhook-deliveries?status=pending&event=" + event).want(200)
			id := list.body["data"].([]any)[0].(object)["id"].(string)
			o.WebhookID = uuid.MustParse(hook.str("id"))
			_, err := s.store.RecordAttempt(t.Context(), models.DeliveryAttempt{
				DeliveryID: uuid.MustParse(id), At: s.clock.now(), Status: status, LatencyMS: 12, Body: []byte("thanks"),
			}, o)
			require.NoError(t, err)
			return c.get("/v1/console/webhook-deliveries/" + id).want(200)
		}
		notice := func(a *response) object { return a.body["payload"].(object)["data"].(object) }

		voided := c.draft(contract())
		c.post("/v1/envelopes/"+voided.str("id")+"/void", object{"reason": "typo"}).want(200)
		require.NotNil(t, c.get("/v1/console/envelopes/" + voided.str("id")).want(200).body["voidedAt"])
		told := settle("envelope.voided", models.DeliveryOutcome{Delivered: true}, 200)
		require.NotNil(t, told.body["deliveredAt"])
		require.Equal(t, "typo", notice(told)["reason"])
		require.NotNil(t, c.get("/v1/console/webhook-deliveries?status=delivered").want(200).body["data"].([]any)[0].(object)["deliveredAt"])
		require.NotNil(t, notice(told)["voidedAt"])

		declined, link := c.sent(contract())
		c.post("/v1/signing/"+link+"/decline", object{"reason": "no"}).want(200)
		told = settle("signer.declined", models.DeliveryOutcome{Last: true}, 500)
		require.NotNil(t, told.body["failedAt"])
		require.Equal(t, declined.signer(0)["id"], notice(told)["signer"].(object)["id"])

		done, link := c.sent(contract())
		c.signs(done, link)
		s.completes(t, done.str("id"), 0)
		told = settle("envelope.completed", models.DeliveryOutcome{Last: true, Gone: true}, 410)
		require.NotNil(t, notice(told)["completedAt"])
		require.NotNil(t, notice(told)["documentHashFinal"])
		require.Equal(t, notice(told)["completedAt"], told.body["payload"].(object)["completedAt"], "nested and flat")
		require.NotNil(t, notice(told)["signers"].([]any)[0].(object)["signedAt"])
		list := c.get("/v1/console/webhooks").want(200)
		require.Contains(t, string(list.raw), `"disabledReason":"gone"`)
		at := "/v1/console/webhooks/" + hook.str("id")
		require.Equal(t, true, c.post(at+"/resume", nil).want(200).body["active"])
		ping := c.post(at+"/ping", nil).want(202)
		payload := c.get("/v1/console/webhook-deliveries/" + ping.str("id")).want(200).body["payload"].(object)
		require.Equal(t, "ping", payload["event"])
		require.Equal(t, hook.str("id"), payload["data"].(object)["webhookId"])
		require.Equal(t, false, c.post(at+"/pause", nil).want(200).body["active"])

		id, signer := uuid.MustParse(done.str("id")), uuid.MustParse(done.signer(0)["id"].(string))
		for name, note := range map[string]func(string) error{
			"sent": func(id string) error { return s.store.MailSent(t.Context(), id) },
			"lost": func(id string) error { return s.store.MailFailed(t.Context(), id, "mailbox unavailable") },
		} {
			_, err := s.store.BeginMail(t.Context(), models.Mail{ID: name, EnvelopeID: id, SignerID: signer, Kind: models.MailInvitation})
			require.NoError(t, err)
			require.NoError(t, note(name))
		}
		full := c.get("/v1/console/envelopes/" + done.str("id")).want(200)
		require.Len(t, full.body["mails"], 2)
		require.Contains(t, string(full.raw), "mailbox unavailable")
		require.NotNil(t, full.body["documentHashFinal"])
		c.get("/v1/envelopes/" + done.str("id") + "/progress").want(200)

		e := c.draft(contract())
		doc := e.body["documents"].([]any)[0].(object)["id"]
		f := c.post("/v1/envelopes/"+e.str("id")+"/fields", object{
			"documentId": doc, "signerId": e.signer(0)["id"], "type": "date", "page": 1, "x": 1, "y": 1, "w": 9, "h": 9,
		}).want(201)
		require.Equal(t, doc, f.body["documentId"])
		(&client{t: t, s: s}).get("/readyz").want(200)
		(&client{t: t, s: s}).call(http.MethodGet, "/healthz", nil).want(200)
	})
}
