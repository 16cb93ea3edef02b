package api_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

func TestIdempotency_TwelveRequestsCreateOneResource(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t).with("Idempotency-Key", "twelve")
		data, err := json.Marshal(contract())
		require.NoError(t, err)
		var (
			wg      sync.WaitGroup
			mu      sync.Mutex
			ids     = map[string]int{}
			replays int
		)
		for range 12 {
			wg.Go(func() {
				// Use a different boundary for each request, as clients do when they retry.
				ct, body := multipartBody(t, map[string]string{"data": string(data)}, kit.OnePage())
				for {
					a := c.send(http.MethodPost, "/v1/envelopes", ct, body)
					if a.status == http.StatusConflict {
						if a.str("error") != "idempotency_in_flight" || a.header.Get("Retry-After") == "" {
							t.Errorf("409: %s", a.raw)
							return
						}
						continue
					}
					mu.Lock()
					defer mu.Unlock()
					if a.status != http.StatusCreated {
						t.Errorf("%d: %s", a.status, a.raw)
					}
					ids[a.str("id")]++
					if a.header.Get("Idempotency-Replayed") == "true" {
						replays++
						if !strings.HasSuffix(a.header.Get("Location"), a.str("id")) {
							t.Errorf("the replayed response must have no Location: %v", a.header)
						}
					}
					return
				}
			})
		}
		wg.Wait()
		require.Len(t, ids, 1)
		require.Equal(t, 11, replays)
		require.EqualValues(t, 1, s.client(t).get("/v1/envelopes?tenantId=acme").body["total"])
	})
}

func TestIdempotencyRules(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c := s.client(t)
		key := c.with("Idempotency-Key", "k")
		hook := object{"url": "https://example.com/a", "events": []string{"envelope.sent"}}

		first := key.post("/v1/webhooks", hook).want(201)
		again := key.post("/v1/webhooks", hook).want(201)
		require.Equal(t, first.raw, again.raw)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Empty(t, first.header.Get("Idempotency-Replayed"))
		require.Equal(t, first.header.Get("Content-Type"), again.header.Get("Content-Type"))

		// Reusing the key with another body or path is rejected. Another app can use the same key.
		key.post("/v1/webhooks", object{"url": "https://example.com/b", "events": []string{"envelope.sent"}}).rejected(422, "idempotency_key_reused")
		key.post("/v1/console/contacts", object{"name": "A", "email": "a@example.com"}).want(200)
		other := s.other(t).with("Idempotency-Key", "k").post("/v1/webhooks", hook).want(201)
		require.NotEqual(t, first.str("id"), other.str("id"))

		// A rejected request releases its key, which can then be used with another body. Invalid keys are rejected.
		bad := c.with("Idempotency-Key", "bad")
		bad.post("/v1/webhooks", object{}).want(400)
		require.Empty(t, bad.post("/v1/webhooks", object{}).want(400).header.Get("Idempotency-Replayed"))
		mended := bad.post("/v1/webhooks", object{"url": "https://example.com/c", "events": []string{"envelope.sent"}}).want(201)
		require.Empty(t, mended.header.Get("Idempotency-Replayed"))
		c.with("Idempotency-Key", strings.Repeat("x", 256)).post("/v1/webhooks", hook).want(400)
		c.with("Idempotency-Key", "a space and ~").post("/v1/console/contacts", object{"name": "B", "email": "b@example.com"}).want(200)

		// Raw bodies are compared by digest.
		e := c.post("/v1/envelopes", object{"tenantId": "raw", "signers": []object{{"name": "A", "email": "a@example.com"}}}).want(201)
		up := func(body []byte) *response {
			return c.with("Idempotency-Key", "up").send(http.MethodPost, "/v1/envelopes/"+e.str("id")+"/document", "application/octet-stream", body)
		}
		doc := up(kit.OnePage()).want(200)
		require.Equal(t, doc.raw, up(kit.OnePage()).want(200).raw)
		up(append(kit.OnePage(), '\n')).rejected(422, "idempotency_key_reused")
		require.Len(t, c.get("/v1/envelopes/" + e.str("id")).body["documents"], 1)

		// After 24 hours the key can be used again.
		s.clock.advance(24*time.Hour + time.Minute)
		late := s.client(t).with("Idempotency-Key", "k").post("/v1/webhooks", hook).want(201)
		require.NotEqual(t, first.str("id"), late.str("id"))
	})
}

