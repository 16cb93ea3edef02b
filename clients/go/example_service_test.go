package countersign_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// TestMain runs the examples against the service specified by COUNTERSIGN_URL, COUNTERSIGN_CLIENT_ID and
// COUNTERSIGN_CLIENT_SECRET. Without these variables, it uses a small fake service. TestGoExamples in test/clients
// sets them.
func TestMain(m *testing.M) {
	if os.Getenv("COUNTERSIGN_URL") == "" {
		s := httptest.NewServer(&standIn{envelopes: make(map[string]map[string]any), files: make(map[string][]byte)})
		for name, value := range map[string]string{"COUNTERSIGN_URL": s.URL, "COUNTERSIGN_CLIENT_ID": "id", "COUNTERSIGN_CLIENT_SECRET": "secret"} {
			_ = os.Setenv(name, value)
		}
	}
	os.Exit(m.Run())
}

// standIn is a fake service that supports the requests of the examples.
type standIn struct {
	mu        sync.Mutex
	envelopes map[string]map[string]any
	files     map[string][]byte
}

// ServeHTTP implements http.Handler.
func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, action, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/envelopes/"), "/")
	e := s.envelopes[id]
	switch {
	case r.URL.Path == "/oauth/token":
		answer(w, 200, map[string]any{"access_token": "token", "token_type": "Bearer", "expires_in": 3600})
	case r.URL.Path == "/v1/envelopes" && r.Method == http.MethodPost:
		e = make(map[string]any)
		_ = json.NewDecoder(r.Body).Decode(&e)
		e["id"], e["status"] = uuid.NewString(), "draft"
		for _, signer := range e["signers"].([]any) {
			if s, ok := signer.(map[string]any); !ok || !strings.Contains(s["email"].(string), "@") {
				answer(w, 400, map[string]any{"error": "validation_error", "message": "signers[0].email: must be an email address", "errors": map[string]any{"signers[0].email": []string{"must be an email address"}}})
				return
			}
		}
		delete(e, "fields")
		s.envelopes[e["id"].(string)] = e
		answer(w, 201, e)
	case r.URL.Path == "/v1/envelopes":
		page := []any{}
		for _, e := range s.envelopes {
			if e["tenantId"] == r.URL.Query().Get("tenantId") {
				page = append(page, e)
			}
		}
		answer(w, 200, map[string]any{"data": page, "nextCursor": nil})
	case e == nil:
		answer(w, 404, map[string]any{"error": "not_found", "message": "Not found, or not accessible with this credential."})
	case action == "document" && r.Method == http.MethodPost:
		s.files[id], _ = io.ReadAll(r.Body)
		answer(w, 200, map[string]any{"documentId": uuid.NewString(), "pageCount": 1})
	case action == "document":
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = w.Write(s.files[id])
	case action == "send":
		e["status"] = "sent"
		answer(w, 200, e)
	case action == "void":
		e["status"] = "voided"
		answer(w, 200, e)
	default:
		answer(w, 200, e)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
