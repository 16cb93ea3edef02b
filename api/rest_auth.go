package api

import (
	"context"
	"encoding/base64"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/credential"
	"countersign/models"
	"countersign/store"
)

// caller is who makes a request: an app, or a console user of it.
type caller struct {
	*models.App

	user    *models.ConsoleUser // nil: the app itself
	session uuid.UUID           // the user's
	factor  bool                // the user has a second factor

	provedAt *time.Time // when the user last signed in at the provider; nil: not told, or with a password

	builder *models.BuilderSession // what the caller is held to; nil: not by a builder session
}

// actor names the caller in the audit trail.
func (c caller) actor() string {
	if c.user != nil {
		return models.UserActor(c.user.ID)
	}
	if c.builder != nil {
		return models.BuilderActor(c.builder.ID)
	}
	return models.AppActor(c.ID)
}

// require refuses a console user whose role is below the least that is needed.
func (c caller) require(least models.Role) error {
	if c.user == nil || c.user.Role.Allows(least) {
		return nil
	}
	return models.Refuse(models.KindForbidden, "role_forbidden", "This needs the role %s; yours is %s.", least, c.user.Role)
}

func bearerToken(c *gin.Context) (string, error) {
	scheme, token, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", models.Refuse(models.KindUnauthorized, "unauthorized", "An access token is required: Authorization: Bearer <token>.")
	}
	return token, nil
}

var errInvalidToken = models.Refuse(models.KindUnauthorized, "unauthorized", "The access token is not valid.")

func refuseToken(err error) error {
	if credential.IsExpired(err) {
		return models.Refuse(models.KindUnauthorized, "token_expired", "The access token has expired; request a new one.")
	}
	return errInvalidToken
}

// authenticate finds the app that the bearer token belongs to.
func (s *Server) authenticate(c *gin.Context) (caller, error) {
	token, err := bearerToken(c)
	if err != nil {
		return caller{}, err
	}
	id, err := s.Tokens.VerifyAccess(token)
	if err != nil {
		return caller{}, refuseToken(err)
	}
	return s.appCaller(c, id)
}

// backgroundHeader marks a request that the console makes by itself: it does not keep
// the session from being idle.
const backgroundHeader = "Countersign-Background"

// authenticateConsole also takes a console user's token, if the user's role
// allows what the route does, and a second factor is there if one is required.
// The app itself may do everything but what is a person's own.
func (s *Server) authenticateConsole(c *gin.Context, r route) (caller, error) {
	token, err := bearerToken(c)
	if err != nil {
		return caller{}, err
	}
	// An app's token is asked for first: those that are good are remembered.
	appID, notAnApps := s.Tokens.VerifyAccess(token)
	if notAnApps == nil {
		app, err := s.appCaller(c, appID)
		if err == nil && r.access == consoleUser {
			err = models.Refuse(models.KindForbidden, "user_required", "This is for a console user who is signed in.")
		}
		return app, err
	}
	id, err := s.Tokens.VerifyConsole(token)
	if err != nil {
		return caller{}, refuseToken(notAnApps)
	}
	in, err := s.Store.ConsoleSession(c.Request.Context(), id, s.ConsoleIdle, c.GetHeader(backgroundHeader) == "")
	if err != nil {
		return caller{}, notFoundAs(errInvalidToken, err)
	}
	app, err := s.appCaller(c, in.User.AppID)
	if err != nil {
		return caller{}, err
	}
	app.user, app.session, app.factor, app.provedAt = in.User, id, in.Factor && !in.User.AtProvider(), in.Session.ProvedAt
	if err := app.require(r.role); err != nil {
		return caller{}, err
	}
	if !r.allowWithoutMFA && s.mustEnrol(in.User, in.Factor) {
		return caller{}, models.Refuse(models.KindForbidden, "second_factor_required", "This needs a second factor, which your account has not yet: POST /v1/console/totp.")
	}
	return app, nil
}

func (s *Server) appCaller(c *gin.Context, id uuid.UUID) (caller, error) {
	if err := s.limit(c, "app:"+id.String()); err != nil {
		return caller{}, err
	}
	app, err := s.apps.get(c.Request.Context(), id, s.Now(), s.Store.App)
	return caller{App: app}, notFoundAs(errInvalidToken, err)
}

// appCache remembers apps for a moment: a busy client is not looked up at every
// request, and a change of an app holds after a second everywhere.
type appCache struct {
	mu   sync.RWMutex
	byID map[uuid.UUID]cachedApp
}

