// Package webhook delivers events to the endpoints of apps. It signs event bodies, restricts the addresses that
// endpoints may have, sends deliveries and defines the delays between attempts. It stores nothing.
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

// SignatureHeader is the header that contains the result of Sign.
const SignatureHeader = "X-Service-Signature"

// nextSignatureHeader is the header that contains the result of Sign with the new secret while a secret is being
// replaced.
const nextSignatureHeader = "X-Service-Signature-Next"

// The headers of the Standard Webhooks specification.
const (
	standardIDHeader        = "Webhook-Id"
	StandardTimestampHeader = "Webhook-Timestamp"
	StandardSignatureHeader = "Webhook-Signature"
)

// Sign returns "sha256=" followed by the HMAC-SHA256 of the raw body in lowercase hexadecimal. Receivers should compare
// it in constant time.
func Sign(secret, body []byte) string {
	return "sha256=" + hex.EncodeToString(mac(secret, body))
}

// StandardHeaders returns webhook-id, webhook-timestamp (Unix seconds) and webhook-signature as defined by Standard
// Webhooks 1.0. The signature header contains one entry for each secret, separated by spaces, so that a receiver with
// any of the secrets can verify it. An entry is "v1," followed by the base64 HMAC-SHA256 over "id.timestamp.body". If a
// secret has the form whsec_<base64>, the key is the decoded base64, as in the libraries for that specification. Any
// other secret is itself the key.
func StandardHeaders(id string, at time.Time, body []byte, secrets ...[]byte) http.Header {
	ts := strconv.FormatInt(at.Unix(), 10)
	sigs := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		sum := mac(standardKey(secret), []byte(id), []byte{'.'}, []byte(ts), []byte{'.'}, body)
		sigs = append(sigs, "v1,"+base64.StdEncoding.EncodeToString(sum))
	}
	return http.Header{
		standardIDHeader:        {id},
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
