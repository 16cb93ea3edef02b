package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/credential"
	"countersign/models"
	"countersign/store"
)

// consoleIdle is the default time after which an idle console session ends.
const consoleIdle = 30 * time.Minute

// login signs a console user in. Wrong passwords are counted per email address and per client address. Wrong codes are
// counted per user, because only a user with the correct password can enter them.
func (s *signInHandler) login(c *gin.Context) error {
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	email, password, second := o.str("email"), o.str("password"), readSecondFactor(o)
	if err := o.err(); err != nil {
		return err
	}
	ctx := c.Request.Context()
	user, err := s.checkPassword(c, email, password)
	if err != nil {
		return err
	}
	factor, err := s.store.FactorState(ctx, user.ID)
	if err != nil {
		return err
	}
	if factor.Active {
		if second.missing() {
			rejection := models.Reject(models.KindUnauthorized, "code_required", "This account also needs a passkey, a code from its authenticator app, or a recovery code.")
			rejection.Details = map[string]any{"authenticatorApp": factor.TOTP, "passkey": factor.Passkeys > 0 && s.relyingParty != nil}
			return rejection
		}
		if err := s.consumeSecondFactor(c, user, signInChallenge(user.ID), second); err != nil {
			return err
		}
	}
	return s.startSession(c, user, nil, factor.Active)
}

// checkPassword returns the user with the given email address and password.
func (s *signInHandler) checkPassword(c *gin.Context, email, password string) (*models.ConsoleUser, error) {
	user, err := withAttemptLimit(c, s.shared, "login", models.EmailKey(email), func() (*models.ConsoleUser, error) {
		return s.store.Login(c.Request.Context(), email, password)
	})
	return user, notFoundAs(models.Reject(models.KindUnauthorized, "invalid_credentials", "The email address or password is incorrect."), err)
}

// secondFactor is the second factor in a request: either a code or the response of a passkey.
type secondFactor struct {
	code    *string
	passkey *passkeyAnswer
}

func (f secondFactor) missing() bool { return f.code == nil && f.passkey == nil }

func readSecondFactor(o *object) secondFactor {
	f := secondFactor{code: o.optStr("code")}
	if o.get("passkey") != nil {
		if p := o.sub("passkey"); p != nil {
			f.passkey = &passkeyAnswer{ceremony: p.ceremony(), credential: p.raw("credential")}
		}
	}
	return f
}

// startSession starts a session for an authenticated user and responds with its token. provedAt is the time of the
// user's last sign-in through the provider, or nil if there was none or its time is unknown.
func (s *signInHandler) startSession(c *gin.Context, user *models.ConsoleUser, provedAt *time.Time, factor bool) error {
	ctx := c.Request.Context()
	app, err := s.store.App(ctx, user.AppID)
	if err != nil {
		return err
	}
	act := s.actionContext(c, models.UserActor(user.ID))
	session, err := execute(s.subject, c, func(st signInStore) (*models.ConsoleSession, error) {
		return st.StartConsoleSession(ctx, user.ID, store.Device{IP: act.IP, UserAgent: act.UserAgent}, credential.ConsoleLifetime, provedAt)
	}, nil)
	if err != nil {
		return err
	}
	token, err := s.tokens.IssueConsole(user, session)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "console user signed in", "user", user.ID, "secondFactor", factor, "with", signInOf(user))
	return respond(c, http.StatusOK, gin.H{
		"access_token": token, "token_type": "Bearer", "expires_in": int(credential.ConsoleLifetime.Seconds()),
		"user": viewUser(user), "app": viewApp(app), "mustEnrol": s.mustEnroll(user, factor), "signIn": signInOf(user),
	})
}

func signInOf(user *models.ConsoleUser) string {
	if user.AtProvider() {
		return "provider"
	}
	return "password"
}

// The maximum number of incorrect second-factor codes per account, and the period in which they are counted.
const (
	maxWrongCodes = 10
	codeWindow    = time.Hour
)

// consumeSecondFactor consumes a second-factor code or the response of a passkey. Like withAttemptLimit, it counts the
// attempt before it checks the code.
func (s *signInHandler) consumeSecondFactor(c *gin.Context, user *models.ConsoleUser, purpose challengePurpose, second secondFactor) error {
	tries := s.newAttempts("factor:"+user.ID.String(), codeWindow, maxWrongCodes)
	err := tries.count(c, "Too many wrong codes; please wait.")
	if err != nil {
		return err
	}
	if second.passkey != nil {
		err = s.consumePasskey(c, user, purpose, *second.passkey)
	} else {
		_, err = execute(s.subject, c, func(st signInStore) (any, error) {
			return nil, st.ConsumeCode(c.Request.Context(), user.ID, *second.code)
		}, nil)
	}
	if err != nil {
		return err
	}
	return tries.release(c)
}

