package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/models"
	"countersign/test/kit"
)

// authenticator simulates a passkey used by a browser at an origin (WebAuthn Level 3 §6, §7).
type authenticator struct {
	t      *testing.T
	key    *ecdsa.PrivateKey
	id     []byte
	user   string // the user handle, in base64url
	count  uint32
	origin string
	rp     string
	flags  byte // excludes the flag for an attested credential
}

const (
	userPresent  = 0x01
	userVerified = 0x04
	attestedData = 0x40
)

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	id := make([]byte, 32)
	_, _ = rand.Read(id)
	return &authenticator{t: t, key: key, id: id, origin: "https://sign.example.com", rp: "sign.example.com", flags: userPresent | userVerified, count: 1}
}

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (a *authenticator) clientData(kind, challenge string) []byte {
	b, err := json.Marshal(object{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	require.NoError(a.t, err)
	return b
}

func (a *authenticator) data(flags byte) []byte {
	rp := sha256.Sum256([]byte(a.rp))
	return binary.BigEndian.AppendUint32(append(rp[:], flags), a.count)
}

// creates returns the browser's response to the options for a new passkey.
func (a *authenticator) creates(options object) object {
	a.t.Helper()
	o := options["publicKey"].(object)
	a.user = o["user"].(object)["id"].(string)
	raw, err := a.key.PublicKey.Bytes()
	require.NoError(a.t, err)
	public, err := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: raw[1:33], -3: raw[33:]})
	require.NoError(a.t, err)
	data := append(a.data(a.flags|attestedData), make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), public...)
	attestation, err := cbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	require.NoError(a.t, err)
	return object{"id": base64url(a.id), "rawId": base64url(a.id), "type": "public-key", "clientExtensionResults": object{}, "response": object{
		"clientDataJSON": base64url(a.clientData("webauthn.create", o["challenge"].(string))), "attestationObject": base64url(attestation), "transports": []string{"internal"},
	}}
}

