package clients_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// fixtures creates the objects that the examples in the cookbook require.
type fixtures struct {
	s         *service
	c         *countersign.Client
	pdf       []byte
	completed uuid.UUID
	makers    map[string]func(t *testing.T, language string) fixture
}

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newFixtures(t *testing.T) *fixtures {
	t.Helper()
	pdf, err := os.ReadFile("../../docs/contract.pdf")
	require.NoError(t, err)
	f := &fixtures{s: start(t), pdf: pdf}
	f.c = f.s.client(t)
	f.makers = map[string]func(*testing.T, string) fixture{
		"":          func(*testing.T, string) fixture { return fixture{} },
		"draft":     func(t *testing.T, _ string) fixture { return withID(f.draft(t).ID) },
		"sent":      func(t *testing.T, _ string) fixture { return withID(f.sent(t).ID) },
		"completed": func(t *testing.T, _ string) fixture { return withID(f.completedEnvelope(t)) },
		"finder":    f.finder,
		"webhook":   func(t *testing.T, _ string) fixture { return withID(f.register(t, "http://127.0.0.1:9").ID) },
		"delivery":  f.delivery,
		"events":    f.events,
		"stream":    f.stream,
		"template":  f.template,
	}
	return f
}

func withID(id uuid.UUID) fixture { return fixture{env: []string{"ID=" + id.String()}} }

// dir creates the directory in which an example runs.
func (f *fixtures) dir(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "contract.pdf"), f.pdf, 0o600))
	for name, b := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	return dir
}

func (f *fixtures) draft(t *testing.T) *countersign.Envelope {
	t.Helper()
	none, subject := api.SignerRequestAuthMethodNone, "Service agreement"
	town := countersign.NewField("text", "0", 1, 68, 580, 120, 20)
	town.Name = countersign.Ptr("town")
	e, err := f.c.Create(contextFor(t), countersign.EnvelopeRequest{
		TenantID: "acme", Subject: &subject,
		Signers: []countersign.SignerRequest{{Name: "Ada Lovelace", Email: "ada@example.com", AuthMethod: &none}},
		Fields:  []countersign.FieldRequest{countersign.NewField("signature", "0", 1, 68, 505, 180, 48), town},
	})
	require.NoError(t, err)
	_, err = f.c.Upload(contextFor(t), e.ID, bytes.NewReader(f.pdf))
	require.NoError(t, err)
	return e
}

func (f *fixtures) sent(t *testing.T) *countersign.Envelope {
	t.Helper()
	e, err := f.c.Send(contextFor(t), f.draft(t).ID, "")
	require.NoError(t, err)
	return e
}

// completedEnvelope returns the ID of a completed envelope that is shared by all examples that only read it.
func (f *fixtures) completedEnvelope(t *testing.T) uuid.UUID {
	t.Helper()
	if f.completed == uuid.Nil {
		e := f.sent(t)
		sign(t, f.s, e)
		_, err := f.c.WaitUntilCompleted(contextFor(t), e.ID)
		require.NoError(t, err)
		f.completed = e.ID
	}
	return f.completed
}

// finder creates three drafts for one person, unless they exist.
func (f *fixtures) finder(t *testing.T, _ string) fixture {
	t.Helper()
	for e, err := range f.c.Envelopes(contextFor(t), countersign.ListOptions{TenantID: "acme"}) {
		require.NoError(t, err)
		if e.Subject != nil && *e.Subject == "First" {
			return fixture{}
		}
	}
	for _, subject := range []string{"First", "Second", "Third"} {
		_, err := f.c.Create(contextFor(t), countersign.EnvelopeRequest{
			TenantID: "acme", Subject: &subject, Signers: []countersign.SignerRequest{{Name: "Finder", Email: "finder@example.org"}},
		})
		require.NoError(t, err)
	}
	return fixture{}
}

