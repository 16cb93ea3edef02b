package api

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/openid"
	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

const (
	// providerLifetime is the time within which a sign-in through the provider must be completed.
	providerLifetime = 10 * time.Minute
	// reauthenticationLifetime is the period after a sign-in through the provider during which the user can change the
	// account without signing in again.
	reauthenticationLifetime = 5 * time.Minute

	maxProviderText = 4096 // bytes of the code or the state
	maxUserName     = 255  // characters
)

// ProviderConfig configures sign-in through an OpenID provider, in addition to passwords.
type ProviderConfig struct {
	Client *openid.Client
	Name   string    // shown in the console
	App    uuid.UUID // client ID of the app for new users; zero selects the only existing app
}

var (
	errSignInExpired            = models.Reject(models.KindUnauthorized, "sign_in_expired", "This sign-in has expired, was already used, or was started in another browser. Start again.")
	errSignInRejected           = models.Reject(models.KindUnauthorized, "sign_in_refused", "The provider's response was rejected. Start again. If the problem persists, contact the operator of this service.")
	errProviderUnreachable      = models.Reject(models.KindUnavailable, "provider_unreachable", "The sign-in provider is not responding correctly. Try again in a minute. If the problem persists, contact the operator of this service.")
	errRoleMissing              = models.Reject(models.KindForbidden, "role_missing", "The provider assigns you none of the roles viewer, support, sender and admin. Ask its administrator for a role, then sign in again.")
	errReauthenticationRequired = models.Reject(models.KindForbidden, "sign_in_again", "Sign in again through the provider first.")
	errProviderAccount          = models.Reject(models.KindConflict, "provider_account", "This account signs in through the provider, which manages its password and second factor.")
	errNoApplication            = models.Reject(models.KindConflict, "application_unclear", "The app of this console is not configured. Ask the operator of this service to set OIDC_APP.")
)

// signInOptions responds with the available sign-in methods.
func (s *signInHandler) signInOptions(c *gin.Context) error {
	var provider any
	if s.provider != nil {
		provider = gin.H{"name": s.provider.Name}
	}
	return respond(c, http.StatusOK, gin.H{"provider": provider, "passkeys": s.relyingParty != nil})
}

// providerCookie returns the name of the cookie that binds a sign-in through the provider to the browser.
func (s *signInHandler) providerCookie() string {
	if strings.HasPrefix(s.baseURL, "https://") {
		return "__Host-countersign-sign-in"
	}
	return "countersign-sign-in"
}

func (s *signInHandler) setProviderCookie(c *gin.Context, value string, maxAge int) {
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure is set if the service uses https
		Name: s.providerCookie(), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(s.baseURL, "https://"), MaxAge: maxAge,
	})
}

// beginAtProvider begins a sign-in through the provider.
func (s *signInHandler) beginAtProvider(c *gin.Context) error {
	o, err := readObject(c, true)
	if err != nil {
		return err
	}
	prompt := openid.Prompt{Fresh: o.flag("again", false), OtherAccount: o.flag("otherAccount", false)}
	if err := o.err(); err != nil {
		return err
	}
	return s.toProvider(c, models.ChallengeProviderSignIn, nil, prompt)
}

// connectProvider begins the sign-in that connects a password account to the provider.
func (s *signInHandler) connectProvider(c *gin.Context, app caller, o *object) error {
	if err := rejectProviderAccount(app); err != nil {
		return err
	}
	if err := s.reauthenticate(c, app, o); err != nil {
		return err
	}
	return s.toProvider(c, models.ChallengeProviderLink, &app.user.ID, openid.Prompt{})
}

// toProvider responds with the provider's URL and binds the sign-in to this browser.
func (s *signInHandler) toProvider(c *gin.Context, kind models.ChallengeKind, user *uuid.UUID, prompt openid.Prompt) error {
	if s.provider == nil {
		return models.ErrNotFound
	}
	ctx := c.Request.Context()
	request, err := s.provider.Client.Begin(ctx, prompt)
	if err != nil {
		return s.rejectSignIn(c, err)
	}
	data, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("begin sign-in: %w", err)
	}
	browser := rand.Text()
	if err := s.store.CreateChallenge(ctx, store.Challenge{Kind: kind, Answer: request.State, Holder: browser, User: user, Data: data}, providerLifetime); err != nil {
		return err
	}
	s.setProviderCookie(c, browser, int(providerLifetime.Seconds()))
	return respond(c, http.StatusOK, gin.H{"url": request.URL})
}

