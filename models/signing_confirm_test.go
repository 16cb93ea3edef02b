package models_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// confirmed returns an envelope whose first signer verified a code at start, in the given session.
func confirmed(t *testing.T, session []byte, groups ...int) *models.Envelope {
	t.Helper()
	e := sent(t, nil, models.AuthEmailOTP, groups...)
	_, err := e.RequestCode(act(start), link(e, 0), []byte("right"))
	require.NoError(t, err)
	ok, err := e.VerifyCode(act(start), link(e, 0), []byte("right"), session)
	require.NoError(t, err)
	require.True(t, ok)
	return e
}

// TestConfirmation_BySessionOrClient checks that a confirmation is valid for one day in a session, and for half an
// hour for an address and user agent. Neither kind can replace the other.
func TestConfirmation_BySessionOrClient(t *testing.T) {
	t.Parallel()
	with := func(at time.Time, ip, agent string, session []byte) models.ActionContext {
		a := act(at)
		a.IP, a.UserAgent, a.Session = ip, agent, session
		return a
	}
	const ip, agent = "192.0.2.1", "test"
	mine, other := []byte("session"), []byte("another")
	for _, c := range []struct {
		name  string
		bound []byte
		act   models.ActionContext
		want  bool
	}{
		{"the session", mine, with(start, ip, agent, mine), true},
		{"from elsewhere", mine, with(start, "198.51.100.9", "phone", mine), true},
		{"nearly a day later", mine, with(start.Add(24*time.Hour-time.Microsecond), ip, agent, mine), true},
		{"a day later", mine, with(start.Add(24*time.Hour), ip, agent, mine), false},
		{"another session", mine, with(start, ip, agent, other), false},
		{"the client without its session", mine, with(start, ip, agent, nil), false},
		{"the same client", nil, with(start, ip, agent, nil), true},
		{"the same client with a session of something else", nil, with(start, ip, agent, other), true},
		{"nearly half an hour later", nil, with(start.Add(30*time.Minute-time.Microsecond), ip, agent, nil), true},
		{"half an hour later", nil, with(start.Add(30*time.Minute), ip, agent, nil), false},
		{"another address", nil, with(start, "192.0.2.2", agent, nil), false},
		{"another user agent", nil, with(start, ip, "test2", nil), false},
		{"what is together the same", nil, with(start, "192.0.2.1t", "est", nil), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := confirmed(t, c.bound, 1)
			assert.Equal(t, c.want, e.Signers[0].Confirmed(c.act))
			_, err := e.ConfirmedReader(c.act, link(e, 0))
			_, consent := e.Consent(c.act, link(e, 0), new(models.Signer).Disclosure("en"))
			if c.want {
				require.NoError(t, err)
				require.NoError(t, consent)
				_, err := e.Sign(c.act, link(e, 0), text(e, 0, "v"))
				require.NoError(t, err)
				return
			}
			assert.Equal(t, "otp_required", code(t, err))
			assert.Equal(t, "otp_required", code(t, consent))
			e.Signers[0].ConsentAt = &start
			_, err = e.Sign(c.act, link(e, 0), text(e, 0, "v"))
			assert.Equal(t, "otp_required", code(t, err))
			assert.Equal(t, models.SignerStatus("sent"), e.Signers[0].Status)
		})
	}
	e := sent(t, nil, models.AuthNone, 1)
	assert.True(t, e.Signers[0].Confirmed(act(start)), "the link alone is sufficient")
	e = sent(t, nil, models.AuthEmailOTP, 1)
	assert.False(t, e.Signers[0].Confirmed(act(start)), "no client has confirmed a code")
}

// TestConfirmation_EndsWithTheLink checks that a new link requires a new code, and that values shown through the old
// link no longer count as shown.
func TestConfirmation_EndsWithTheLink(t *testing.T) {
	t.Parallel()
	for _, session := range [][]byte{nil, []byte("session")} {
		e := confirmed(t, session, 1)
		holder := act(start)
		holder.Session = session
		_, err := e.RecordDisplayedValues(holder, link(e, 0))
		require.NoError(t, err)
		require.NotEmpty(t, e.Signers[0].Shown)
		require.NoError(t, e.Reinvite(act(start), e.Signers[0].ID))
		assert.False(t, e.Signers[0].Confirmed(holder))
		assert.Empty(t, e.Signers[0].Shown)
		_, err = e.ConfirmedReader(holder, link(e, 0))
		assert.Equal(t, "otp_required", code(t, err))
	}
}

