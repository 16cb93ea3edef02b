package api

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

const (
	// passkeyLifetime is the time within which the browser must respond to a challenge.
	passkeyLifetime = 5 * time.Minute
	maxPasskeyName  = 100 // characters
	maxCeremony     = 100 // bytes
)

var (
	errNoPasskeys      = models.Reject(models.KindConflict, "passkeys_unavailable", "Passkeys require a BASE_URL that begins with https:// and a host name.")
	errPasskeyNone     = models.Reject(models.KindConflict, "passkey_none", "This account has no passkey.")
	errPasskeyRejected = models.Reject(models.KindUnauthorized, "invalid_passkey", "The passkey was not accepted. Please try again.")
)

// newRelyingParty returns the WebAuthn relying party for the host of the public address. It returns nil for an IP
// address, and for plain HTTP unless the host is localhost, because browsers do not support passkeys there.
func newRelyingParty(base string) (*webauthn.WebAuthn, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("relying party: %w", err)
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil || u.Scheme != "https" && u.Hostname() != "localhost" {
		return nil, nil //nolint:nilnil // unsupported passkeys are not an error
	}
	rp, err := webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: "Countersign", RPOrigins: []string{u.Scheme + "://" + u.Host}, AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{UserVerification: protocol.VerificationRequired, ResidentKey: protocol.ResidentKeyRequirementPreferred},
	})
	if err != nil {
		return nil, fmt.Errorf("relying party: %w", err)
	}
	return rp, nil
}

// passkeyUser adapts a console user to the webauthn library.
type passkeyUser struct {
	*models.ConsoleUser

	rows        []models.ConsolePasskey
	credentials []webauthn.Credential
}

// WebAuthnID, WebAuthnName, WebAuthnDisplayName and WebAuthnCredentials implement webauthn.User.
func (u *passkeyUser) WebAuthnID() []byte                         { return u.ID[:] }
func (u *passkeyUser) WebAuthnName() string                       { return u.Email }
func (u *passkeyUser) WebAuthnDisplayName() string                { return u.Name }
func (u *passkeyUser) WebAuthnCredentials() []webauthn.Credential { return u.credentials }

func (s *signInHandler) passkeyUser(c *gin.Context, user *models.ConsoleUser) (*passkeyUser, error) {
	rows, err := s.store.Passkeys(c.Request.Context(), user.ID)
	if err != nil {
		return nil, err
	}
	u := &passkeyUser{ConsoleUser: user, rows: rows, credentials: make([]webauthn.Credential, len(rows))}
	for i := range rows {
		if err := json.Unmarshal(rows[i].Credential, &u.credentials[i]); err != nil {
			return nil, fmt.Errorf("read passkey %s: %w", rows[i].ID, err)
		}
	}
	return u, nil
}

type passkeyView struct {
	ID        uuid.UUID  `json:"id"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"createdAt"`
	UsedAt    *time.Time `json:"usedAt"`
}

func viewPasskey(p *models.ConsolePasskey) passkeyView {
	return passkeyView{p.ID, p.Name, p.CreatedAt.UTC(), utcPtr(p.UsedAt)}
}

func (s *signInHandler) listPasskeys(c *gin.Context, app caller) error {
	rows, err := s.store.Passkeys(c.Request.Context(), app.user.ID)
	if err != nil {
		return err
	}
	return respondList(c, views(rows, viewPasskey))
}

// challengePurpose identifies the purpose and the holder of a challenge. Only the holder may respond to the challenge.
type challengePurpose struct {
	kind   models.ChallengeKind
	holder string
}

func signInChallenge(user uuid.UUID) challengePurpose {
	return challengePurpose{models.ChallengePasskeySignIn, user.String()}
}

func confirmationChallenge(session uuid.UUID) challengePurpose {
	return challengePurpose{models.ChallengePasskeyProof, session.String()}
}

func registrationChallenge(session uuid.UUID) challengePurpose {
	return challengePurpose{models.ChallengePasskey, session.String()}
}