// completeAtProvider signs in the user authenticated by the provider. Failed attempts are counted per client address.
func (s *signInHandler) completeAtProvider(c *gin.Context) error {
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	code, state, issuer := o.str("code"), o.str("state"), o.optStr("iss")
	for name, v := range map[string]string{"code": code, "state": state} {
		if o.has(name) && (v == "" || len(v) > maxProviderText) {
			o.bad(name, "must be between 1 and %d bytes long", maxProviderText)
		}
	}
	if err := o.err(); err != nil {
		return err
	}
	if s.provider == nil {
		return models.ErrNotFound
	}
	tries := s.newAttempts("provider-address:"+callerNetwork(c), rateWindow, maxWrongPerAddress)
	if err := tries.count(c, tooManyAttempts); err != nil {
		return err
	}
	user, person, err := s.fromProvider(c, code, state, issuer)
	if err != nil {
		return s.rejectSignIn(c, err)
	}
	if err := tries.release(c); err != nil {
		return err
	}
	return s.startSession(c, user, person.ProvedAt, false)
}

// fromProvider returns the user authenticated by the provider, if the sign-in began in this browser.
func (s *signInHandler) fromProvider(c *gin.Context, code, state string, issuer *string) (user *models.ConsoleUser, person openid.Person, err error) {
	ctx := c.Request.Context()
	browser, err := c.Cookie(s.providerCookie())
	if err != nil {
		return nil, person, errSignInExpired
	}
	challenge := store.Challenge{Kind: models.ChallengeProviderSignIn, Answer: state, Holder: browser}
	err = s.store.TakeChallenge(ctx, &challenge)
	if isNotFound(err) {
		challenge.Kind = models.ChallengeProviderLink
		err = s.store.TakeChallenge(ctx, &challenge)
	}
	if err != nil {
		return nil, person, notFoundAs(errSignInExpired, err)
	}
	s.setProviderCookie(c, "", -1)
	var request openid.Request
	if err := json.Unmarshal(challenge.Data, &request); err != nil {
		return nil, person, fmt.Errorf("read sign-in: %w", err)
	}
	if issuer != nil && *issuer != s.provider.Client.Issuer() { // the issuer in the response must match (RFC 9207)
		return nil, person, &openid.Rejection{Reason: "response from a different issuer"}
	}
	person, err = s.provider.Client.Finish(ctx, request, code)
	if err != nil {
		return nil, person, err
	}
	user, err = s.userOf(c, challenge, person)
	return user, person, err
}

// userOf finds, creates or connects the user authenticated by the provider.
func (s *signInHandler) userOf(c *gin.Context, challenge store.Challenge, person openid.Person) (*models.ConsoleUser, error) {
	role := highestRole(person.Roles)
	if !role.Valid() {
		return nil, errRoleMissing
	}
	ctx := c.Request.Context()
	app, err := s.store.SignInApp(ctx, s.provider.App)
	if err != nil {
		return nil, notFoundAs(errNoApplication, err)
	}
	id := store.ProviderIdentity{
		App: app.ID, Issuer: s.provider.Client.Issuer(), Subject: person.Subject, Email: person.Email, EmailVerified: person.EmailVerified,
		Name: firstCharacters(plaintext.Visible(person.Name), maxUserName), Role: role,
	}
	if challenge.User != nil {
		u, err := s.store.LinkProvider(ctx, *challenge.User, id)
		if err == nil {
			s.logSecurityEvent(c, "console user connected to the provider", "user", u.ID, "role", u.Role)
		}
		return u, err
	}
	u, created, err := s.store.UserOfProvider(ctx, id)
	if created {
		s.logSecurityEvent(c, "console user created", "user", u.ID, "role", u.Role, "by", "provider")
	}
	return u, err
}

// highestRole returns the highest known role in the provider's list, or "" if it contains none.
func highestRole(assigned []string) models.Role {
	for _, r := range slices.Backward(models.Roles) {
		if slices.Contains(assigned, string(r)) {
			return r
		}
	}
	return ""
}

// rejectSignIn logs the reason for a rejected sign-in, without the user or the provider's response. It returns an error
// that explains what to do next.
func (s *signInHandler) rejectSignIn(c *gin.Context, err error) error {
	if rejection, ok := errors.AsType[*openid.Rejection](err); ok {
		s.logSecurityEvent(c, "provider sign-in rejected", "reason", rejection.Reason)
		return errSignInRejected
	}
	if errors.Is(err, openid.ErrUnreachable) {
		s.logSecurityEvent(c, "the sign-in provider does not respond", "error", err.Error())
		return errProviderUnreachable
	}
	if rejection, ok := errors.AsType[*models.Error](err); ok {
		s.logSecurityEvent(c, "provider sign-in rejected", "reason", rejection.Code)
	}
	return err
}

// rejectProviderAccount rejects password operations for users of the provider.
func rejectProviderAccount(app caller) error {
	if app.user.AtProvider() {
		return errProviderAccount
	}
	return nil
}