func TestDecline_AllowedSigners(t *testing.T) {
	t.Parallel()
	mine := act(start)
	mine.Session = []byte("session")
	for name, c := range map[string]struct {
		envelope      *models.Envelope
		act           models.ActionContext
		plain, strict string // the error of Decline, without and with a required confirmation
	}{
		"nobody confirmed":     {sent(t, nil, models.AuthEmailOTP, 1), act(start), "", "otp_required"},
		"somebody else did":    {confirmed(t, []byte("session"), 1), act(start), "otp_required", "otp_required"},
		"the client itself":    {confirmed(t, []byte("session"), 1), mine, "", ""},
		"without a session":    {confirmed(t, nil, 1), act(start), "", ""},
		"it was long ago":      {confirmed(t, nil, 1), act(start.Add(time.Hour)), "", "otp_required"},
		"no code is needed":    {sent(t, nil, models.AuthNone, 1), act(start), "", ""},
		"the session is over":  {confirmed(t, []byte("session"), 1), func() models.ActionContext { a := mine; a.At = start.Add(25 * time.Hour); return a }(), "otp_required", "otp_required"},
		"the link has expired": {sent(t, nil, models.AuthEmailOTP, 1), act(start.Add(31 * 24 * time.Hour)), "signing_link_expired", "signing_link_expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rejected := func(err error) string {
				if err == nil {
					return ""
				}
				return code(t, err)
			}
			_, err := c.envelope.Decline(c.act, link(c.envelope, 0), nil, true)
			assert.Equal(t, c.strict, rejected(err))
			if err == nil {
				assert.Equal(t, models.StatusDeclined, c.envelope.Status)
				return
			}
			assert.NotEqual(t, models.StatusDeclined, c.envelope.Status)
			_, err = c.envelope.Decline(c.act, link(c.envelope, 0), nil, false)
			assert.Equal(t, c.plain, rejected(err))
		})
	}
}