// signs returns the browser's response to a sign-in challenge.
func (a *authenticator) signs(options object) object {
	a.t.Helper()
	a.count++
	o := options["publicKey"].(object)
	client, data := a.clientData("webauthn.get", o["challenge"].(string)), a.data(a.flags)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(slices.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	require.NoError(a.t, err)
	return object{"id": base64url(a.id), "rawId": base64url(a.id), "type": "public-key", "clientExtensionResults": object{}, "response": object{
		"clientDataJSON": base64url(client), "authenticatorData": base64url(data), "signature": base64url(signature), "userHandle": a.user,
	}}
}

const passkeysPath = "/v1/console/passkeys"

func (c *client) registers(a *authenticator, name string, proof object) *response {
	c.t.Helper()
	options := c.post(passkeysPath+"/begin", proof).want(200)
	return c.post(passkeysPath, object{"ceremony": options.str("ceremony"), "name": name, "credential": a.creates(options.body)})
}

// challenge returns a sign-in challenge for the account with the given email address.
func (s *service) challenge(t *testing.T, email string) *response {
	t.Helper()
	return (&client{t: t, s: s}).post(passkeysPath+"/challenge", object{"email": email, "password": password}).want(200)
}

// confirmationChallenge returns a challenge to confirm a change in the client's session.
func (c *client) confirmationChallenge() *response {
	c.t.Helper()
	return c.post(passkeysPath+"/proof", nil).want(200)
}

func answerOf(asked *response, a *authenticator) object {
	return object{"ceremony": asked.str("ceremony"), "credential": a.signs(asked.body)}
}

// TestPasskeys_SignInAndConfirm checks that several named passkeys can be used to sign in and to confirm changes,
// alongside the authenticator app and recovery codes.
func TestPasskeys_SignInAndConfirm(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *service) {
		c, nobody := s.person(t, models.RoleViewer), &client{t: t, s: s}
		email, other := c.email(), c.again()
		require.Equal(t, object{"provider": nil, "passkeys": true}, nobody.get("/v1/console/sign-in").want(200).body)
		nobody.post(passkeysPath+"/challenge", object{"email": email, "password": password}).rejected(409, "passkey_none")
		c.post(passkeysPath+"/proof", nil).rejected(409, "passkey_none")
		nobody.post(passkeysPath+"/challenge", object{"email": email, "password": "something else"}).rejected(401, "invalid_credentials")
		c.post(passkeysPath+"/begin", object{"password": "something else"}).rejected(400, "validation_error")

		laptop, phone := newAuthenticator(t), newAuthenticator(t)
		a := c.registers(laptop, "Laptop", object{"password": password}).want(201)
		recovery := a.body["recoveryCodes"].([]any)
		require.Len(t, recovery, 10)
		require.Equal(t, "Laptop", a.body["passkey"].(object)["name"])
		other.me().rejected(401, "unauthorized")

		// The password alone no longer permits signing in or changing the account.
		login := func(second object) *response {
			t.Helper()
			body := object{"email": email, "password": password}
			for k, v := range second {
				body[k] = v
			}
			return nobody.post("/v1/console/login", body)
		}
		a = login(nil)
		a.rejected(401, "code_required")
		require.Equal(t, object{"authenticatorApp": false, "passkey": true}, a.body["details"])
		login(object{"code": "000000"}).rejected(401, "invalid_code")
		c.post(passkeysPath+"/begin", object{"password": password}).rejected(400, "validation_error")
		login(object{"passkey": answerOf(s.challenge(t, email), laptop)}).want(200)
		login(object{"code": recovery[0]}).want(200)

		a = c.registers(phone, "Phone", object{"password": password, "passkey": answerOf(c.confirmationChallenge(), laptop)}).want(201)
		require.Empty(t, a.body["recoveryCodes"], "existing recovery codes stay valid")
		phoneID := a.body["passkey"].(object)["id"].(string)
		login(object{"passkey": answerOf(s.challenge(t, email), phone)}).want(200)
		names := []string{}
		for _, p := range list(c.get(passkeysPath).want(200)) {
			names = append(names, p.(object)["name"].(string))
			require.NotNil(t, p.(object)["usedAt"])
		}
		require.Equal(t, []string{"Laptop", "Phone"}, names)
		c.registers(phone, "Again", object{"password": password, "code": recovery[1]}).rejected(409, "passkey_exists")
		copied := *phone // the copy includes the user handle of the other user
		s.person(t, models.RoleViewer).registers(&copied, "Another's", object{"password": password}).rejected(409, "passkey_exists")

		// An authenticator app can be enrolled in addition to passkeys.
		secret := c.post("/v1/console/totp", object{"password": password, "code": recovery[2]}).want(201).str("secret")
		fresh := c.post("/v1/console/totp/confirm", object{"code": s.code(t, secret)}).want(200).body["recoveryCodes"].([]any)
		require.Equal(t, object{"authenticatorApp": true, "passkey": true}, login(nil).body["details"])
		login(object{"passkey": answerOf(s.challenge(t, email), laptop)}).want(200)
		login(object{"code": s.code(t, secret)}).want(200)
		c.post("/v1/console/totp/remove", object{"password": password, "code": fresh[0]}).want(204)
		require.Equal(t, object{"active": false, "required": false, "recoveryCodes": 9.0}, c.get("/v1/console/totp").want(200).body)
		c.post("/v1/console/totp/remove", object{"password": password, "code": fresh[1]}).rejected(409, "second_factor_none")

		// A removed passkey is rejected, and removing the last one also removes the recovery codes.
		before := s.challenge(t, email)
		c.post(passkeysPath+"/"+phoneID+"/remove", object{"password": password}).rejected(400, "validation_error")
		c.post(passkeysPath+"/"+phoneID+"/remove", object{"password": password, "passkey": answerOf(c.confirmationChallenge(), phone)}).want(204)
		login(object{"passkey": answerOf(before, phone)}).rejected(401, "invalid_passkey")
		c.post(passkeysPath+"/"+phoneID+"/remove", object{"password": password, "passkey": answerOf(c.confirmationChallenge(), laptop)}).rejected(404, "not_found")
		id := list(c.get(passkeysPath).want(200))[0].(object)["id"].(string)
		c.post(passkeysPath+"/"+id+"/remove", object{"password": password, "passkey": answerOf(c.confirmationChallenge(), laptop)}).want(204)
		require.Equal(t, object{"active": false, "required": false, "recoveryCodes": 0.0}, c.get("/v1/console/totp").want(200).body)
		login(nil).want(200)
	})
}