func TestIdempotencyForSignersAndTokens(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	data := contract()
	data["signers"] = []object{{"name": "Ada", "email": "ada@example.com"}}
	_, token := c.sent(data)
	nobody := (&client{t: t, s: s}).with("Idempotency-Key", "1")
	nobody.post("/v1/signing/"+token+"/otp/request", nil).want(200)
	again := nobody.post("/v1/signing/"+token+"/otp/request", nil).want(200)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, 1, s.mails.count(), "one code")
	view := object{"documentId": c.get("/v1/envelopes?tenantId=acme").body["data"].([]any)[0].(object)["documents"].([]any)[0].(object)["id"], "page": 1, "dwellMs": 5}
	nobody.post("/v1/signing/"+token+"/page-view", view).want(204)
	require.Equal(t, "true", nobody.post("/v1/signing/"+token+"/page-view", view).want(204).header.Get("Idempotency-Replayed"))

	login := func(secret string) *response {
		return nobody.send(http.MethodPost, "/oauth/token", "application/x-www-form-urlencoded",
			form("grant_type", "client_credentials", "client_id", s.id, "client_secret", secret))
	}
	first := login(s.pass).want(200)
	require.Equal(t, first.str("access_token"), login(s.pass).want(200).str("access_token"))
	login("guess").rejected(422, "idempotency_key_reused")
	s.clock.advance(31 * time.Minute)
	require.NotEqual(t, first.str("access_token"), login(s.pass).want(200).str("access_token"), "a token that expires soon is not returned again")
}

// TestIdempotency_SecretsAreNotStored checks that a response with a one-time secret is not stored, and that a retry
// runs the request again.
func TestIdempotency_SecretsAreNotStored(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	admin := s.person(t, models.RoleAdmin).with("Idempotency-Key", "1")
	first := admin.post("/v1/console/client-secrets", object{"password": password}).want(201)
	again := admin.post("/v1/console/client-secrets", object{"password": password}).want(201)
	require.NotEqual(t, first.str("clientSecret"), again.str("clientSecret"))
	require.Empty(t, again.header.Get("Idempotency-Replayed"))
}

// TestIdempotency_InterruptedRequest checks that a retry never creates a second resource, even if the process dies
// between the commit and the response.
func TestIdempotency_InterruptedRequest(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		ctx := t.Context()
		r := store.IdempotentRequest{Scope: "x", Method: "POST", Path: "/p", Key: "k", Fingerprint: []byte("f")}
		id, answer, err := s.store.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		require.Nil(t, answer)
		_, _, err = s.store.ClaimKey(ctx, r, time.Hour)
		require.ErrorContains(t, err, "idempotency_in_flight")

		s.clock.advance(3 * time.Minute) // the process died before it changed anything
		second, answer, err := s.store.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		require.Nil(t, answer)
		require.NotEqual(t, id, second)
		createApp := func(key uuid.UUID) error {
			_, err := s.store.Execute(ctx, key, func(st *store.Store) (*store.StoredResponse, error) {
				_, _, err := st.CreateApp(ctx, "Made", models.PlanFree, nil)
				return nil, err
			})
			return err
		}
		require.Error(t, createApp(id), "the first request was still running, but can no longer commit")
		require.NoError(t, createApp(second))
		s.clock.advance(3 * time.Minute) // the process died after the commit
		_, _, err = s.store.ClaimKey(ctx, r, time.Hour)
		require.ErrorContains(t, err, "idempotency_interrupted")
	})
}

