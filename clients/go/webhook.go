package countersign

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/clients/go/api"
)

// Event is the body of a webhook delivery. For the test event ("ping") of the console, only Event, ID and CreatedAt are
// set. For bulk.completed, Data.BulkSendID and Data.Counts are also set.
type Event = api.Notice

// Tolerance is the maximum age of a delivery. It is also the maximum time by which the sender's clock may be ahead.
const Tolerance = 5 * time.Minute

// ErrSignature reports that a delivery is not from the service, or is too old.
var ErrSignature = errors.New("countersign: the delivery has no valid signature")

// Verify verifies a delivery, using its Standard Webhooks headers, and parses it. The body must be the unchanged body
// of the request. The delivery must be signed with one of the secrets. While a secret is being replaced, pass both
// secrets. An event can be delivered more than once. Use Event.ID to recognize it.
func Verify(body []byte, header http.Header, secrets ...string) (*Event, error) {
	return verifyAt(time.Now(), body, header, secrets...) //nolint:forbidigo // the receiver's own clock
}

func verifyAt(now time.Time, body []byte, header http.Header, secrets ...string) (*Event, error) {
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	secs, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" {
		return nil, ErrSignature
	}
	if age := now.Sub(time.Unix(secs, 0)); age > Tolerance || age < -Tolerance {
		return nil, fmt.Errorf("%w: the timestamp differs from the current time by %s", ErrSignature, age.Abs().Round(time.Second))
	}
	valid := false
	for signature := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		encoded, ok := strings.CutPrefix(signature, "v1,")
		if !ok {
			continue
		}
		given, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		valid = valid || slices.ContainsFunc(secrets, func(s string) bool {
			return s != "" && hmac.Equal(given, mac(standardKey(s), id, ".", stamp, ".", string(body)))
		})
	}
	if !valid {
		return nil, ErrSignature
	}
	e := &Event{}
	if err := json.Unmarshal(body, e); err != nil {
		return nil, fmt.Errorf("countersign: read a delivery: %w", err)
	}
	return e, nil
}

// VerifySignature verifies the X-Service-Signature header. This header covers only the body, so it does not prove the
// age of the delivery. Prefer Verify.
func VerifySignature(body []byte, signature string, secrets ...string) bool {
	given, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	if err != nil || !strings.HasPrefix(signature, "sha256=") {
		return false
	}
	return slices.ContainsFunc(secrets, func(s string) bool {
		return s != "" && hmac.Equal(given, mac([]byte(s), string(body)))
	})
}

// standardKey returns the decoded key of a secret with the form whsec_<base64>. Any other secret is used as the key
// itself.
func standardKey(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}

func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		_, _ = io.WriteString(h, p) // writing to a hash never fails
	}
	return h.Sum(nil)
}

// maxDelivery is the maximum size of the body of a delivery, in bytes.
const maxDelivery = 4 << 20

// WebhookHandler returns a handler that receives deliveries. It responds with 401 if Verify rejects the delivery.
// Otherwise it calls fn, and responds with 204 if fn returns nil. If fn returns an error, it responds with 500, so that
// the service repeats the delivery. fn must return within ten seconds.
func WebhookHandler(fn func(context.Context, *Event) error, secrets ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
		if err != nil {
			http.Error(w, "the body could not be read", http.StatusBadRequest)
			return
		}
		e, err := Verify(body, r.Header, secrets...)
		if err != nil {
			http.Error(w, "no valid signature", http.StatusUnauthorized)
			return
		}
		if err := fn(r.Context(), e); err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