// TestPasskeys_EachChangeNeedsAResponse checks that each change to an account requires its own passkey response.
func TestPasskeys_EachChangeNeedsAResponse(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, nil)
	c, key := s.person(t, models.RoleAdmin), newAuthenticator(t)
	c.registers(key, "Laptop", object{"password": password}).want(201)
	for _, change := range []struct {
		path   string
		body   object
		status int
	}{
		{"/v1/console/client-secrets", object{"overlapHours": 1}, 201},
		{"/v1/console/sessions/end", object{}, 204},
		{"/v1/console/password", object{"newPassword": "another long password of hers"}, 204},
	} {
		change.body["password"] = password
		c.post(change.path, change.body).rejected(400, "validation_error")
		change.body["passkey"] = answerOf(c.confirmationChallenge(), key)
		c.post(change.path, change.body).want(change.status)
		c.me().want(200)
		c.post(change.path, change.body).rejected(400, "validation_error") // the response was already used, or the change has replaced the password
	}
}

// TestPasskeys_RejectedResponses checks that a response is rejected if it does not prove that the user holds the key
// and intends to use it now, for this service.
func TestPasskeys_RejectedResponses(t *testing.T) {
	t.Parallel()
	log := &kit.Buffer{}
	s := onSQLite(t, func(cfg *api.Config) { cfg.Log = slog.New(slog.NewTextHandler(log, nil)) })
	ada, bob := s.person(t, models.RoleViewer), s.person(t, models.RoleViewer)
	adas, bobs := newAuthenticator(t), newAuthenticator(t)
	ada.registers(adas, "Ada's", object{"password": password}).want(201)
	bob.registers(bobs, "Bob's", object{"password": password}).want(201)
	email := ada.email()
	login := func(answer object) *response {
		t.Helper()
		s.clock.advance(time.Hour) // wrong responses are counted per hour
		return (&client{t: t, s: s}).post("/v1/console/login", object{"email": email, "password": password, "passkey": answer})
	}
	ask := func() *response { t.Helper(); s.clock.advance(time.Hour); return s.challenge(t, email) }
	quick := func(answer object) *response {
		t.Helper()
		return (&client{t: t, s: s}).post("/v1/console/login", object{"email": email, "password": password, "passkey": answer})
	}

	asked := ask()
	used := answerOf(asked, adas)
	quick(used).want(200)
	quick(used).rejected(401, "invalid_passkey")                                        // replayed response
	quick(answerOf(asked, adas)).rejected(401, "invalid_passkey")                       // challenge already used
	quick(answerOf(ask(), bobs)).rejected(401, "invalid_passkey")                       // another user's key
	quick(answerOf(s.challenge(t, bob.email()), bobs)).rejected(401, "invalid_passkey") // another user's challenge
	asked = ask()
	quick(object{"ceremony": ask().str("ceremony"), "credential": adas.signs(asked.body)}).rejected(401, "invalid_passkey") // challenge from another attempt
	login(answerOf(s.challenge(t, email), adas)).rejected(401, "invalid_passkey")                                           // expired challenge
	late := answerOf(ask(), adas)
	s.clock.advance(5*time.Minute - time.Second)
	quick(late).want(200)
	late = answerOf(ask(), adas)
	s.clock.advance(5*time.Minute + time.Second)
	quick(late).rejected(401, "invalid_passkey")

	for name, change := range map[string]func(a *authenticator){
		"another site":     func(a *authenticator) { a.origin = "https://sign.example.com.evil.example" },
		"plain http":       func(a *authenticator) { a.origin = "http://sign.example.com" },
		"another port":     func(a *authenticator) { a.origin = "https://sign.example.com:8443" },
		"another party":    func(a *authenticator) { a.rp = "evil.example" },
		"nobody verified":  func(a *authenticator) { a.flags = userPresent },
		"nobody there":     func(a *authenticator) { a.flags = userVerified },
		"another key":      func(a *authenticator) { a.key = bobs.key },
		"another's handle": func(a *authenticator) { a.user = bobs.user },
		"an unknown id":    func(a *authenticator) { a.id = bobs.id },
		"a made up id":     func(a *authenticator) { a.id = []byte("made up") },
	} {
		forged := *adas
		change(&forged)
		a := quick(answerOf(ask(), &forged))
		require.Equal(t, 401, a.status, "%s: %s", name, a.raw)
	}
	broken := answerOf(ask(), adas)
	broken["credential"].(object)["response"].(object)["signature"] = base64url([]byte("no signature"))
	quick(broken).rejected(401, "invalid_passkey")
	quick(object{"ceremony": ask().str("ceremony"), "credential": object{"id": "x"}}).rejected(401, "invalid_passkey")
	(&client{t: t, s: s}).post("/v1/console/login", object{"email": email, "password": password, "passkey": object{"ceremony": "x"}}).rejected(400, "validation_error")

	// A response is valid once, for one change, in the session that requested the challenge.
	ada = s.enters(t, object{"email": email, "password": password, "passkey": answerOf(ask(), adas)})
	elsewhere := s.enters(t, object{"email": email, "password": password, "passkey": answerOf(s.challenge(t, email), adas)})
	renew := func(c *client, answer object) *response {
		t.Helper()
		return c.post("/v1/console/totp/recovery-codes", object{"password": password, "passkey": answer})
	}
	renew(ada, answerOf(elsewhere.confirmationChallenge(), adas)).rejected(400, "validation_error")
	renew(ada, answerOf(s.challenge(t, email), adas)).rejected(400, "validation_error") // challenge was requested for a sign-in
	quick(answerOf(ada.confirmationChallenge(), adas)).rejected(401, "invalid_passkey")
	renew(ada, answerOf(ada.confirmationChallenge(), bobs)).rejected(400, "validation_error")
	used = answerOf(ada.confirmationChallenge(), adas)
	renew(ada, used).want(200)
	renew(ada, used).rejected(400, "validation_error")
	pending := ada.confirmationChallenge()
	ada.post("/v1/console/logout", nil).want(204)
	renew(elsewhere, answerOf(pending, adas)).rejected(400, "validation_error")

	// A lower signature counter is logged, because the key may have been copied.
	adas.count = 1
	quick(answerOf(ask(), adas)).want(200)
	require.Equal(t, 1, log.CountLines("the passkey may have been cloned"))
	adas.count = 1000
	quick(answerOf(ask(), adas)).want(200)
	require.Equal(t, 1, log.CountLines("the passkey may have been cloned"), "a higher counter causes no warning, even after an earlier warning")
	require.Equal(t, 2, log.CountLines(`msg="passkey registered" user=`, "passkey="))
	require.Positive(t, log.CountLines(`msg="passkey rejected" user=`, "reason="))

	// A registration is valid once, and only in its session.
	carol := s.person(t, models.RoleViewer)
	another := carol.again()
	key := newAuthenticator(t)
	options := carol.post(passkeysPath+"/begin", object{"password": password}).want(200)
	made := object{"ceremony": options.str("ceremony"), "name": "Key", "credential": key.creates(options.body)}
	another.post(passkeysPath, made).rejected(400, "validation_error")
	s.person(t, models.RoleViewer).post(passkeysPath, made).rejected(400, "validation_error")
	carol.post(passkeysPath, made).want(201)
	carol.post(passkeysPath, made).rejected(400, "validation_error")
	carols := list(carol.get(passkeysPath).want(200))[0].(object)["id"].(string)
	carol.post(passkeysPath+"/"+carols+"/remove", object{"password": password, "passkey": answerOf(carol.confirmationChallenge(), key)}).want(204)
	require.Equal(t, 1, log.CountLines(`msg="passkey removed" user=`, "passkey="+carols))
	for name, change := range map[string]func(a *authenticator){
		"another site": func(a *authenticator) { a.origin = "https://evil.example" }, "another party": func(a *authenticator) { a.rp = "evil.example" }, "nobody verified": func(a *authenticator) { a.flags = userPresent },
	} {
		dave, forged := s.person(t, models.RoleViewer), newAuthenticator(t)
		change(forged)
		require.Equal(t, 400, dave.registers(forged, "x", object{"password": password}).status, name)
		require.Empty(t, list(dave.get(passkeysPath).want(200)))
	}
	// The limit is ten passkeys.
	erin := s.person(t, models.RoleViewer)
	first := newAuthenticator(t)
	erin.registers(first, "1", object{"password": password}).want(201)
	for range 9 {
		erin.registers(newAuthenticator(t), "x", object{"password": password, "passkey": answerOf(erin.confirmationChallenge(), first)}).want(201)
	}
	erin.registers(newAuthenticator(t), "11", object{"password": password, "passkey": answerOf(erin.confirmationChallenge(), first)}).rejected(409, "too_many_passkeys")
	for _, secret := range []string{email, "Ada's", base64url(adas.id)} {
		require.NotContains(t, log.String(), secret)
	}
}

