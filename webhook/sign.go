// Package webhook delivers events to the endpoints of apps. It signs event bodies, restricts the addresses that endpoints may have,
// sends deliveries and defines the delays between attempts. It stores nothing.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader is the fixed header that carries Sign's value.
const SignatureHeader = "X-Service-Signature"

// NextSignatureHeader carries, while a secret is replaced, Sign's value under
// the new secret.
const NextSignatureHeader = "X-Service-Signature-Next"

// Headers of the Standard Webhooks specification.
const (
	StandardIDHeader        = "Webhook-Id"
	StandardTimestampHeader = "Webhook-Timestamp"
	StandardSignatureHeader = "Webhook-Signature"
)

// Sign returns "sha256=" and the lowercase hex HMAC-SHA256 of the raw body.
// Receivers compare it in constant time.
func Sign(secret, body []byte) string {
	return "sha256=" + hex.EncodeToString(mac(secret, body))
}

// StandardHeaders returns webhook-id, webhook-timestamp (Unix seconds) and webhook-signature as defined by Standard
// Webhooks 1.0: for each secret "v1," and the base64 HMAC-SHA256 over "id.timestamp.body", separated by spaces, so that
// a receiver with any one of the secrets accepts. The key of a secret of the form whsec_<base64> is the decoded base64,
// as that specification's libraries expect. Any other secret is the key itself.
func StandardHeaders(id string, at time.Time, body []byte, secrets ...[]byte) http.Header {
	ts := strconv.FormatInt(at.Unix(), 10)
	sigs := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		sum := mac(standardKey(secret), []byte(id), []byte{'.'}, []byte(ts), []byte{'.'}, body)
		sigs = append(sigs, "v1,"+base64.StdEncoding.EncodeToString(sum))
	}
	return http.Header{
		StandardIDHeader:        {id},
		StandardTimestampHeader: {ts},
		StandardSignatureHeader: {strings.Join(sigs, " ")},
	}
}

func standardKey(secret []byte) []byte {
	encoded, ok := strings.CutPrefix(string(secret), "whsec_")
	if !ok {
		return secret
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return secret
	}
	return key
}

func mac(secret []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