// reauthenticate verifies the credentials in a request to change the user's own account: the password, and a code if a
// second factor is enrolled. A user of the provider must instead have signed in through the provider recently.
func (s *signInHandler) reauthenticate(c *gin.Context, app caller, o *object) error {
	password, second := o.str("password"), readSecondFactor(o)
	if app.user.AtProvider() {
		if err := o.err(); err != nil {
			return err
		}
		if app.provedAt == nil || s.now().Sub(*app.provedAt) > reauthenticationLifetime {
			return errReauthenticationRequired
		}
		return nil
	}
	if app.factor && second.missing() {
		o.bad("code", "is required")
	}
	if err := o.err(); err != nil {
		return err
	}
	_, err := withAttemptLimit(c, s.shared, "login", models.EmailKey(app.user.Email), func() (struct{}, error) {
		return struct{}{}, s.store.ConfirmPassword(c.Request.Context(), app.user.ID, password)
	})
	switch {
	case isNotFound(err):
		return wrongCredential("password", "is wrong")
	case err != nil || !app.factor:
		return err
	}
	return wrongPasskey(wrongCode(s.consumeSecondFactor(c, app.user, confirmationChallenge(app.session), second)))
}

func wrongCredential(name, what string) error { return models.InvalidField(name, "%s", what) }

// currentUser responds with the owner of the bearer token. The member "user" is null if the token belongs to the app
// itself.
func (s *signInHandler) currentUser(c *gin.Context, app caller) error {
	if app.user == nil {
		return respond(c, http.StatusOK, gin.H{"user": nil, "app": viewApp(app.App), "mustEnrol": false, "signIn": nil})
	}
	return respond(c, http.StatusOK, gin.H{
		"user": viewUser(app.user), "app": viewApp(app.App), "mustEnrol": s.mustEnroll(app.user, app.factor), "signIn": signInOf(app.user),
	})
}

func (s *signInHandler) logout(c *gin.Context, app caller) error {
	if err := s.store.EndConsoleSession(c.Request.Context(), app.user.ID, app.session); err != nil {
		return err
	}
	s.logSecurityEvent(c, "console user signed out", "user", app.user.ID)
	return respondNoContent(c)
}

type sessionView struct {
	ID        uuid.UUID `json:"id"`
	Current   bool      `json:"current"`
	IP        string    `json:"ip"`
	UserAgent string    `json:"userAgent"`
	CreatedAt time.Time `json:"createdAt"`
	SeenAt    time.Time `json:"seenAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (s *signInHandler) listSessions(c *gin.Context, app caller) error {
	rows, devices, err := s.store.ConsoleSessions(c.Request.Context(), app.user.ID, s.consoleIdle)
	if err != nil {
		return err
	}
	out := make([]sessionView, 0, len(rows))
	for i, r := range rows {
		out = append(out, sessionView{
			ID: r.ID, Current: r.ID == app.session, IP: devices[i].IP, UserAgent: devices[i].UserAgent,
			CreatedAt: r.CreatedAt.UTC(), SeenAt: r.SeenAt.UTC(), ExpiresAt: r.ExpiresAt.UTC(),
		})
	}
	return respondList(c, out)
}

// endSessions ends one of the user's sessions, or all except the current one.
func (s *signInHandler) endSessions(c *gin.Context, app caller, o *object) error {
	one := o.optID("sessionId")
	err := s.reauthenticate(c, app, o)
	if err != nil {
		return err
	}
	if one != nil {
		err = s.store.EndConsoleSession(c.Request.Context(), app.user.ID, *one)
	} else {
		err = s.store.EndConsoleSessions(c.Request.Context(), app.user.ID, app.session)
	}
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "console sessions ended", "user", app.user.ID, "by", app.actor())
	return respondNoContent(c)
}

// changePassword changes the user's own password and ends all other sessions.
func (s *signInHandler) changePassword(c *gin.Context, app caller, o *object) error {
	fresh := o.str("newPassword")
	if err := rejectProviderAccount(app); err != nil {
		return err
	}
	if err := s.reauthenticate(c, app, o); err != nil {
		return err
	}
	err := command(s.subject, c, func(st signInStore) (*models.ConsoleUser, error) {
		return app.user, st.SetPassword(c.Request.Context(), app.user, fresh, app.session)
	}, noContent)
	if err == nil {
		s.logSecurityEvent(c, "console password changed", "user", app.user.ID)
	}
	return err
}

// pathUser returns the console user whose ID is in the path.
func (s *userHandler) pathUser(c *gin.Context, app caller) (*models.ConsoleUser, error) {
	return s.store.UserOfApp(c.Request.Context(), app.ID, checkedID(c, "id"))
}

func (s *userHandler) endUserSessions(c *gin.Context, app caller) error {
	user, err := s.pathUser(c, app)
	if err != nil {
		return err
	}
	if err := s.store.EndConsoleSessions(c.Request.Context(), user.ID, uuid.Nil); err != nil {
		return err
	}
	s.logSecurityEvent(c, "console sessions ended", "user", user.ID, "by", app.actor())
	return respondNoContent(c)
}