// TestIdempotency_CommitsResponseWithEffect checks that a request commits its response in the same transaction as its
// changes, even if it only resends a link or changes nothing. A retry then gets the response even if the process dies
// before it responds.
func TestIdempotency_CommitsResponseWithEffect(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t)
	hook := c.post("/v1/webhooks", object{"url": "https://example.com/1", "events": []string{"envelope.created"}}).want(201).str("id")
	e, _ := c.sent(contract())
	signer := e.signer(0)["id"].(string)
	deliveries, _, err := s.store.Deliveries(t.Context(), store.DeliveryFilter{App: s.app.ID, Page: 1, Size: 10})
	require.NoError(t, err)
	require.NoError(t, s.store.AbandonDelivery(t.Context(), deliveries[0].ID, 0))
	db, err := sql.Open("sqlite", strings.TrimPrefix(s.url, "sqlite://")+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	// Simulate that every process dies after its commit.
	_, err = db.ExecContext(t.Context(), `CREATE TRIGGER dies BEFORE UPDATE ON idempotency_keys WHEN OLD.committed BEGIN SELECT RAISE(ABORT, 'dead'); END`)
	require.NoError(t, err)
	at := "/v1/console/webhooks/" + hook
	for _, of := range []struct {
		path string
		body any
	}{
		{"/v1/webhooks", object{"url": "https://example.com/2", "events": []string{"envelope.sent"}, "secret": "s"}},
		{"/v1/console/users", object{"email": "new@example.com", "name": "New", "password": "correct horse battery", "role": "viewer"}},
		{"/v1/embedded/signing-sessions", object{"envelopeId": e.str("id"), "signerId": signer, "tenantId": e.str("tenantId"), "allowedOrigin": "https://app.example.com"}},
		{"/v1/console/envelopes/" + e.str("id") + "/signers/" + signer + "/resend", nil},
		{"/v1/console/webhook-deliveries/" + deliveries[0].ID.String() + "/resend", nil},
		{at + "/resend", object{"since": "2026-01-02T03:04:05Z"}},
		{at + "/ping", nil},
		{at + "/secret", object{"secret": "another"}},
		{at + "/pause", nil},
		{at + "/resume", nil},
	} {
		once := c.with("Idempotency-Key", "k")
		first := once.post(of.path, of.body)
		require.Less(t, first.status, 300, "%s: %s", of.path, first.raw)
		again := once.post(of.path, of.body).want(first.status)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"), of.path)
		require.Equal(t, string(first.raw), string(again.raw), of.path)
	}
}

// TestIdempotency_CommandResponse checks that a response stored by a command's transaction is replayed if the
// transaction was committed, and discarded otherwise.
func TestIdempotency_CommandResponse(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		ctx := t.Context()
		app, _, err := s.store.CreateApp(ctx, "Made", models.PlanFree, nil)
		require.NoError(t, err)
		r := store.IdempotentRequest{Scope: "x", Method: "POST", Path: "/p", Key: "k", Fingerprint: []byte("f")}
		id, _, err := s.store.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		want := store.StoredResponse{Status: 201, Header: http.Header{"Content-Type": {"text/plain"}, "Location": {"/made"}}, Body: []byte("made")}
		failing := errors.New("not now")
		saveContact := func() (*store.StoredResponse, error) {
			return s.store.Execute(ctx, id, func(st *store.Store) (*store.StoredResponse, error) {
				_, err := st.SaveContact(ctx, models.Contact{AppID: app.ID, Name: "Ada", Email: "ada@example.com"}, false)
				require.NoError(t, err)
				return &want, failing
			})
		}
		_, err = saveContact()
		require.ErrorIs(t, err, failing)
		contacts, _, err := s.store.Contacts(ctx, app.ID, "", 1, 10)
		require.NoError(t, err)
		require.Empty(t, contacts, "a change without a stored response must be rolled back")
		_, _, err = s.store.ClaimKey(ctx, r, time.Hour)
		require.ErrorContains(t, err, "idempotency_in_flight")

		failing = nil
		given, err := saveContact()
		require.NoError(t, err)
		require.Equal(t, &want, given)
		again, answer, err := s.store.ClaimKey(ctx, r, time.Hour)
		require.NoError(t, err)
		require.Equal(t, id, again)
		require.Equal(t, &want, answer)
	})
}

// TestIdempotency_PublicCallsReadLimitedBody checks that an unauthenticated call reads at most the permitted size of a
// body.
func TestIdempotency_PublicCallsReadLimitedBody(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	send := func(path, kind string, size int64) (status int, read int64) {
		body := &countedZeros{left: size}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
		r.Header.Set("Idempotency-Key", newID().String())
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		return w.Code, body.read
	}
	const large = 100 << 20
	for path, kind := range map[string]string{"/v1/console/login": "application/json", "/oauth/token": "application/x-www-form-urlencoded", "/v1/console/passkeys/challenge": "application/json"} {
		status, read := send(path, kind, large)
		require.Equal(t, 413, status, path)
		require.LessOrEqual(t, read, int64(2<<20), path)
	}
	s.clock.nextMinute()
	for range 30 {
		status, _ := send("/v1/verify", "application/pdf", 9)
		require.NotEqual(t, 429, status)
	}
	status, read := send("/v1/verify", "application/pdf", large)
	require.Equal(t, []any{429, int64(0)}, []any{status, read})
}

