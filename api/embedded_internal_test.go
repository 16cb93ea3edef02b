package api

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestThemes checks that only the two supported members of a theme are read, and that invalid values are rejected.
func TestThemes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		`{}`: {}, `{"theme":null}`: {}, `{"theme":{"other":1}}`: {}, `{"theme":{"primaryColor":"#1a56db"}}`: {"#1a56db"}, `{"theme":{"primaryColor":"#ABC"}}`: {"#ABC"},
		`{"theme":{"borderRadius":8}}`: {"", "8px"}, `{"theme":{"borderRadius":"8"}}`: {"", "8"}, `{"theme":{"borderRadius":"0.5rem"}}`: {"", "0.5rem"},
		`{"theme":{"borderRadius":"100%"}}`: {"", "100%"}, `{"theme":{"borderRadius":1.25}}`: {"", "1.25px"},
	} {
		o := objectOf(t, text)
		color, corners := readTheme(o)
		require.Empty(t, o.p, text)
		got := [2]string{}
		if color != nil {
			got[0] = *color
		}
		if corners != nil {
			got[1] = *corners
		}
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		`"primaryColor":"red"`, `"primaryColor":"#12"`, `"primaryColor":"#1234567"`, `"primaryColor":"#1a56db;"`, `"primaryColor":7`, `"borderRadius":"8pt"`, `"borderRadius":"1000"`,
		`"borderRadius":-1`, `"borderRadius":1.234`, `"borderRadius":true`, `"borderRadius":""`,
	} {
		o := objectOf(t, `{"theme":{`+text+`}}`)
		readTheme(o)
		name, _, _ := strings.Cut(strings.TrimPrefix(text, `"`), `"`)
		require.Contains(t, o.p, "theme."+name, text)
	}
}

// TestReferers checks that the referring page of an embedded page must have the origin of the session or of the
// service.
func TestReferers(t *testing.T) {
	t.Parallel()
	s := &embeddedHandler{}
	s.embedURL = "https://Sign.example.com/embed"
	for referer, want := range map[string]bool{
		"https://app.example.com/x": true, "https://APP.example.com": true, "https://sign.example.com/embed/t": true, "https://sign.example.com:8443/": false, "http://app.example.com": false,
		"https://other.example.com": false, "": false, "://": false,
	} {
		require.Equal(t, want, s.isAllowedReferer(referer, "https://app.example.com"), referer)
	}
	s.embedURL = "://"
	require.False(t, s.isAllowedReferer("https://sign.example.com", "https://app.example.com"))
	require.True(t, s.isAllowedReferer("https://app.example.com", "https://app.example.com"))
}

// TestFrameAncestors checks that the frame-ancestors directive of the page is replaced before the first byte is
// written.
func TestFrameAncestors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ancestor string
		status   int
		write    int // 0 if the body is written without a status
		want     int
		options  string
	}{
		{"https://a.b", 0, 0, 200, ""}, {"https://a.b", 0, 200, 200, ""}, {"https://a.b", 0, 304, 304, ""}, {"'none'", 404, 200, 404, "DENY"}, {"'none'", 404, 0, 404, "DENY"}, {"'none'", 404, 304, 304, "DENY"},
	} {
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'self' ; ; script-src 'self'")
		rec.Header().Set("X-Frame-Options", "DENY")
		w := &frameAncestorsWriter{ResponseWriter: rec, ancestor: tt.ancestor, status: tt.status}
		if tt.write != 0 {
			w.WriteHeader(tt.write)
		}
		if tt.write != http.StatusNotModified {
			_, err := io.WriteString(w, "x")
			require.NoError(t, err)
			require.Equal(t, "x", rec.Body.String())
		}
		require.Equal(t, tt.want, rec.Code, "%+v", tt)
		require.Equal(t, "default-src 'none'; script-src 'self'; frame-ancestors "+tt.ancestor, rec.Header().Get("Content-Security-Policy"))
		require.Equal(t, tt.options, rec.Header().Get("X-Frame-Options"))
	}
}

// TestWithOrigin checks that an error contains the origin of its session and is otherwise unchanged.
func TestWithOrigin(t *testing.T) {
	t.Parallel()
	session := &models.EmbeddedSession{PageSession: models.PageSession{AllowedOrigin: "https://a.b"}, EnvelopeID: uuid.New(), SignerID: uuid.New()}
	base := models.Reject(models.KindGone, "gone", "Gone.")
	base.Details = map[string]any{"more": 1}
	var told *models.Error
	require.ErrorAs(t, withOrigin(base, session), &told)
	require.Equal(t, map[string]any{"more": 1, "allowedOrigin": "https://a.b", "envelopeId": session.EnvelopeID, "signerId": session.SignerID}, told.Details)
	require.Equal(t, map[string]any{"more": 1}, base.Details)
	require.ErrorAs(t, withOrigin(models.Reject(models.KindGone, "gone", "Gone."), session), &told)
	require.Len(t, told.Details, 3)
	other := errors.New("other")
	require.Equal(t, other, withOrigin(other, session))
}
