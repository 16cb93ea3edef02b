// Package credential issues and verifies the credentials of people and programs: access tokens, signing links and
// one-time codes.
package credential

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// The audience separates the kinds of tokens, so that a token of one kind is never valid as another kind.
const (
	audienceAPI         = "countersign:api"
	audienceSigning     = "countersign:signing"
	audienceDownload    = "countersign:download"
	audienceConsole     = "countersign:console"
	audienceReceipt     = "countersign:receipt"
	audienceUnsubscribe = "countersign:unsubscribe"
)

// DownloadLifetime is the lifetime of a download link. The files may be purged earlier, at the end of the retention
// period.
const DownloadLifetime = 365 * 24 * time.Hour

// ReceiptLifetime is the time for which a signer can retrieve the envelope's status after signing.
const ReceiptLifetime = 24 * time.Hour

// UnsubscribeLifetime is the lifetime of the link with which a console user unsubscribes from notification emails.
const UnsubscribeLifetime = 90 * 24 * time.Hour

// AccessLifetime is the lifetime of an access token.
const AccessLifetime = time.Hour

// ConsoleLifetime is the maximum duration of a console session.
const ConsoleLifetime = 8 * time.Hour

// Tokens issues and verifies the service's JSON Web Tokens (RFC 7519, ES256).
type Tokens struct {
	ring     *keyRing
	now      func() time.Time
	verified *tokenCache
}

// NewTokens returns a Tokens that verifies with the given keys and signs with the first of them. The tokens contain no
// issuer claim, because the keys already identify the service, and because links must remain valid if the service's
// address changes.
func NewTokens(keys []store.Key, now func() time.Time) (*Tokens, error) {
	r, err := newKeyRing(keys, now())
	if err != nil {
		return nil, err
	}
	return &Tokens{ring: r, now: now, verified: &tokenCache{}}, nil
}

// ReloadFrom sets the function that reloads the keys when the cached keys expire or a token contains an unknown key
// ID. If the function fails, the current keys remain in use. ReloadFrom must be called before the Tokens is used.
func (t *Tokens) ReloadFrom(load func() ([]store.Key, error)) { t.ring.load = load }

type claims struct {
	jwt.RegisteredClaims
	App      uuid.UUID `json:"app,omitzero"`
	Envelope uuid.UUID `json:"env,omitzero"`
	Signer   uuid.UUID `json:"sgn,omitzero"`
	Session  uuid.UUID `json:"ses,omitzero"`
}

// registered returns the claims that all tokens contain. The ID is optional.
func registered(audience string, subject uuid.UUID, id string, issued, expires time.Time) jwt.RegisteredClaims {
	return jwt.RegisteredClaims{
		Subject: subject.String(), Audience: jwt.ClaimStrings{audience}, ID: id, IssuedAt: jwt.NewNumericDate(issued), ExpiresAt: jwt.NewNumericDate(expires),
	}
}

// IssueAccess issues an access token for an app.
func (t *Tokens) IssueAccess(app uuid.UUID) (string, error) {
	now := t.now()
	return t.sign(claims{RegisteredClaims: registered(audienceAPI, app, uuid.NewString(), now, now.Add(AccessLifetime))})
}

// VerifyAccess returns the app of an access token. It caches a valid token until the token expires, because a client
// sends the same token for an hour, and verifying the signature is as expensive as a database query.
func (t *Tokens) VerifyAccess(token string) (uuid.UUID, error) {
	key := sha256.Sum256([]byte(token))
	if app, ok := t.verified.get(key, t.now()); ok {
		return app, nil
	}
	c, err := t.parse(token, audienceAPI)
	if err != nil {
		return uuid.Nil, err
	}
	app, err := uuid.Parse(c.Subject)
	if err == nil {
		t.verified.put(key, app, c.ExpiresAt.Time)
	}
	return app, err
}

const maxCachedTokens = 10_000

// tokenCache caches valid tokens by their hash.
type tokenCache struct {
	mu     sync.RWMutex
	tokens map[[sha256.Size]byte]cachedToken
}