// challenge stores a challenge and sends it to the browser. Only one response to a challenge is accepted.
func (s *signInHandler) challenge(c *gin.Context, spec challengePurpose, user uuid.UUID, session *webauthn.SessionData, options any) error {
	data, err := json.Marshal(session)
	if err != nil {
		return fmt.Errorf("store challenge: %w", err)
	}
	ceremony := rand.Text()
	if err := s.store.CreateChallenge(c.Request.Context(), store.Challenge{Kind: spec.kind, Answer: ceremony, Holder: spec.holder, User: &user, Data: data}, passkeyLifetime); err != nil {
		return err
	}
	return respond(c, http.StatusOK, gin.H{"ceremony": ceremony, "publicKey": options})
}

func (s *signInHandler) takeChallenge(c *gin.Context, purpose challengePurpose, ceremony string) (webauthn.SessionData, error) {
	var session webauthn.SessionData
	challenge := store.Challenge{Kind: purpose.kind, Answer: ceremony, Holder: purpose.holder}
	err := s.store.TakeChallenge(c.Request.Context(), &challenge)
	if err != nil {
		return session, notFoundAs(errPasskeyRejected, err)
	}
	if err := json.Unmarshal(challenge.Data, &session); err != nil {
		return session, fmt.Errorf("read challenge: %w", err)
	}
	return session, nil
}

// beginPasskey begins the registration of a passkey in the user's session.
func (s *signInHandler) beginPasskey(c *gin.Context, app caller, o *object) error {
	if err := s.checkPasskeys(app); err != nil {
		return err
	}
	if err := s.reauthenticate(c, app, o); err != nil {
		return err
	}
	user, err := s.passkeyUser(c, app.user)
	if err != nil {
		return err
	}
	options, session, err := s.relyingParty.BeginRegistration(user, webauthn.WithExclusions(webauthn.Credentials(user.credentials).CredentialDescriptors()))
	if err != nil {
		return fmt.Errorf("start passkey request: %w", err)
	}
	return s.challenge(c, registrationChallenge(app.session), app.user.ID, session, options.Response)
}

// checkPasskeys returns an error if the user cannot register passkeys.
func (s *signInHandler) checkPasskeys(app caller) error {
	if err := rejectProviderAccount(app); err != nil {
		return err
	}
	if s.relyingParty == nil {
		return errNoPasskeys
	}
	return nil
}

// createPasskey registers a passkey created by the browser.
func (s *signInHandler) createPasskey(c *gin.Context, app caller, o *object) error {
	name := plaintext.Visible(o.str("name"))
	models.CheckText(o.p, "name", name, 1, maxPasskeyName)
	ceremony, response := o.ceremony(), o.raw("credential")
	if err := o.err(); err != nil {
		return err
	}
	if err := s.checkPasskeys(app); err != nil {
		return err
	}
	session, err := s.takeChallenge(c, registrationChallenge(app.session), ceremony)
	if err != nil {
		return wrongPasskey(err)
	}
	user, err := s.passkeyUser(c, app.user)
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return s.rejectPasskey(c, app.user.ID, err)
	}
	made, err := s.relyingParty.CreateCredential(user, session, parsed)
	if err != nil {
		return s.rejectPasskey(c, app.user.ID, err)
	}
	made.Attestation = webauthn.CredentialAttestation{} // not used after registration
	state, err := json.Marshal(made)
	if err != nil {
		return fmt.Errorf("store passkey: %w", err)
	}
	row := &models.ConsolePasskey{UserID: app.user.ID, CredentialID: made.ID, Credential: state, Name: name}
	recovery, err := execute(s.subject, c, func(st signInStore) ([]string, error) { return st.AddPasskey(c.Request.Context(), row, app.session) }, nil)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "passkey registered", "user", app.user.ID, "passkey", row.ID)
	return respond(c, http.StatusCreated, gin.H{"passkey": viewPasskey(row), "recoveryCodes": append([]string{}, recovery...)})
}

// rejectPasskey logs the reason for a rejected passkey response, and returns an error for the member that contains the
// response.
func (s *signInHandler) rejectPasskey(c *gin.Context, user uuid.UUID, err error) error {
	kind := ""
	if p, ok := errors.AsType[*protocol.Error](err); ok {
		kind = p.Type
	}
	s.logSecurityEvent(c, "passkey rejected", "user", user, "reason", kind)
	return wrongPasskey(errPasskeyRejected)
}

// wrongPasskey returns an error for the member "credential" if err reports a rejected response. The session itself is
// valid, so the response is not a 401.
func wrongPasskey(err error) error {
	if errors.Is(err, errPasskeyRejected) {
		return wrongCredential("credential", "was not accepted, or took too long")
	}
	return err
}