func (f *fixtures) register(t *testing.T, url string) *api.Webhook {
	t.Helper()
	secret := webhookSecret
	res, err := f.c.API.CreateWebhookWithResponse(contextFor(t), nil, api.WebhookRequest{URL: url, Secret: &secret, Events: []api.WebhookEventName{"envelope.voided"}})
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = f.c.API.DeleteWebhookWithResponse(contextFor(t), res.JSON201.ID) })
	return res.JSON201
}

func (f *fixtures) void(t *testing.T, id uuid.UUID) {
	t.Helper()
	_, err := f.c.Void(contextFor(t), id, "")
	require.NoError(t, err)
}

// delivery returns a webhook delivery. For the shell, it is a stored delivery. For other languages, it is sent once the
// example is listening.
func (f *fixtures) delivery(t *testing.T, language string) fixture {
	t.Helper()
	env := []string{"WEBHOOK_SECRET=" + webhookSecret}
	if language != "sh" {
		address := kit.FreeAddress(t)
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		return fixture{env: append(env, "PORT="+port), whileRunning: func(t *testing.T) {
			t.Helper()
			require.Eventually(t, func() bool {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
				return err == nil && conn.Close() == nil
			}, time.Minute, 20*time.Millisecond)
			f.register(t, "http://"+address+"/hooks")
			f.void(t, f.sent(t).ID)
		}}
	}
	type saved struct {
		header http.Header
		body   []byte
	}
	got := make(chan saved, 10)
	hooks := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- saved{r.Header, body}
	}))
	defer hooks.Close()
	f.register(t, hooks.URL)
	f.void(t, f.sent(t).ID)
	select {
	case d := <-got:
		for name, header := range map[string]string{"WEBHOOK_ID": "Webhook-Id", "WEBHOOK_TIMESTAMP": "Webhook-Timestamp", "WEBHOOK_SIGNATURE": "Webhook-Signature"} {
			env = append(env, name+"="+d.header.Get(header))
		}
		return fixture{env: env, files: map[string][]byte{"body.json": d.body}}
	case <-contextFor(t).Done():
		require.FailNow(t, "nothing was delivered")
		return fixture{}
	}
}

// events returns the environment for an example that reads events. The events belong to an envelope that is created,
// sent and voided after the event in LAST.
func (f *fixtures) events(t *testing.T, _ string) fixture {
	t.Helper()
	f.draft(t)
	last := f.lastEvent(t)
	f.void(t, f.sent(t).ID)
	return fixture{env: []string{"LAST=" + last.String()}}
}

// stream is like events, but for an example that does not end. The last event occurs while the example is reading.
func (f *fixtures) stream(t *testing.T, _ string) fixture {
	t.Helper()
	f.draft(t)
	last := f.lastEvent(t)
	e := f.sent(t)
	return fixture{env: []string{"LAST=" + last.String()}, whileRunning: func(t *testing.T) {
		t.Helper()
		f.void(t, e.ID)
	}}
}

// template creates a template with one role and a variable in its subject.
func (f *fixtures) template(t *testing.T, _ string) fixture {
	t.Helper()
	c := &cli{home: t.TempDir(), env: f.s.env()}
	for name, b := range map[string][]byte{"contract.pdf": f.pdf, "template.yaml": []byte(`name: Agreement
externalId: agreement
subject: Agreement with {{company}}
roles: [{role: client}]
fields: [{role: client, type: signature, page: 1, x: 68, y: 505, w: 180, h: 48}]
`)} {
		require.NoError(t, os.WriteFile(filepath.Join(c.home, name), b, 0o600))
	}
	return fixture{env: []string{"ID=" + strings.Fields(c.must(t, "template", "push", c.home))[0]}}
}

func (f *fixtures) lastEvent(t *testing.T) uuid.UUID {
	t.Helper()
	last := uuid.Nil
	for e, err := range f.c.ReadEvents(contextFor(t), countersign.EventOptions{}) {
		require.NoError(t, err)
		last = e.ID
	}
	return last
}
