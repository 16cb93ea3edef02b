package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/credential"
	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

// caller is the authenticated caller of a request: an app, or one of its console users.
type caller struct {
	*models.App

	user    *models.ConsoleUser // nil if the caller is the app itself
	session uuid.UUID           // the user's session
	factor  bool                // whether the user has a second factor

	provedAt *time.Time // time of the user's last sign-in through the provider, or nil if it is unknown or the user signed in with a password

	builder *models.BuilderSession // the builder session that restricts the caller, or nil
}

// actor returns the caller's identifier in the audit trail.
func (c caller) actor() string {
	if c.user != nil {
		return models.UserActor(c.user.ID)
	}
	if c.builder != nil {
		return models.BuilderActor(c.builder.ID)
	}
	return models.AppActor(c.ID)
}

// require returns an error if the caller is a console user without the required role or a higher one.
func (c caller) require(least models.Role) error {
	if c.user == nil || c.user.Role.Allows(least) {
		return nil
	}
	return models.Reject(models.KindForbidden, "role_forbidden", "This operation requires the role %s; yours is %s.", least, c.user.Role)
}

func bearerToken(c *gin.Context) (string, error) {
	scheme, token, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", models.Reject(models.KindUnauthorized, "unauthorized", "An access token is required: Authorization: Bearer <token>.")
	}
	return token, nil
}

var errInvalidToken = models.Reject(models.KindUnauthorized, "unauthorized", "The access token is not valid.")

func rejectToken(err error) error {
	if credential.IsExpired(err) {
		return models.Reject(models.KindUnauthorized, "token_expired", "The access token has expired; request a new one.")
	}
	return errInvalidToken
}

// authenticate returns the app that the bearer token belongs to.
func (s *shared) authenticate(c *gin.Context) (caller, error) {
	token, err := bearerToken(c)
	if err != nil {
		return caller{}, err
	}
	id, err := s.tokens.VerifyAccess(token)
	if err != nil {
		return caller{}, rejectToken(err)
	}
	return s.appCaller(c, id)
}

// backgroundHeader marks a request that the console sends without a user action. Such a request does not extend the
// session.
const backgroundHeader = "Countersign-Background"

// authenticateConsole accepts an app's token or a console user's token. A console user must have a role that permits
// the route, and must have enrolled a second factor if one is required. The app itself may use all routes except those
// for a user's own account.
func (s *shared) authenticateConsole(c *gin.Context, r route) (caller, error) {
	token, err := bearerToken(c)
	if err != nil {
		return caller{}, err
	}
	// Verify as an app token first, because valid app tokens are cached.
	appID, notAnApps := s.tokens.VerifyAccess(token)
	if notAnApps == nil {
		app, err := s.appCaller(c, appID)
		if err == nil && r.access == consoleUser {
			err = models.Reject(models.KindForbidden, "user_required", "This operation requires the token of a console user.")
		}
		return app, err
	}
	id, err := s.tokens.VerifyConsole(token)
	if err != nil {
		return caller{}, rejectToken(notAnApps)
	}
	in, err := s.requests.ConsoleSession(c.Request.Context(), id, s.consoleIdle, c.GetHeader(backgroundHeader) == "")
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
	if !r.allowWithoutMFA && s.mustEnroll(in.User, in.Factor) {
		return caller{}, models.Reject(models.KindForbidden, "second_factor_required", "This operation requires a second factor. Enroll one first: POST /v1/console/totp.")
	}
	return app, nil
}

func (s *shared) appCaller(c *gin.Context, id uuid.UUID) (caller, error) {
	if err := s.limit(c, "app:"+id.String()); err != nil {
		return caller{}, err
	}
	app, err := s.apps.get(c.Request.Context(), id, s.now(), s.requests.App)
	return caller{App: app}, notFoundAs(errInvalidToken, err)
}

// appCache caches each app for one second. A busy client therefore does not cause a query for each request, and a
// change to an app takes effect in every process within a second.
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

// signerLink is the signing link that a signer token in the path refers to.
type signerLink = credential.SigningLink

// authenticateSigner returns the signing link that the path identifies, either by a token or by the short form used in
// text messages. If the parameter ended is set, it also accepts an expired link.
func (s *shared) authenticateSigner(c *gin.Context, ended bool) (signerLink, error) {
	token := c.Param("token")
	if len(token) == store.ShortLinkLength {
		app, link, err := s.requests.LinkByShortForm(c.Request.Context(), token)
		return signerLink{App: app, Link: link}, notFoundAsInvalidLink(err)
	}
	read := s.tokens.VerifySigning
	if ended {
		read = s.tokens.VerifyExpiredSigning
	}
	l, err := read(token)
	if err != nil {
		if credential.IsExpired(err) {
			return l, models.Reject(models.KindUnauthorized, "signing_link_expired", "This signing link has expired.")
		}
		return l, models.ErrLinkInvalid
	}
	if l.Session == uuid.Nil {
		return l, nil
	}
	session, err := s.requests.EmbeddedSession(c.Request.Context(), l.Session)
	if err != nil {
		return l, notFoundAs(models.ErrSessionInvalid, err)
	}
	return l, session.Live(s.now())
}

// mustEnroll reports whether a user lacks a required second factor. If the user signs in through the provider, the
// provider is responsible for the second factor.
func (s *shared) mustEnroll(user *models.ConsoleUser, factor bool) bool {
	return !factor && !user.AtProvider() && s.consoleTOTP.Requires(user.Role)
}

// checkPath returns an error if the path contains an invalid ID or an envelope that does not belong to the caller. It
// runs before the body is read, so that the error for a body cannot reveal whether the envelope exists. Loading the
// envelope a second time for the change costs less than reading a body that will be rejected.
func (s *shared) checkPath(c *gin.Context, app caller) error {
	for _, p := range c.Params {
		if p.Key == "tenantId" || p.Key == "page" { // a tenant ID is arbitrary text, and a page is a number
			continue
		}
		if _, err := pathID(c, p.Key); err != nil {
			return err
		}
	}
	if !strings.Contains(c.FullPath(), "/envelopes/:id") {
		return nil
	}
	id := checkedID(c, "id")
	tagEnvelope(c, id)
	if c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		tenant, err := s.requests.EnvelopeTenant(c.Request.Context(), app.ID, id)
		if err == nil && app.CheckTenant(tenant) != nil {
			err = models.ErrNotFound
		}
		return err
	}
	return nil
}

// actionContext describes the caller of the request for the audit trail.
func (s *shared) actionContext(c *gin.Context, actor string) models.ActionContext {
	agent := c.Request.UserAgent()
	agent = agent[:min(len(agent), maxUserAgent)]
	return models.ActionContext{
		At: s.now().UTC().Truncate(time.Microsecond), Actor: actor, IP: c.ClientIP(), UserAgent: plaintext.Strip(agent), NewID: s.newID,
	}
}

const maxUserAgent = 512

// notFoundAsInvalidLink replaces a not-found error with an invalid-link error, and returns every other error unchanged.
func notFoundAsInvalidLink(err error) error {
	return notFoundAs(models.ErrLinkInvalid, err)
}