// removePasskey removes a passkey of the user and ends all other sessions.
func (s *signInHandler) removePasskey(c *gin.Context, app caller) error {
	id := checkedID(c, "id")
	rows, err := s.store.Passkeys(c.Request.Context(), app.user.ID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(rows, func(p models.ConsolePasskey) bool { return p.ID == id }) {
		return models.ErrNotFound
	}
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	if err := s.reauthenticate(c, app, o); err != nil {
		return err
	}
	if err := s.store.RemovePasskey(c.Request.Context(), app.user.ID, id, app.session); err != nil {
		return err
	}
	s.logSecurityEvent(c, "passkey removed", "user", app.user.ID, "passkey", id)
	return respondNoContent(c)
}

// createSignInChallenge creates a passkey challenge for a user who entered the correct password.
func (s *signInHandler) createSignInChallenge(c *gin.Context) error {
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	email, password := o.str("email"), o.str("password")
	if err := o.err(); err != nil {
		return err
	}
	known, err := s.checkPassword(c, email, password)
	if err != nil {
		return err
	}
	user, err := s.passkeyUser(c, known)
	if err != nil {
		return err
	}
	return s.challengePasskeys(c, user, signInChallenge(known.ID))
}

// createConfirmationChallenge creates a passkey challenge to confirm a change of the account. The challenge is valid only in the
// user's session.
func (s *signInHandler) createConfirmationChallenge(c *gin.Context, app caller) error {
	user, err := s.passkeyUser(c, app.user)
	if err != nil {
		return err
	}
	return s.challengePasskeys(c, user, confirmationChallenge(app.session))
}

func (s *signInHandler) challengePasskeys(c *gin.Context, user *passkeyUser, spec challengePurpose) error {
	if len(user.rows) == 0 {
		return errPasskeyNone
	}
	if s.relyingParty == nil { // the service no longer supports passkeys
		return errNoPasskeys
	}
	options, session, err := s.relyingParty.BeginLogin(user, webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return fmt.Errorf("create passkey challenge: %w", err)
	}
	return s.challenge(c, spec, user.ID, session, options.Response)
}

// passkeyAnswer is a browser's response to a challenge.
type passkeyAnswer struct {
	ceremony   string
	credential []byte
}

// consumePasskey consumes a challenge and verifies the response to it. Wrong responses count towards the same limit as
// wrong codes.
func (s *signInHandler) consumePasskey(c *gin.Context, known *models.ConsoleUser, purpose challengePurpose, a passkeyAnswer) error {
	session, err := s.takeChallenge(c, purpose, a.ceremony)
	if err != nil {
		return err
	}
	user, err := s.passkeyUser(c, known)
	if err != nil {
		return err
	}
	var made *webauthn.Credential
	parsed, err := protocol.ParseCredentialRequestResponseBytes(a.credential)
	if err == nil && s.relyingParty != nil {
		made, err = s.relyingParty.ValidateLogin(user, session, parsed)
	}
	if err != nil || made == nil {
		_ = s.rejectPasskey(c, known.ID, err) // called only to log the reason
		return errPasskeyRejected
	}
	for i := range user.rows {
		row := &user.rows[i]
		if string(row.CredentialID) != string(made.ID) {
			continue
		}
		if made.Authenticator.CloneWarning {
			s.logSecurityEvent(c, "a passkey's signature counter decreased: the passkey may have been cloned", "user", known.ID, "passkey", row.ID)
			made.Authenticator.CloneWarning = false
		}
		state, err := json.Marshal(made)
		if err != nil {
			return fmt.Errorf("store passkey: %w", err)
		}
		return s.store.UsePasskey(c.Request.Context(), row, state)
	}
	return errPasskeyRejected
}

// ceremony returns the identifier of the challenge that a response refers to.
func (o *object) ceremony() string {
	s := o.str("ceremony")
	if o.has("ceremony") && (s == "" || len(s) > maxCeremony) {
		o.bad("ceremony", "must be between 1 and %d bytes long", maxCeremony)
	}
	return s
}

// raw returns the JSON encoding of a member that must be an object.
func (o *object) raw(name string) []byte {
	m, ok := o.get(name).(map[string]any)
	if !ok {
		o.bad(name, "must be an object")
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		o.bad(name, "cannot be read")
	}
	return b
}