// countedZeros is a body of zero bytes. It counts the bytes read from it.
type countedZeros struct{ left, read int64 }

func (z *countedZeros) Read(b []byte) (int, error) {
	n := min(int64(len(b)), z.left)
	if n == 0 {
		return 0, io.EOF
	}
	clear(b[:n])
	z.left, z.read = z.left-n, z.read+n
	return int(n), nil
}

// TestIdempotency_SameRequest checks that multipart requests are identical if all of their parts are equal, regardless
// of the boundary.
func TestIdempotency_SameRequest(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t).with("Idempotency-Key", "one")
	data := part{"data", "", "application/json", `{"tenantId":"acme","signers":[{"name":"A","email":"a@example.com"}]}`}
	file := part{"file", "a.pdf", "application/pdf", string(kit.OnePage())}
	send := func(boundary string, parts ...part) *response {
		ct, body := partsBody(t, boundary, parts...)
		return c.send(http.MethodPost, "/v1/envelopes", ct, body)
	}
	made := send("first", data, file).want(201)
	require.Equal(t, made.raw, send("second", data, file).want(201).raw)
	with := func(p part, change func(*part)) part {
		change(&p)
		return p
	}
	for name, parts := range map[string][]part{
		"another order":     {file, data},
		"a part more":       {data, file, {"subject", "", "", "x"}},
		"a part less":       {data},
		"another content":   {data, with(file, func(p *part) { p.content += "\n" })},
		"another type":      {data, with(file, func(p *part) { p.kind = "application/octet-stream" })},
		"another file name": {data, with(file, func(p *part) { p.file = "b.pdf" })},
		"another name":      {with(data, func(p *part) { p.name = "dates" }), file},
		"another data":      {with(data, func(p *part) { p.content += " " }), file},
	} {
		require.Equal(t, "idempotency_key_reused", send("first", parts...).rejected(422, "idempotency_key_reused").str("error"), name)
	}
	ct, body := partsBody(t, "first", data, file)
	c.send(http.MethodPost, "/v1/envelopes?x=1", ct, body).rejected(422, "idempotency_key_reused")
	c.send(http.MethodPost, "/v1/envelopes", "application/json", body).rejected(422, "idempotency_key_reused")
	c.send(http.MethodPost, "/v1/envelopes", strings.Replace(ct, "first", "second", 1), body).rejected(422, "idempotency_key_reused")
}

// TestIdempotency_InvalidKeys checks that invalid keys are rejected by every operation whose description in the
// contract includes the header.
func TestIdempotency_InvalidKeys(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	at := pathReplacer(t, s)
	tried := 0
	eachOperation(t, s, func(c *client, method, path string, op *openapi3.Operation) {
		if !slices.ContainsFunc(op.Parameters, func(r *openapi3.ParameterRef) bool { return r.Value.Name == "Idempotency-Key" }) {
			return
		}
		if a := c.call(method, at.Replace(path), nil); a.status == http.StatusForbidden && a.str("error") == "user_required" {
			c = s.person(t, models.RoleAdmin)
		}
		for _, key := range []string{strings.Repeat("k", 256), "schlüssel", "a\tb", "\xff"} {
			a := c.with("Idempotency-Key", key).call(method, at.Replace(path), nil).rejected(400, "validation_error")
			require.Contains(t, a.body["errors"], "Idempotency-Key", "%s %s", method, path)
			tried++
		}
	})
	require.Greater(t, tried, 80)
}

