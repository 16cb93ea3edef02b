package api

import (
	"context"
	"net/http"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"countersign/internal/totp"
	"countersign/models"
	"countersign/store"
)

// appHandler serves the access tokens, secrets and name of an app.
type appHandler struct {
	subject[appStore]

	signIns *signInHandler
}

type appStore interface {
	AddSecret(ctx context.Context, app uuid.UUID, overlap time.Duration) (string, error)
	App(ctx context.Context, id uuid.UUID) (*models.App, error)
	Authenticate(ctx context.Context, clientID, secret string) (*models.App, error)
	ClientSecrets(ctx context.Context, app uuid.UUID) ([]models.ClientSecret, error)
	EndClientSecret(ctx context.Context, app, id uuid.UUID) error
	Keys(ctx context.Context, purpose models.KeyPurpose) ([]store.Key, error)
	UpdateApp(ctx context.Context, id uuid.UUID, c store.AppChange) (*models.App, error)
}

// brandingHandler serves the branding of tenants.
type brandingHandler struct {
	subject[brandingStore]
}

type brandingStore interface {
	Branding(ctx context.Context, app uuid.UUID, tenant string) (models.Branding, error)
	ChangeBranding(ctx context.Context, app uuid.UUID, tenant string, b models.Branding, names []string) error
	ClearBranding(ctx context.Context, app uuid.UUID, tenant string) error
	Logo(ctx context.Context, app uuid.UUID, tenant string) ([]byte, error)
	Settings(ctx context.Context, app uuid.UUID, tenant string) (own models.Settings, effective models.Settings, err error)
}

// settingsHandler serves the settings of apps and tenants.
type settingsHandler struct {
	subject[settingsStore]

	defaultExpiryDays int
	reminderInterval  time.Duration
}

type settingsStore interface {
	ChangeSettings(ctx context.Context, v models.Settings, names []string) error
	Settings(ctx context.Context, app uuid.UUID, tenant string) (own models.Settings, effective models.Settings, err error)
}

// contactHandler serves contacts and usage.
type contactHandler struct {
	subject[contactStore]
}

type contactStore interface {
	Contacts(ctx context.Context, app uuid.UUID, search string, pageNumber, size int) (_ []models.Contact, total int, err error)
	DeleteContact(ctx context.Context, app, id uuid.UUID) error
	EnvelopesReserved(ctx context.Context, app uuid.UUID) (int, error)
	EnvelopesUsed(ctx context.Context, app uuid.UUID) (int, error)
	PlanLimits(plan models.Plan) models.PlanLimits
	RecentRecipients(ctx context.Context, app, user uuid.UUID, tenant, search string) ([]models.Contact, error)
	SaveContact(ctx context.Context, c models.Contact, keepPhone bool) (*models.Contact, error)
}

// userHandler serves the administration of console users.
type userHandler struct {
	subject[userStore]
}

type userStore interface {
	CreateUser(ctx context.Context, app uuid.UUID, email, name string, password string, role models.Role) (*models.ConsoleUser, error)
	DisableUser(ctx context.Context, app, id uuid.UUID) error
	EndConsoleSessions(ctx context.Context, user, keep uuid.UUID) error
	ResetFactors(ctx context.Context, user, keep uuid.UUID) error
	SetPassword(ctx context.Context, u *models.ConsoleUser, password string, keep uuid.UUID) error
	UpdateUser(ctx context.Context, app, id uuid.UUID, c store.UserChange) (*models.ConsoleUser, error)
	UserDetails(ctx context.Context, app uuid.UUID) ([]store.UserDetail, error)
	UserOfApp(ctx context.Context, app, id uuid.UUID) (*models.ConsoleUser, error)
}

// notificationHandler serves the settings that control which notifications console users receive about envelopes they
// sent.
type notificationHandler struct {
	subject[notificationStore]

	pages http.Handler // the web pages, or nil if they are not served
}

type notificationStore interface {
	ChangeNotifications(ctx context.Context, user uuid.UUID, change func(*models.NotificationSettings) error) (models.NotificationSettings, error)
	Notifications(ctx context.Context, user uuid.UUID) (models.NotificationSettings, error)
	UserOfApp(ctx context.Context, app, id uuid.UUID) (*models.ConsoleUser, error)
}

// signInHandler signs console users in, and lets them manage their own accounts.
type signInHandler struct {
	subject[signInStore]

	provider     *ProviderConfig    // nil if sign-in through a provider is not configured
	relyingParty *webauthn.WebAuthn // for passkeys; nil if passkeys are not supported
}

type signInStore interface {
	AddPasskey(ctx context.Context, p *models.ConsolePasskey, keep uuid.UUID) (recovery []string, err error)
	App(ctx context.Context, id uuid.UUID) (*models.App, error)
	ConfirmFactor(ctx context.Context, user uuid.UUID, code string, keep uuid.UUID) (recovery []string, err error)
	ConfirmPassword(ctx context.Context, id uuid.UUID, password string) error
	ConsoleSessions(ctx context.Context, user uuid.UUID, idle time.Duration) ([]models.ConsoleSession, []store.Device, error)
	ConsumeCode(ctx context.Context, user uuid.UUID, code string) error
	CreateChallenge(ctx context.Context, c store.Challenge, lifetime time.Duration) error
	EndConsoleSession(ctx context.Context, user, session uuid.UUID) error
	EndConsoleSessions(ctx context.Context, user, keep uuid.UUID) error
	EnrollFactor(ctx context.Context, u *models.ConsoleUser) (totp.Secret, error)
	FactorState(ctx context.Context, user uuid.UUID) (store.FactorState, error)
	LinkProvider(ctx context.Context, user uuid.UUID, id store.ProviderIdentity) (*models.ConsoleUser, error)
	Login(ctx context.Context, email, password string) (*models.ConsoleUser, error)
	Passkeys(ctx context.Context, user uuid.UUID) ([]models.ConsolePasskey, error)
	RemoveFactor(ctx context.Context, user, keep uuid.UUID) error
	RemovePasskey(ctx context.Context, user, id uuid.UUID, keep uuid.UUID) error
	RenewRecoveryCodes(ctx context.Context, user uuid.UUID) (codes []string, err error)
	SetPassword(ctx context.Context, u *models.ConsoleUser, password string, keep uuid.UUID) error
	SignInApp(ctx context.Context, client uuid.UUID) (*models.App, error)
	StartConsoleSession(ctx context.Context, user uuid.UUID, on store.Device, lifetime time.Duration, provedAt *time.Time) (*models.ConsoleSession, error)
	TakeChallenge(ctx context.Context, c *store.Challenge) error
	UsePasskey(ctx context.Context, p *models.ConsolePasskey, state []byte) error
	UserOfProvider(ctx context.Context, id store.ProviderIdentity) (u *models.ConsoleUser, created bool, err error)
}
