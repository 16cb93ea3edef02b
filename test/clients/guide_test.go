package clients_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/test/kit"
)

// runPython runs a program with a JSON value as its standard input, and decodes its output.
func runPython(t *testing.T, program string, input any) (out []any) {
	t.Helper()
	in, err := json.Marshal(input)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "python3", "-I", "-c", "import hashlib, hmac, json, sys\n"+program)
	cmd.Stdin = bytes.NewReader(in)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	require.NoError(t, err, "%s", said.String())
	require.NoError(t, json.Unmarshal(text, &out), "%s", text)
	return out
}

// TestGuideDigest checks that the guide's function computes the digest that the service requires. The values come
// from several signers and include non-ASCII letters and pictures.
func TestGuideDigest(t *testing.T) {
	t.Parallel()
	s := start(t)
	c, ctx := s.client(t), contextFor(t)
	none := api.SignerRequestAuthMethodNone
	e := countersign.EnvelopeRequest{TenantID: "acme"}
	for i, email := range []string{"ada@example.com", "grace@example.com", "bob@example.com"} {
		e.Signers = append(e.Signers, countersign.SignerRequest{Name: "Signer", Email: email, AuthMethod: &none, RoutingOrder: countersign.Ptr(i + 1)})
		e.Fields = append(e.Fields, countersign.NewField("signature", email, 1, 72, 100+100*float64(i), 180, 40), countersign.NewField("text", email, 1, 300, 100+100*float64(i), 180, 20))
	}
	made, err := c.Create(ctx, e)
	require.NoError(t, err)
	_, err = c.Upload(ctx, made.ID, bytes.NewReader(kit.OnePage()))
	require.NoError(t, err)
	sent, err := c.Send(ctx, made.ID, "")
	require.NoError(t, err)
	sign(t, s, sent)
	for signed := 1; signed <= 2; signed++ {
		link := linkOf(t, c, sent, signed)
		context := signingContext(t, s, link)
		require.Len(t, context["filled"], 2*signed)
		require.Regexp(t, `^[0-9a-f]{64}$`, context["shown"])
		program := examples(t, "../../docs/build/guide.md", "python")[0] + "\nc = json.load(sys.stdin)\nprint(json.dumps([shown(c['envelopeId'], c['filled']), shown(c['envelopeId'], c['filled'][1:])]))"
		out := runPython(t, program, context)
		require.Equal(t, context["shown"], out[0])
		require.NotEqual(t, context["shown"], out[1], "omitting a value must change the digest")
		next := *sent
		next.Signers = []countersign.Signer{sent.Signers[signed]}
		next.Signers[0].SigningURL = &link
		sign(t, s, &next)
	}
}

// linkOf returns the signing link of a signer. It waits for the signer's turn, because the link does not exist before
// then.
func linkOf(t *testing.T, c *countersign.Client, e *countersign.Envelope, signer int) (link string) {
	t.Helper()
	require.Eventually(t, func() bool {
		res, err := c.API.CreateSigningLinkWithResponse(t.Context(), e.ID, e.Signers[signer].ID, nil, api.CreateSigningLinkJSONRequestBody{})
		if err != nil {
			return false
		}
		link = res.JSON200.SigningURL
		return true
	}, time.Minute, 50*time.Millisecond)
	return link
}

func signingContext(t *testing.T, s *service, link string) (out map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL+"/v1/signing/"+link[strings.LastIndexByte(link, '/')+1:], http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.NoError(t, json.NewDecoder(res.Body).Decode(&out))
	require.Equal(t, http.StatusOK, res.StatusCode, "%v", out)
	return out
}

// TestGuideSignature checks that the guide's function accepts a delivery from the service, and rejects any other
// body.
func TestGuideSignature(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.client(t)
	got := make(chan map[string]string, 10)
	hooks := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- map[string]string{"body": string(body), "signature": r.Header.Get("X-Service-Signature")}
	}))
	t.Cleanup(hooks.Close)
	secret := "a long random string"
	_, err := c.API.CreateWebhookWithResponse(t.Context(), nil, api.WebhookRequest{URL: hooks.URL, Secret: &secret, Events: []api.WebhookEventName{"envelope.created"}})
	require.NoError(t, err)
	_, err = c.Create(t.Context(), request("Müller & Söhne"))
	require.NoError(t, err)
	var delivery map[string]string
	select {
	case delivery = <-got:
	case <-contextFor(t).Done():
		require.FailNow(t, "nothing was delivered")
	}
	delivery["secret"] = secret
	snippet := examples(t, "../../docs/build/guide.md", "python")[1]
	program := `
from types import SimpleNamespace
given = json.load(sys.stdin)
def accepts(secret, body):
    request = SimpleNamespace(headers={"X-Service-Signature": given["signature"]})
    try:
        exec(snippet, {"hmac": hmac, "hashlib": hashlib, "secret": secret, "body": body, "request": request})
    except AssertionError:
        return False
    return True
secret, body = given["secret"].encode(), given["body"].encode()
print(json.dumps([accepts(secret, body), accepts(secret, body + b" "), accepts(b"another", body)]))
`
	literal, err := json.Marshal(snippet)
	require.NoError(t, err)
	require.Equal(t, []any{true, false, false}, runPython(t, "snippet = "+string(literal)+program, delivery))
}
