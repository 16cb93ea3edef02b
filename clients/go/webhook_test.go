package countersign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// knownAnswer is a row of the test vectors that all clients and the service share.
type knownAnswer struct {
	Name, Secret, ID, Body              string
	Timestamp                           int64
	ServiceSignature, StandardSignature string
}

func knownAnswers(t *testing.T) (rows []knownAnswer) {
	t.Helper()
	b, err := os.ReadFile("../testdata/signatures.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &rows))
	require.NotEmpty(t, rows)
	return rows
}

func (k knownAnswer) header() http.Header {
	return http.Header{"Webhook-Id": {k.ID}, "Webhook-Timestamp": {strconv.FormatInt(k.Timestamp, 10)}, "Webhook-Signature": {k.StandardSignature}}
}

func TestVerify_KnownSignatures(t *testing.T) {
	t.Parallel()
	for _, k := range knownAnswers(t) {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			at := time.Unix(k.Timestamp, 0)
			// The signature is verified before the body is parsed. An empty body can have a valid signature, although
			// it is not an event.
			signed := func(at time.Time, body string, h http.Header, secrets ...string) bool {
				_, err := verifyAt(at, []byte(body), h, secrets...)
				return !errors.Is(err, ErrSignature)
			}
			require.True(t, signed(at, k.Body, k.header(), k.Secret))
			require.True(t, signed(at, k.Body, k.header(), "another", k.Secret), "one of several")
			require.True(t, signed(at.Add(Tolerance), k.Body, k.header(), k.Secret))
			require.True(t, VerifySignature([]byte(k.Body), k.ServiceSignature, "another", k.Secret))

			require.False(t, signed(at, k.Body+" ", k.header(), k.Secret), "another body")
			require.False(t, signed(at, k.Body, k.header(), k.Secret+"x"), "another secret")
			require.False(t, signed(at, k.Body, k.header()), "no secret")
			require.False(t, signed(at, k.Body, k.header(), ""), "an empty secret")
			require.False(t, signed(at.Add(Tolerance+time.Second), k.Body, k.header(), k.Secret), "too old")
			require.False(t, signed(at.Add(-Tolerance-time.Second), k.Body, k.header(), k.Secret), "ahead")
			require.False(t, VerifySignature([]byte(k.Body+" "), k.ServiceSignature, k.Secret))
			require.False(t, VerifySignature([]byte(k.Body), k.ServiceSignature, k.Secret+"x"))
			require.False(t, VerifySignature([]byte(k.Body), strings.TrimPrefix(k.ServiceSignature, "sha256="), k.Secret))
			for name := range k.header() {
				h := k.header()
				h.Set(name, "1"+h.Get(name))
				require.False(t, signed(at, k.Body, h, k.Secret), "%s was changed", name)
				h.Del(name)
				require.False(t, signed(at, k.Body, h, k.Secret), "%s is missing", name)
			}
			two := k.header()
			two.Set("Webhook-Signature", "v1,AAAA v2,"+k.StandardSignature[3:]+" "+k.StandardSignature)
			require.True(t, signed(at, k.Body, two, k.Secret), "beside another secret's signature")
			two.Set("Webhook-Signature", "v2,"+k.StandardSignature[3:])
			require.False(t, signed(at, k.Body, two, k.Secret), "of another version")
		})
	}
}

func TestWebhookHandler(t *testing.T) {
	t.Parallel()
	body := []byte(`{"event":"envelope.completed","id":"0199d7a0-0000-7000-8000-000000000001","envelopeId":"0199d7a0-0000-7000-8000-000000000002","createdAt":"2026-11-22T10:00:00Z","data":{"status":"completed","signers":[]}}`)
	var got *Event
	var fail error
	h := WebhookHandler(func(_ context.Context, e *Event) error { got = e; return fail }, "old", "new")
	deliver := func(secret string, body []byte, at time.Time) int {
		stamp := strconv.FormatInt(at.Unix(), 10)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks", bytes.NewReader(body))
		k := knownAnswer{ID: "evt", Timestamp: at.Unix(), StandardSignature: "v1," + standardSignature(secret, "evt", stamp, body)}
		r.Header = k.header()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusNoContent, deliver("new", body, time.Now()))
	require.EqualValues(t, "envelope.completed", got.Event)
	require.Equal(t, "0199d7a0-0000-7000-8000-000000000002", got.EnvelopeID.String())
	require.Equal(t, http.StatusNoContent, deliver("old", body, time.Now()))
	fail = errors.New("disk full")
	require.Equal(t, http.StatusInternalServerError, deliver("new", body, time.Now()))
	got = nil
	require.Equal(t, http.StatusUnauthorized, deliver("other", body, time.Now()))
	require.Equal(t, http.StatusUnauthorized, deliver("new", body, time.Now().Add(-time.Hour)))
	require.Equal(t, http.StatusBadRequest, deliver("new", bytes.Repeat([]byte("x"), maxDelivery+1), time.Now()))
	require.Nil(t, got, "unsigned deliveries must not reach the application")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/hooks", http.NoBody))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}
