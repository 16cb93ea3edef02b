package api

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

const (
	sessionMinutes    = 30
	maxSessionMinutes = 120
	maxURL            = 2048
)

var (
	hexColor = regexp.MustCompile(`^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`)
	radius   = regexp.MustCompile(`^[0-9]{1,3}(?:\.[0-9]{1,2})?(?:px|rem|em|%)?$`)
)

// createSession creates a session in which a signer signs on a page that is embedded in a given origin.
func (s *embeddedHandler) createSession(c *gin.Context, app caller, o *object) error {
	in := models.EmbeddedSession{PageSession: s.sessionInput(app, o, maxSessionMinutes, false), EnvelopeID: o.id("envelopeId"), SignerID: o.id("signerId")}
	if err := o.err(); err != nil {
		return err
	}
	if err := app.CheckTenant(in.TenantID); err != nil {
		return err
	}
	e, err := s.envelopes.callerEnvelopeByID(c, app, in.EnvelopeID)
	if err != nil {
		return err
	}
	if e.TenantID != in.TenantID {
		return models.ErrNotFound
	}
	seen, err := e.CheckEmbed(in.SignerID, in.CreatedAt)
	if err != nil {
		return err
	}
	token, hash := newEmbeddedToken("")
	in.TokenHash = hash
	until := in.ExpiresAt
	create := func(st embeddedStore, ctx context.Context, in *models.EmbeddedSession) error {
		return st.CreateEmbeddedSession(ctx, in, func(e *models.Envelope) error {
			if in.ExpiresAt = until; e.ExpiresAt != nil && e.ExpiresAt.Before(until) {
				in.ExpiresAt = *e.ExpiresAt
			}
			return e.LinkUntil(s.actionContext(c, app.actor()), seen, in.ExpiresAt)
		})
	}
	return storeSession(s, c, &in, create, func(e *models.EmbeddedSession) sessionWithToken {
		return sessionWithToken{e.ID, token, s.embedURL + "/" + token, e.ExpiresAt}
	})
}

// secureURL reports whether a URL uses https. In development, it also accepts http on this machine.
func (s *embeddedHandler) secureURL(u *url.URL) bool {
	if u.Host == "" || u.User != nil {
		return false
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return u.Scheme == "https" || u.Scheme == "http" && s.development
	}
	return u.Scheme == "https"
}

// returnURL reads the URL to which the signer returns after the session.
func (s *embeddedHandler) returnURL(o *object) *string {
	to := o.optStr("returnUrl")
	if to == nil {
		return nil
	}
	if u, err := url.Parse(*to); err != nil || !s.secureURL(u) || len(*to) > maxURL || !isText(*to) {
		o.bad("returnUrl", "must be an https address")
	}
	return to
}

// readTheme reads the two supported members of a theme. It ignores all other members.
func readTheme(o *object) (primaryColor, borderRadius *string) {
	theme := o.sub("theme")
	if theme == nil {
		return nil, nil
	}
	primaryColor = theme.optStr("primaryColor")
	if primaryColor != nil && !hexColor.MatchString(*primaryColor) {
		theme.bad("primaryColor", "must be a hex color such as #1a56db")
	}
	var text string
	switch v := theme.get("borderRadius").(type) {
	case nil:
		return primaryColor, nil
	case string:
		text = v
	case jsonNumber:
		text = v.String() + "px"
	}
	if !radius.MatchString(text) {
		theme.bad("borderRadius", "must be a length such as 8 or 8px")
	}
	return primaryColor, &text
}

type themeView struct {
	PrimaryColor *string `json:"primaryColor"`
	BorderRadius *string `json:"borderRadius"`
}