// TestPasskeys_RequiredSecondFactor checks that a passkey satisfies a required second factor, and that passkeys are
// unavailable if BASE_URL has no host name.
func TestPasskeys_RequiredSecondFactor(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, func(cfg *api.Config) { cfg.ConsoleTOTP = models.SecondFactorRequired })
	c, key := s.person(t, models.RoleViewer), newAuthenticator(t)
	require.Equal(t, true, c.me().want(200).body["mustEnrol"])
	c.registers(key, "Key", object{"password": password}).want(201)
	require.Equal(t, false, c.me().want(200).body["mustEnrol"])
	email, app := c.email(), s.client(t)
	users := list(app.get("/v1/console/users").want(200))
	require.Equal(t, true, users[0].(object)["secondFactor"])
	for range 10 {
		asked := s.challenge(t, email)
		(&client{t: t, s: s}).post("/v1/console/login", object{"email": email, "password": password, "passkey": object{"ceremony": asked.str("ceremony"), "credential": object{"id": "x"}}}).rejected(401, "invalid_passkey")
	}
	(&client{t: t, s: s}).post("/v1/console/login", object{"email": email, "password": password, "passkey": answerOf(s.challenge(t, email), key)}).rejected(429, "rate_limited")
	app.del("/v1/console/users/" + c.me().body["user"].(object)["id"].(string) + "/totp").want(204)
	c.me().rejected(401, "unauthorized")
	(&client{t: t, s: s}).post(passkeysPath+"/challenge", object{"email": email, "password": password}).rejected(409, "passkey_none")

	for _, base := range []string{"http://127.0.0.1:8080", "https://192.0.2.7", "http://sign.example.com"} {
		s := onSQLite(t, func(cfg *api.Config) { cfg.BaseURL = base })
		require.Equal(t, false, (&client{t: t, s: s}).get("/v1/console/sign-in").want(200).body["passkeys"], base)
		person := s.person(t, models.RoleViewer)
		person.post(passkeysPath+"/begin", object{"password": password}).rejected(409, "passkeys_unavailable")
		person.post(passkeysPath, object{"ceremony": uuid.NewString(), "name": "x", "credential": object{}}).rejected(409, "passkeys_unavailable")
		// A registered passkey cannot be used either.
		owner := person.me().body["user"].(object)
		_, err := s.store.AddPasskey(t.Context(), &models.ConsolePasskey{UserID: uuid.MustParse(owner["id"].(string)), CredentialID: []byte("old"), Credential: []byte("{}"), Name: "Old"}, uuid.Nil)
		require.NoError(t, err)
		(&client{t: t, s: s}).post(passkeysPath+"/challenge", object{"email": owner["email"], "password": password}).rejected(409, "passkeys_unavailable")
	}
}