type cachedToken struct {
	app   uuid.UUID
	until time.Time
}

func (s *tokenCache) get(key [sha256.Size]byte, now time.Time) (uuid.UUID, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.tokens[key]
	return v.app, ok && now.Before(v.until)
}

func (s *tokenCache) put(key [sha256.Size]byte, app uuid.UUID, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil || len(s.tokens) >= maxCachedTokens {
		s.tokens = make(map[[sha256.Size]byte]cachedToken)
	}
	s.tokens[key] = cachedToken{app, until}
}

// IssueConsole issues the token for a console user's session. The token is valid only as long as the session.
func (t *Tokens) IssueConsole(u *models.ConsoleUser, session *models.ConsoleSession) (string, error) {
	return t.sign(claims{RegisteredClaims: registered(audienceConsole, u.ID, session.ID.String(), session.CreatedAt, session.ExpiresAt), App: u.AppID})
}

// VerifyConsole returns the session of a console token.
func (t *Tokens) VerifyConsole(token string) (uuid.UUID, error) {
	c, err := t.parse(token, audienceConsole)
	if err != nil {
		return uuid.Nil, err
	}
	return uuid.Parse(c.ID)
}

// IssueSigning issues the token for a signer's current link. It can be called repeatedly, because every token that
// contains the signer's stored link ID is valid.
func (t *Tokens) IssueSigning(app uuid.UUID, s *models.Signer) (string, error) {
	c, err := signingClaims(app, s)
	if err != nil {
		return "", err
	}
	return t.sign(c)
}

// IssueEmbedded issues the token for a signer's current link in one embedded session. The token expires with the
// session.
func (t *Tokens) IssueEmbedded(session *models.EmbeddedSession, s *models.Signer) (string, error) {
	c, err := signingClaims(session.AppID, s)
	if err != nil {
		return "", err
	}
	c.Session = session.ID
	if session.ExpiresAt.Before(c.ExpiresAt.Time) {
		c.ExpiresAt = jwt.NewNumericDate(session.ExpiresAt)
	}
	return t.sign(c)
}

func signingClaims(app uuid.UUID, s *models.Signer) (claims, error) {
	if s.LinkID == nil || s.LinkExpiresAt == nil || s.LinkIssuedAt == nil {
		return claims{}, fmt.Errorf("signer %s has no link", s.ID)
	}
	return claims{
		RegisteredClaims: registered(audienceSigning, s.ID, s.LinkID.String(), *s.LinkIssuedAt, *s.LinkExpiresAt),
		App:              app, Envelope: s.EnvelopeID,
	}, nil
}

// SigningLink contains the content of a signing token.
type SigningLink struct {
	models.Link

	App     uuid.UUID
	Session uuid.UUID // embedded session of the token, or zero if there is none
}

// VerifySigning verifies a signing token. The caller must check that the link and the embedded session are still
// valid.
func (t *Tokens) VerifySigning(token string) (SigningLink, error) {
	return t.verifySigning(token, leeway)
}

// expiredLinkGrace is the time for which an expired link still shows the outcome of the envelope.
const expiredLinkGrace = 30 * 24 * time.Hour

// VerifyExpiredSigning is like VerifySigning, but also accepts a token that expired within expiredLinkGrace.
func (t *Tokens) VerifyExpiredSigning(token string) (SigningLink, error) {
	return t.verifySigning(token, expiredLinkGrace)
}

func (t *Tokens) verifySigning(token string, leeway time.Duration) (SigningLink, error) {
	c, err := t.parseWithin(token, audienceSigning, leeway)
	if err != nil {
		return SigningLink{}, err
	}
	signer, err1 := uuid.Parse(c.Subject)
	id, err2 := uuid.Parse(c.ID)
	if err := errors.Join(err1, err2); err != nil {
		return SigningLink{}, err
	}
	return SigningLink{Link: models.Link{EnvelopeID: c.Envelope, SignerID: signer, ID: id}, App: c.App, Session: c.Session}, nil
}