// TestShownDigest_CoversAllSigned checks that the digest covers exactly the signers who have signed, in any order.
func TestShownDigest_CoversAllSigned(t *testing.T) {
	t.Parallel()
	digest := func(e *models.Envelope) string {
		s, err := e.Shown()
		require.NoError(t, err)
		require.True(t, models.IsDigest(s.Digest))
		return s.Digest
	}
	e := sent(t, nil, models.AuthNone, 1, 1, 1)
	none := digest(e)
	// Calculate the documented digest independently.
	assert.Equal(t, sha256Hex(`{"envelopeId":"`+e.ID.String()+`","signers":[]}`), none)
	_, err := e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	assert.Equal(t, none, digest(e))
	signs(t, e, 1, start)
	one := digest(e)
	values := sha256Hex(e.Fields[1].ID.String() + " " + sha256Hex("yes") + "\n")
	assert.Equal(t, sha256Hex(`{"envelopeId":"`+e.ID.String()+`","signers":[{"signerId":"`+e.Signers[1].ID.String()+`","valuesSha256":"`+values+`"}]}`), one)

	// A submission is rejected unless its digest covers every signature.
	sub := text(e, 0, "mine")
	for _, stale := range []string{none, sha256Hex("made up")} {
		sub.Shown = &stale
		before := len(e.Events)
		_, err = e.Sign(act(start), link(e, 0), sub)
		require.ErrorIs(t, err, models.ErrValuesChanged)
		assert.Len(t, e.Events, before)
		assert.Equal(t, one, digest(e))
	}
	sub.Shown = &one
	_, err = e.Sign(act(start), link(e, 0), sub)
	require.NoError(t, err)
	detail := e.Events[len(e.Events)-1].Detail
	assert.Equal(t, one, detail["shown"])
	assert.Equal(t, e.Signers[1].ID.String(), detail["shownSigners"])
	assert.Equal(t, true, detail["shownConfirmed"])
	_, err = e.Consent(act(start), link(e, 2), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	_, err = e.Sign(act(start), link(e, 2), text(e, 2, "blind"))
	require.NoError(t, err)
	detail = e.Events[len(e.Events)-1].Detail
	assert.Nil(t, detail["shown"], "nothing was shown through this link")
	assert.NotContains(t, detail, "shownSigners")
	require.NoError(t, e.Chain())
	require.NoError(t, models.VerifyChain(e.Events, e.AuditSeq, e.AuditHead))

	require.NoError(t, models.CheckDisplayedDigests(e.Events))
	at := slices.IndexFunc(e.Events, func(ev models.Event) bool { return ev.Detail["shownConfirmed"] == true })
	for name, forge := range map[string]models.Detail{
		"another digest":  {"shown": none},
		"of nobody":       {"shown": none, "shownSigners": ""},
		"of who did not":  {"shownSigners": e.Signers[2].ID.String()},
		"of oneself":      {"shownSigners": e.Signers[0].ID.String()},
		"of one too many": {"shownSigners": e.Signers[1].ID.String() + "," + e.Signers[2].ID.String()},
		"other values":    {"-": nil},
	} {
		forged := slices.Clone(e.Events)
		forged[at].Detail = maps.Clone(forged[at].Detail)
		maps.Copy(forged[at].Detail, forge)
		if name == "other values" {
			first := slices.IndexFunc(forged, func(ev models.Event) bool { return ev.Name == models.EventSignerSigned })
			forged[first].Detail = maps.Clone(forged[first].Detail)
			forged[first].Detail["valuesSha256"] = sha256Hex("else")
		}
		require.ErrorContains(t, models.CheckDisplayedDigests(forged), "the record of the values shown", name)
	}
}

// TestCodeState_MatchesRejections checks that requests are rejected exactly when the reported code state says so.
func TestCodeState_MatchesRejections(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	s, l := e.Signers[0], link(e, 0)
	assert.Nil(t, sent(t, nil, models.AuthNone, 1).Signers[0].CodeState(start))
	assert.Equal(t, &models.CodeState{}, s.CodeState(start))
	at := start
	for range models.OTPRequestLimit {
		_, err := e.RequestCode(act(at), l, []byte("right"))
		require.NoError(t, err)
		assert.Equal(t, at.Add(models.OTPLifetime), *s.CodeState(at).LiveUntil)
		at = at.Add(time.Minute)
	}
	free := *s.CodeState(at).RequestableAt
	_, err := e.RequestCode(act(free.Add(-time.Microsecond)), l, []byte("right"))
	assert.Equal(t, "otp_rate_limited", code(t, err))
	assert.Nil(t, s.CodeState(free).RequestableAt)
	for left := models.OTPTries - 1; left > 0; left-- {
		ok, err := e.VerifyCode(act(at), l, []byte("wrong"), nil)
		require.NoError(t, err)
		require.False(t, ok)
		assert.Equal(t, left, *s.CodeState(at).TriesLeft)
	}
	_, err = e.VerifyCode(act(at), l, []byte("wrong"), nil)
	require.NoError(t, err)
	assert.Nil(t, s.CodeState(at).LiveUntil, "the third wrong attempt invalidates the code")
	_, err = e.RequestCode(act(free), l, []byte("right"))
	require.NoError(t, err, "a code can be requested at the reported time")
	s.OTPWrong = models.OTPWrongLimit
	assert.True(t, s.CodeState(free).Locked)
}

// TestCodeWithoutExpiry_IsInvalid checks that a code without an expiry time is invalid.
func TestCodeWithoutExpiry_IsInvalid(t *testing.T) {
	t.Parallel()
	s := &models.Signer{AuthMethod: models.AuthEmailOTP, OTPHash: []byte("hash")}
	assert.Equal(t, &models.CodeState{}, s.CodeState(start))
}

// TestSession_EndsAfterADayOrWithTheLink checks that a session ends after one day, or earlier if the link expires.
func TestSession_EndsAfterADayOrWithTheLink(t *testing.T) {
	t.Parallel()
	s := &models.Signer{}
	require.Equal(t, start.Add(models.SessionLifetime), s.SessionExpiry(start))
	require.Equal(t, 24*time.Hour, models.SessionLifetime)
	for _, end := range []time.Duration{models.SessionLifetime - 1, models.SessionLifetime, models.SessionLifetime + 1} {
		s.LinkExpiresAt = ptr(start.Add(end))
		require.Equal(t, start.Add(min(end, models.SessionLifetime)), s.SessionExpiry(start))
	}
}

// TestCodeResendDelay_IsHalfAMinute checks that the suggested delay before requesting another code is half a minute.
func TestCodeResendDelay_IsHalfAMinute(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	_, err := e.RequestCode(act(start), link(e, 0), []byte("hash"))
	require.NoError(t, err)
	require.Equal(t, models.EventOTPRequested, newest(e).Name)
	require.Equal(t, models.Detail{"signerId": e.Signers[0].ID.String(), "method": "email_otp"}, newest(e).Detail)
	require.Equal(t, start.Add(30*time.Second), *e.Signers[0].CodeState(start).RequestableAt)
	require.Nil(t, e.Signers[0].CodeState(start.Add(30*time.Second)).RequestableAt)
}

func TestOneTimeCodes(t *testing.T) {
	t.Parallel()
	right, wrong := []byte("right"), []byte("wrong")
	e := sent(t, nil, models.AuthEmailOTP, 1)
	l, at := link(e, 0), start
	_, err := e.Consent(act(at), l, new(models.Signer).Disclosure("en"))
	assert.Equal(t, "otp_required", code(t, err))
	verify := func(hash []byte) bool {
		ok, err := e.VerifyCode(act(at), l, hash, nil)
		require.NoError(t, err)
		return ok
	}
	assert.False(t, verify(right), "no code was requested")

	request := func() error { _, err := e.RequestCode(act(at), l, right); return err }
	require.NoError(t, request())
	at = at.Add(models.OTPLifetime)
	assert.False(t, verify(right), "expires after ten minutes")

	require.NoError(t, request())
	for range models.OTPTries {
		assert.False(t, verify(wrong))
	}
	assert.Equal(t, models.EventSignerOTPFailed, names(e)[len(e.Events)-1])
	n := len(e.Events)
	assert.False(t, verify(right), "invalidated by the third wrong attempt")
	assert.Len(t, e.Events, n, "recorded once")

	require.NoError(t, request())
	assert.True(t, verify(right))
	assert.False(t, verify(right), "can be used once")
	_, err = e.Consent(act(at), l, new(models.Signer).Disclosure("en"))
	require.NoError(t, err)

	for range models.OTPRequestLimit - 2 { // two codes were requested in this window
		require.NoError(t, request())
	}
	err = request()
	assert.Equal(t, "otp_rate_limited", code(t, err))
	var rejection *models.Error
	require.ErrorAs(t, err, &rejection)
	assert.Equal(t, models.OTPRequestWindow, rejection.RetryAfter)
	at = at.Add(models.OTPRequestWindow)
	require.NoError(t, request())
}

func TestGuessing_IsLocked(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	at := start
	tries := 0
	for ; tries < 1000; tries++ {
		if _, err := e.RequestCode(act(at), link(e, 0), []byte("right")); err != nil {
			assert.Equal(t, "otp_locked", code(t, err))
			break
		}
		for range models.OTPTries {
			_, err := e.VerifyCode(act(at), link(e, 0), []byte("wrong"), nil)
			require.NoError(t, err)
		}
		at = at.Add(models.OTPRequestWindow)
	}
	assert.Equal(t, models.OTPWrongLimit/models.OTPTries, tries)
	require.NoError(t, e.RenewLink(act(at), e.Signers[0].ID))
	_, err := e.RequestCode(act(at), link(e, 0), []byte("right"))
	require.NoError(t, err, "a new link resets the limits")
}
