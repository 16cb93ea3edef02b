package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

// A signer's session binds the confirmation of a one-time code to the client that confirmed it. The client sends the
// session token in a cookie or in this header.
const (
	sessionHeader   = "X-Signer-Session"
	sessionCookie   = "countersign-signer-"
	secureCookie    = "__Secure-" // browsers accept such a cookie only over HTTPS
	sessionPath     = "/v1/signing/"
	maxSessionToken = 100
)

// signerContext describes the client of a signing link, including its session, for the audit trail.
func (s *signingHandler) signerContext(c *gin.Context, l signerLink) models.ActionContext {
	act := s.actionContext(c, models.SignerActor(l.SignerID))
	token := c.GetHeader(sessionHeader)
	if token == "" {
		if cookie, err := c.Request.Cookie(s.sessionCookieName(l.ID)); err == nil {
			token = cookie.Value
		}
	}
	if token != "" && len(token) <= maxSessionToken {
		act.Session = tokenHash(token)
	}
	return act
}

// sessionCookieName returns the name of the session cookie. The name is different for each link, and does not reveal
// the link.
func (s *signingHandler) sessionCookieName(link uuid.UUID) string {
	sum := sha256.Sum256(link[:])
	name := sessionCookie + hex.EncodeToString(sum[:8])
	if strings.HasPrefix(s.baseURL, "https://") {
		name = secureCookie + name
	}
	return name
}

// setSessionCookie sets the session cookie. In a frame on another site, the cookie must be partitioned (CHIPS) and is
// then valid only on pages of that site.
func (s *signingHandler) setSessionCookie(c *gin.Context, l signerLink, token string, until time.Time) {
	cookie := &http.Cookie{
		Name: s.sessionCookieName(l.ID), Value: token, Path: sessionPath, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(s.baseURL, "https://"), MaxAge: max(1, int(until.Sub(s.now()).Seconds())),
	}
	if l.Session != uuid.Nil {
		cookie.SameSite, cookie.Secure, cookie.Partitioned = http.SameSiteNoneMode, true, true
	}
	http.SetCookie(c.Writer, cookie)
}

// codeView describes the state of a one-time code to the signing page.
type codeView struct {
	LiveUntil     *time.Time `json:"liveUntil"`
	TriesLeft     *int       `json:"triesLeft"`
	RequestableAt *time.Time `json:"requestableAt"`
	Locked        bool       `json:"locked"`
}

func viewCode(st *models.CodeState) *codeView {
	if st == nil {
		return nil
	}
	return &codeView{utcPtr(st.LiveUntil), st.TriesLeft, utcPtr(st.RequestableAt), st.Locked}
}