type cachedApp struct {
	app *models.App
	at  time.Time
}

const (
	appCacheTTL   = time.Second
	maxCachedApps = 10_000
)

func (a *appCache) get(ctx context.Context, id uuid.UUID, now time.Time, load func(context.Context, uuid.UUID) (*models.App, error)) (*models.App, error) {
	a.mu.RLock()
	known, ok := a.byID[id]
	a.mu.RUnlock()
	if age := now.Sub(known.at); ok && age >= 0 && age < appCacheTTL {
		return known.app, nil
	}
	app, err := load(ctx, id)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byID == nil || len(a.byID) >= maxCachedApps {
		a.byID = make(map[uuid.UUID]cachedApp)
	}
	a.byID[id] = cachedApp{app, now}
	return app, nil
}

// signerLink is what a signer token in the path stands for.
type signerLink = credential.SigningLink

// authenticateSigner finds the link that the path names: a token, or the short
// form that text messages carry. ended takes one that has expired, too.
func (s *Server) authenticateSigner(c *gin.Context, ended bool) (signerLink, error) {
	token := c.Param("token")
	if len(token) == store.ShortLinkLength {
		app, link, err := s.Store.LinkByShortForm(c.Request.Context(), token)
		return signerLink{App: app, Link: link}, notFoundAsInvalidLink(err)
	}
	read := s.Tokens.VerifySigning
	if ended {
		read = s.Tokens.VerifyExpiredSigning
	}
	l, err := read(token)
	if err != nil {
		if credential.IsExpired(err) {
			return l, models.Refuse(models.KindUnauthorized, "signing_link_expired", "This signing link has expired.")
		}
		return l, models.ErrLinkInvalid
	}
	if l.Session == uuid.Nil {
		return l, nil
	}
	session, err := s.Store.EmbeddedSession(c.Request.Context(), l.Session)
	if err != nil {
		return l, notFoundAs(models.ErrSessionInvalid, err)
	}
	return l, session.Live(s.Now())
}

// token is the OAuth 2.0 client credentials grant (RFC 6749 §4.4); the client
// authenticates in the form or by HTTP Basic (§2.3.1).
func (s *Server) token(c *gin.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if user, pass, ok := c.Request.BasicAuth(); ok {
		id, secret = user, pass
	}
	p := models.Problems{}
	switch form.Get("grant_type") {
	case "client_credentials":
	case "":
		p.Add("grant_type", "is required")
	default:
		p.Add("grant_type", "must be client_credentials")
	}
	if id == "" {
		p.Add("client_id", "is required")
	}
	if secret == "" {
		p.Add("client_secret", "is required")
	}
	if err := p.Err(); err != nil {
		return err
	}
	app, err := withAttemptLimit(c, s, "token", id, func() (*models.App, error) {
		return s.Store.Authenticate(c.Request.Context(), id, secret)
	})
	if err != nil {
		return notFoundAs(models.Refuse(models.KindUnauthorized, "invalid_client", "The client id or secret is wrong."), err)
	}
	access, err := s.Tokens.IssueAccess(app.ID)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "access token issued", "app", app.ID)
	c.Header("Pragma", "no-cache")
	return answer(c, http.StatusOK, gin.H{
		"access_token": access, "token_type": "Bearer", "expires_in": int(credential.AccessLifetime.Seconds()),
	})
}

// jwks publishes the keys that sign manifests (RFC 7517), so that sealed
// documents can be verified by anyone.
func (s *Server) jwks(c *gin.Context) error {
	keys, err := s.Store.Keys(c.Request.Context(), models.KeyManifests)
	if err != nil {
		return err
	}
	out := []gin.H{}
	for _, k := range keys {
		pub := k.Private.PublicKey
		jwk := gin.H{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": k.ID,
			"x": jwkCoordinate(pub.X), "y": jwkCoordinate(pub.Y), //nolint:staticcheck // JWK wants the affine coordinates
		}
		if k.Revoked != nil { // as OpenID Federation 1.0 tells it of keys of the past
			jwk["revoked"] = gin.H{"revoked_at": k.Revoked.At.Unix(), "reason": k.Revoked.Reason}
		}
		out = append(out, jwk)
	}
	c.Header("Cache-Control", "public, max-age=300")
	return answer(c, http.StatusOK, gin.H{"keys": out})
}

func jwkCoordinate(n *big.Int) string {
	return base64.RawURLEncoding.EncodeToString(n.FillBytes(make([]byte, 32)))
}
