package clients_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
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
	fields := []countersign.FieldRequest{{SignerID: "0", Type: "signature", Page: 1, X: 72, Y: 600, W: 180, H: 50}}
	return countersign.EnvelopeRequest{
		TenantID: "acme", Subject: &subject, Fields: &fields,
		Signers: []countersign.SignerRequest{{Name: "Ada", Email: "ada@example.com", AuthMethod: &none}},
	}
}
