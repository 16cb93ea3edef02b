package clients_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/internal/testkit"
)

// sign is what the first open signer does in the browser.
func sign(t *testing.T, s *service, sent *countersign.Envelope) {
	t.Helper()
	signer := sent.Signers[0]
	require.NotNil(t, signer.SigningURL)
	token := (*signer.SigningURL)[strings.LastIndexByte(*signer.SigningURL, '/')+1:]
	post := func(call string, body any) {
		b, err := json.Marshal(body)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL+"/v1/signing/"+token+call, bytes.NewReader(b))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		answer, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", answer)
	}
	post("/consent", map[string]any{})
	var fields []map[string]any
	for _, f := range sent.Fields {
		if f.SignerID == signer.ID {
			fields = append(fields, map[string]any{"fieldId": f.ID, "signatureImageBase64": base64.StdEncoding.EncodeToString(testkit.Signature())})
		}
	}
	post("/sign", map[string]any{"fields": fields})
}

// request is an envelope for one signer who needs no code.
func request(subject string) countersign.EnvelopeRequest {
	none := api.SignerRequestAuthMethodNone
	fields := []countersign.FieldRequest{countersign.NewField("signature", "0", 1, 72, 600, 180, 50)}
	return countersign.EnvelopeRequest{
		TenantID: "acme", Subject: &subject, Fields: &fields,
		Signers: []countersign.SignerRequest{{Name: "Ada", Email: "ada@example.com", AuthMethod: &none}},
	}
}

// accessToken is one for curl.
func accessToken(t *testing.T, s *service) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {s.ClientID}, "client_secret": {s.ClientSecret}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL+"/oauth/token", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Token string `json:"access_token"`
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&answer))
	require.NotEmpty(t, answer.Token)
	return answer.Token
}