// openSession responds with the data of the embedded page: its recipient, and a signing token that expires with the
// session. The page can call it repeatedly, because a user may reload the page.
func (s *embeddedHandler) openSession(c *gin.Context) error {
	session, err := s.store.EmbeddedSessionByToken(c.Request.Context(), tokenHash(c.Param("token")))
	if err != nil {
		return notFoundAs(models.ErrSessionInvalid, err)
	}
	now := s.now()
	if err := session.Live(now); err != nil {
		return withOrigin(err, session)
	}
	e, err := s.store.Envelope(c.Request.Context(), session.AppID, session.EnvelopeID)
	if err != nil {
		return err
	}
	if signer := e.Signer(session.SignerID); signer != nil && signer.HasActed() {
		return withOrigin(models.Reject(models.KindGone, "session_completed", "This signer has already signed or declined."), session)
	}
	signer, err := e.CheckEmbed(session.SignerID, now)
	if models.IsRejection(err) {
		return withOrigin(models.ErrSessionInvalid, session)
	}
	if err != nil {
		return err
	}
	token, err := s.tokens.IssueEmbedded(session, signer)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, gin.H{
		"envelopeId": session.EnvelopeID, "signerId": session.SignerID, "signingToken": token, "allowedOrigin": session.AllowedOrigin,
		"returnUrl": session.ReturnURL, "theme": themeView{session.PrimaryColor, session.BorderRadius}, "expiresAt": session.ExpiresAt.UTC(),
	})
}

// withOrigin adds details to the error for an ended session. They include the origin allowed to frame the page, so that
// the page can notify the embedding application.
func withOrigin(err error, session *models.EmbeddedSession) error {
	return withDetails(err, map[string]any{
		"allowedOrigin": session.AllowedOrigin, "envelopeId": session.EnvelopeID, "signerId": session.SignerID,
	})
}

func (s *embeddedHandler) embedPage(c *gin.Context) error {
	session, err := s.store.EmbeddedSessionByToken(c.Request.Context(), tokenHash(c.Param("token")))
	if isNotFound(err) {
		return s.framedPage(c, "")
	}
	if err != nil {
		return err
	}
	return s.framedPage(c, session.AllowedOrigin)
}

// framedPage serves a page that only the given origin may frame. The page is also served after the session has ended,
// so that it can inform the signer and the application. An empty origin means that there is no session. The status is
// then 404, and no page may frame the response.
func (s *embeddedHandler) framedPage(c *gin.Context, origin string) error {
	framed := &frameAncestorsWriter{ResponseWriter: c.Writer, ancestor: "'none'"}
	if origin == "" {
		framed.status = http.StatusNotFound
	} else {
		framed.ancestor = origin
		if from := c.GetHeader("Referer"); from != "" && !s.isAllowedReferer(from, origin) {
			return models.Reject(models.KindForbidden, "origin_forbidden", "This session is bound to another origin.")
		}
	}
	if s.pages == nil {
		return models.ErrNotFound
	}
	s.pages.ServeHTTP(framed, c.Request)
	return nil
}

// isAllowedReferer reports whether the referring page has the allowed origin or belongs to this service.
func (s *embeddedHandler) isAllowedReferer(referer, allowed string) bool {
	u, err := url.Parse(referer)
	if err != nil {
		return false
	}
	origin := strings.ToLower(u.Scheme + "://" + u.Host)
	own, err := url.Parse(s.embedURL)
	return origin == allowed || err == nil && origin == strings.ToLower(own.Scheme+"://"+own.Host)
}

// frameAncestorsWriter adapts the headers of a response so that only one origin may frame it.
type frameAncestorsWriter struct {
	http.ResponseWriter

	ancestor string
	status   int // status to send instead of 200; 0 for no replacement
	done     bool
}

// WriteHeader implements http.ResponseWriter.
func (w *frameAncestorsWriter) WriteHeader(status int) {
	if !w.done {
		w.done = true
		h := w.Header()
		var rest []string
		for part := range strings.SplitSeq(h.Get("Content-Security-Policy"), ";") {
			if part = strings.TrimSpace(part); part != "" && !strings.HasPrefix(part, "frame-ancestors") {
				rest = append(rest, part)
			}
		}
		h.Set("Content-Security-Policy", strings.Join(append(rest, "frame-ancestors "+w.ancestor), "; "))
		if w.ancestor != "'none'" {
			h.Del("X-Frame-Options") // this header cannot specify an origin, and would forbid framing that the policy allows
		}
		if w.status != 0 && status == http.StatusOK {
			status = w.status
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *frameAncestorsWriter) Write(b []byte) (int, error) {
	if !w.done {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}