// IssueDownload issues the token for a recipient's link to one sealed document.
func (t *Tokens) IssueDownload(e *models.Envelope, d *models.Document, recipient uuid.UUID) (string, error) {
	now := t.now()
	return t.sign(claims{
		RegisteredClaims: registered(audienceDownload, d.ID, "", now, now.Add(DownloadLifetime)),
		App:              e.AppID, Envelope: e.ID, Signer: recipient,
	})
}

// DownloadLink contains the content of a download token.
type DownloadLink struct {
	App, Envelope, Document, Recipient uuid.UUID
	Until                              time.Time
}

// VerifyDownload verifies a download token.
func (t *Tokens) VerifyDownload(token string) (DownloadLink, error) {
	c, err := t.parse(token, audienceDownload)
	if err != nil {
		return DownloadLink{}, err
	}
	doc, err := uuid.Parse(c.Subject)
	return DownloadLink{App: c.App, Envelope: c.Envelope, Document: doc, Recipient: c.Signer, Until: c.ExpiresAt.Time}, err
}

// IssueReceipt issues the token that a signer receives after signing. It grants access to the envelope's status, and
// to the sealed copy once it exists. The signing link itself is no longer valid.
func (t *Tokens) IssueReceipt(l SigningLink) (string, error) {
	now := t.now()
	return t.sign(claims{
		RegisteredClaims: registered(audienceReceipt, l.SignerID, "", now, now.Add(ReceiptLifetime)),
		App:              l.App, Envelope: l.EnvelopeID,
	})
}

// VerifyReceipt returns the app, the envelope and the signer of a receipt token.
func (t *Tokens) VerifyReceipt(token string) (app, envelope, signer uuid.UUID, err error) {
	c, err := t.parse(token, audienceReceipt)
	if err != nil {
		return uuid.Nil, uuid.Nil, uuid.Nil, err
	}
	signer, err = uuid.Parse(c.Subject)
	return c.App, c.Envelope, signer, err
}

// IssueUnsubscribe issues a token that can only disable the notifications of a console user. The claims depend only on
// the user and the time of the email, so that a repeated email contains the same claims.
func (t *Tokens) IssueUnsubscribe(u *models.ConsoleUser, at time.Time) (string, error) {
	return t.sign(claims{RegisteredClaims: registered(audienceUnsubscribe, u.ID, "", at, at.Add(UnsubscribeLifetime)), App: u.AppID})
}

// VerifyUnsubscribe returns the app and the console user of an unsubscribe token.
func (t *Tokens) VerifyUnsubscribe(token string) (app, user uuid.UUID, err error) {
	c, err := t.parse(token, audienceUnsubscribe)
	if err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	user, err = uuid.Parse(c.Subject)
	return c.App, user, err
}

// IsExpired reports whether err was caused by an expired token.
func IsExpired(err error) bool { return errors.Is(err, jwt.ErrTokenExpired) }

func (t *Tokens) sign(c claims) (string, error) {
	key := t.ring.signer(t.now())
	tok := jwt.NewWithClaims(jwt.SigningMethodES256, c)
	tok.Header["kid"] = key.ID
	s, err := tok.SignedString(key.Private)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return s, nil
}

// maxToken is the maximum length of a token in bytes.
const maxToken = 4096

// leeway is the permitted difference between the clocks of the service's processes.
const leeway = 5 * time.Second

func (t *Tokens) parse(token, audience string) (*claims, error) {
	return t.parseWithin(token, audience, leeway)
}

func (t *Tokens) parseWithin(token, audience string, leeway time.Duration) (*claims, error) {
	if len(token) > maxToken {
		return nil, jwt.ErrTokenMalformed
	}
	c := &claims{}
	_, err := jwt.ParseWithClaims(token, c, func(tok *jwt.Token) (any, error) {
		kid, _ := tok.Header["kid"].(string)
		if k, ok := t.ring.byID(kid, t.now()); ok {
			return &k.Private.PublicKey, nil
		}
		return nil, errors.New("unknown key")
	}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(t.now))
	if err != nil {
		return nil, err
	}
	return c, nil
}
