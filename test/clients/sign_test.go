package clients_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// sign performs the actions that the first signer performs in a browser.
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
	if signer.AuthMethod == api.AuthMethodEmailOtp {
		otherCodes.Lock() // another test may request a code for the same address
		defer otherCodes.Unlock()
		before := mailedCodes(t, s, signer.Email)
		post("/otp/request", map[string]any{})
		var codes []string
		require.Eventually(t, func() bool {
			codes = mailedCodes(t, s, signer.Email)
			return len(codes) > len(before)
		}, time.Minute, 50*time.Millisecond)
		post("/otp/verify", map[string]any{"code": codes[0]})
	}
	post("/consent", map[string]any{})
	var fields []map[string]any
	for _, f := range sent.Fields {
		switch {
		case f.SignerID != signer.ID:
		case f.Type == api.FieldTypeText:
			fields = append(fields, map[string]any{"fieldId": f.ID, "textValue": "London"})
		case f.Type == api.FieldTypeDate:
			fields = append(fields, map[string]any{"fieldId": f.ID, "textValue": "2026-11-22"})
		default:
			fields = append(fields, map[string]any{"fieldId": f.ID, "signatureImageBase64": base64.StdEncoding.EncodeToString(kit.Signature())})
		}
	}
	post("/sign", map[string]any{"fields": fields})
}

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

var otherCodes sync.Mutex

// mailedCodes returns the one-time codes in the inbox, newest first.
func mailedCodes(t *testing.T, s *service, to string) (codes []string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.InboxURL+"/api/messages?to="+url.QueryEscape(to), nil)
	require.NoError(t, err)
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var mails []struct {
		Text  string
		Links []string
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&mails))
	for _, m := range mails {
		if code := sixDigits.FindString(m.Text); len(m.Links) == 0 && code != "" {
			codes = append(codes, code)
		}
	}
	return codes
}

// request returns the data of an envelope with one signer who needs no code.
func request(subject string) countersign.EnvelopeRequest {
	none := api.SignerRequestAuthMethodNone
	fields := []countersign.FieldRequest{countersign.NewField("signature", "0", 1, 72, 600, 180, 50)}
	return countersign.EnvelopeRequest{
		TenantID: "acme", Subject: &subject, Fields: fields,
		Signers: []countersign.SignerRequest{{Name: "Ada", Email: "ada@example.com", AuthMethod: &none}},
	}
}

// accessToken returns an access token for curl.
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
