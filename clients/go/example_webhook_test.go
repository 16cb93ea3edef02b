package countersign_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	countersign "countersign/clients/go"
)

// Receives events. The handler responds with 401 to a request that was not signed with the secret.
func ExampleWebhookHandler() {
	handler := countersign.WebhookHandler(func(_ context.Context, e *countersign.Event) error {
		fmt.Println(e.Event)
		return nil
	}, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

	// This is the request that the service sends.
	body := `{"event":"envelope.completed","id":"0197a1c2-0000-7000-8000-000000000001","createdAt":"2026-11-20T09:00:00Z","data":{}}`
	now := strconv.FormatInt(time.Now().Unix(), 10)
	key, _ := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("1." + now + "." + body))
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/hooks", strings.NewReader(body))
	req.Header = http.Header{
		"Webhook-Id": {"1"}, "Webhook-Timestamp": {now}, "Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	fmt.Println(w.Code)
	// Output:
	// envelope.completed
	// 204
}