// TestIdempotency_BodyIsBoundedByRoute checks that a request with an Idempotency-Key stores no more bytes on disk than
// its route accepts.
func TestIdempotency_BodyIsBoundedByRoute(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, viewer, nobody := s.client(t), s.person(t, models.RoleViewer), &client{t: t, s: s}
	draft := c.draft(contract())
	sent, token := c.sent(contract())
	c.post("/v1/envelopes/"+sent.str("id")+"/void", nil).want(200) // invalidates the signing link
	link, at := "/v1/signing/"+token, "/v1/envelopes/"+draft.str("id")
	const mb = 1 << 20
	for _, tt := range []struct {
		c                 *client
		path, contentType string
		limit             int64
		code              string
	}{
		{nobody, link + "/otp/request", "", 64 << 10, "request_too_large"},
		{nobody, link + "/consent", "application/json", 64 << 10, "request_too_large"},
		{nobody, link + "/page-view", "application/json", 64 << 10, "request_too_large"},
		{nobody, link + "/fit", "application/json", 64 << 10, "request_too_large"},
		{nobody, link + "/decline", "application/json", 64 << 10, "request_too_large"},
		{nobody, link + "/sign", "application/json", 12 * mb, "request_too_large"},
		{nobody, link + "/attachments", "multipart/form-data; boundary=x", 11 * mb, "file_too_large"},
		{nobody, "/oauth/token", "application/x-www-form-urlencoded", 8 << 10, "request_too_large"},
		{viewer, "/v1/console/password", "application/json", 64 << 10, "request_too_large"},
		{viewer, "/v1/console/logout", "", 64 << 10, "request_too_large"},
		{c, "/v1/webhooks", "application/json", mb, "request_too_large"},
		{c, at + "/send", "application/json", mb, "request_too_large"},
		{c, at + "/document", "application/pdf", 2 * mb, "file_too_large"},
		{c, "/v1/console" + strings.TrimPrefix(at, "/v1") + "/documents", "multipart/form-data; boundary=x", 2 * mb, "file_too_large"},
		{c, "/v1/envelopes", "multipart/form-data; boundary=x", 2 * mb, "file_too_large"},
		{c, "/v1/templates", "multipart/form-data; boundary=x", 2 * mb, "file_too_large"},
		{c, "/v1/envelopes", "application/json", 2 * mb, "request_too_large"},
		{c, "/v1/bulk-sends", "application/json", 32 * mb, "request_too_large"},
	} {
		body := &counted{Reader: strings.NewReader(strings.Repeat("x", 40*mb))}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, body)
		req.Header.Set("Content-Type", tt.contentType)
		req.Header.Set("Idempotency-Key", "k")
		if tt.c.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.c.token)
		}
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, req)
		require.Equal(t, 413, w.Code, "%s: %s", tt.path, w.Body)
		require.Contains(t, w.Body.String(), tt.code, tt.path)
		require.LessOrEqual(t, body.read, tt.limit+64<<10, tt.path)
	}
}

// TestIdempotency_QueryIsPartOfTheRequest checks that the same body with a different query string is a different
// request.
func TestIdempotency_QueryIsPartOfTheRequest(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c := s.client(t).with("Idempotency-Key", "k")
	hook := object{"url": "https://example.com/a", "events": []string{"envelope.sent"}}
	first := c.post("/v1/webhooks", hook).want(201)
	c.post("/v1/webhooks?x=1", hook).rejected(422, "idempotency_key_reused")
	require.Equal(t, first.raw, c.post("/v1/webhooks", hook).want(201).raw)
}

// TestIdempotency_RateLimitIsNotStored checks that a response to a rate-limited request is not stored, so that a retry
// succeeds after the wait.
func TestIdempotency_RateLimitIsNotStored(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		e, _ := s.client(t).sent(twoSigners())
		at, nobody := s.link(t, e, 0)+"/otp/request", &client{t: t, s: s}
		for range models.OTPRequestLimit {
			nobody.post(at, nil).want(200)
		}
		s.mails.mu.Lock()
		require.Contains(t, s.mails.mails[len(s.mails.mails)-1].Text, "10 minutes", "how long a code is good")
		s.mails.mu.Unlock()
		keyed := nobody.with("Idempotency-Key", "k")
		require.NotEmpty(t, keyed.post(at, nil).rejected(http.StatusTooManyRequests, "otp_rate_limited").header.Get("Retry-After"))
		s.clock.advance(models.OTPRequestWindow)
		done := keyed.post(at, nil).want(200)
		require.Empty(t, done.header.Get("Idempotency-Replayed"))
		require.Equal(t, "true", keyed.post(at, nil).want(200).header.Get("Idempotency-Replayed"))
	})
}
