package inbox

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-message"
)

//go:embed web
var web embed.FS

const (
	pageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
		"frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// The HTML of an email runs no scripts and loads nothing, and its links open in a new tab.
	mailCSP = "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; " +
		"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
	fileCSP = "sandbox; default-src 'none'"
)

// Handler serves the page at /, the JSON API under /api/, and the Twilio-compatible endpoint POST
// /2010-04-01/Accounts/{sid}/Messages.json. Handler must be mounted at the root of its listener.
//
//	GET    /api/messages?to=&kind=mail|sms&after=<id or RFC 3339 time>&limit=&summary=1
//	       an array of messages, newest first; summary omits text, html and links
//	       (but keeps the beginning of a text message)
//	DELETE /api/messages
//	GET    /api/messages/{id}
//	GET    /api/messages/{id}/source             the email as received
//	GET    /api/messages/{id}/html               its HTML, sandboxed
//	GET    /api/messages/{id}/attachments/{n}
func (b *Inbox) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", page("index.html", "text/html; charset=utf-8"))
	mux.HandleFunc("GET /inbox.js", page("inbox.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /inbox.css", page("inbox.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /api/messages", b.list)
	mux.HandleFunc("DELETE /api/messages", b.clear)
	mux.HandleFunc("GET /api/messages/{id}", b.get)
	mux.HandleFunc("GET /api/messages/{id}/source", b.source)
	mux.HandleFunc("GET /api/messages/{id}/html", b.markup)
	mux.HandleFunc("GET /api/messages/{id}/attachments/{n}", b.attachment)
	mux.HandleFunc("POST /2010-04-01/Accounts/{sid}/Messages.json", b.receiveSMS)
	return secure(http.NewCrossOriginProtection().Handler(mux))
}

func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pageCSP)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func page(name, contentType string) http.HandlerFunc {
	data, _ := web.ReadFile("web/" + name) // an embedded file, so reading it cannot fail
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(data) // the client may have disconnected
	}
}

func (b *Inbox) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := Filter{Kind: Kind(q.Get("kind")), After: q.Get("after"), To: q.Get("to")}
	// The "+" of a telephone number arrives as a space if it is not escaped.
	if strings.HasPrefix(f.To, " ") {
		f.To = "+" + strings.TrimSpace(f.To)
	}
	if f.Kind != "" && f.Kind != KindMail && f.Kind != KindSMS {
		fail(w, http.StatusBadRequest, "kind must be mail or sms")
		return
	}
	if f.After != "" && !validID(f.After) {
		at, err := time.Parse(time.RFC3339Nano, f.After)
		if err != nil {
			fail(w, http.StatusBadRequest, "after must be a message id or an RFC 3339 time")
			return
		}
		f.After = newID(at)
	}
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxMessages {
			fail(w, http.StatusBadRequest, "limit must be a number from 1 to 1000")
			return
		}
		f.Limit = n
	}
	found := b.List(f)
	if q.Get("summary") != "" {
		writeJSON(w, http.StatusOK, found)
		return
	}
	full := []Message{}
	for _, s := range found {
		if m, err := b.Get(s.ID); err == nil { // it may have been removed in the meantime
			full = append(full, m)
		}
	}
	writeJSON(w, http.StatusOK, full)
}

func (b *Inbox) clear(w http.ResponseWriter, _ *http.Request) {
	b.Clear()
	w.WriteHeader(http.StatusNoContent)
}

func (b *Inbox) get(w http.ResponseWriter, r *http.Request) {
	m, err := b.Get(r.PathValue("id"))
	if err != nil {
		failLookup(w, err)
		return
	}
	writeJSON(w, http.StatusOK, m)
}

func (b *Inbox) source(w http.ResponseWriter, r *http.Request) {
	src, err := b.Source(r.PathValue("id"))
	if err != nil {
		failLookup(w, err)
		return
	}
	defer func() { _ = src.Close() }()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Security-Policy", fileCSP)
	_, _ = io.Copy(w, src) // the client may have disconnected
}

var headTag = regexp.MustCompile(`(?i)<head[^>]*>`)

func (b *Inbox) markup(w http.ResponseWriter, r *http.Request) {
	m, err := b.Get(r.PathValue("id"))
	if err == nil && m.HTML == "" {
		err = fs.ErrNotExist
	}
	if err != nil {
		failLookup(w, err)
		return
	}
	const target = `<base target="_blank">`
	body := target + m.HTML
	if at := headTag.FindStringIndex(m.HTML); at != nil {
		body = m.HTML[:at[1]] + target + m.HTML[at[1]:]
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", mailCSP)
	_, _ = io.WriteString(w, body) // the client may have disconnected
}

var errFound = errors.New("found")

func (b *Inbox) attachment(w http.ResponseWriter, r *http.Request) {
	m, err := b.Get(r.PathValue("id"))
	n, numErr := strconv.Atoi(r.PathValue("n"))
	if err == nil && (numErr != nil || n < 0 || n >= len(m.Attachments)) {
		err = fs.ErrNotExist
	}
	if err != nil {
		failLookup(w, err)
		return
	}
	src, err := b.Source(m.ID)
	if err != nil {
		failLookup(w, err)
		return
	}
	defer func() { _ = src.Close() }()
	a := m.Attachments[n]
	w.Header().Set("Content-Type", a.ContentType)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}))
	w.Header().Set("Content-Security-Policy", fileCSP)
	// Walk the parts in the same order as parse does, to find the n-th attachment.
	replay, seen := Message{}, 0
	_ = walkLeaves(src, nil, func(leaf *message.Entity) error {
		if seen == n && replay.wouldAttach(leaf) {
			_, _ = io.Copy(w, leaf.Body) // the client may have disconnected
			return errFound
		}
		err := replay.addLeaf(leaf)
		seen = len(replay.Attachments)
		return err
	})
}

func newID(t time.Time) string {
	return fmt.Sprintf("%016d", min(max(0, t.UnixMicro()), 9_999_999_999_999_999))
}

func failLookup(w http.ResponseWriter, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		fail(w, http.StatusNotFound, "no such message")
		return
	}
	fail(w, http.StatusInternalServerError, "the message cannot be read")
}

func fail(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"error": message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}
