package models_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestLink_ExpiresAfterThirtyDays checks that a link expires after thirty days even if there is no deadline.
func TestLink_ExpiresAfterThirtyDays(t *testing.T) {
	t.Parallel()
	end := start.Add(models.LinkLifetime)
	for _, c := range []struct {
		at   time.Time
		good bool
	}{{end.Add(-time.Microsecond), true}, {end, false}, {end.Add(time.Hour), false}} {
		e := sent(t, nil, models.AuthNone, 1)
		_, err := e.Open(act(c.at), link(e, 0))
		if c.good {
			require.NoError(t, err)
			continue
		}
		assert.Equal(t, "signing_link_expired", code(t, err))
		_, err = e.Consent(act(c.at), link(e, 0), new(models.Signer).Disclosure("en"))
		assert.Equal(t, "signing_link_expired", code(t, err))
		assert.Equal(t, models.SignerSent, e.Signers[0].Status)
	}
}

// TestUsedLink_RejectsActions checks that signers who have signed or declined can no longer view pages, request codes
// or enter codes.
func TestUsedLink_RejectsActions(t *testing.T) {
	t.Parallel()
	spend := map[string]func(*models.Envelope){
		"signed": func(e *models.Envelope) { signs(t, e, 0, start) },
		"declined": func(e *models.Envelope) { // resets the status, because declining closes the envelope
			_, err := e.Decline(act(start), link(e, 0), nil, false)
			require.NoError(t, err)
			e.Status = models.StatusInProgress
		},
	}
	for name, spend := range spend {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sent(t, nil, models.AuthNone, 1, 1)
			spend(e)
			n := len(e.Events)
			assert.Equal(t, "signing_link_invalid", code(t, e.ViewPage(act(start), link(e, 0), e.Originals()[0].ID, 1, 5, nil)))
			_, err := e.RequestCode(act(start), link(e, 0), []byte("hash"))
			assert.Equal(t, "signing_link_invalid", code(t, err))
			_, err = e.VerifyCode(act(start), link(e, 0), []byte("hash"), nil)
			assert.Equal(t, "signing_link_invalid", code(t, err))
			assert.Zero(t, e.Signers[0].PageViews)
			assert.Len(t, e.Events, n)
			require.NoError(t, e.ViewPage(act(start), link(e, 1), e.Originals()[0].ID, 1, 5, nil), "the other signer's link is valid")
		})
	}
}

// TestPageViews_AreBounded checks the limits on the page number, the duration, and the number of recorded views.
func TestPageViews_AreBounded(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	doc, day := e.Originals()[0].ID, int64(24*60*60*1000)
	view := func(document uuid.UUID, page int, dwell int64) error {
		return e.ViewPage(act(start), link(e, 0), document, page, dwell, nil)
	}
	for _, c := range []struct {
		document uuid.UUID
		page     int
		dwell    int64
		bad      string
	}{
		{doc, 1, 0, ""}, {doc, 2, day, ""}, {doc, 0, 0, "page"}, {doc, 3, 0, "page"}, {doc, 1, -1, "dwellMs"}, {doc, 1, day + 1, "dwellMs"}, {uuid.New(), 1, 0, "documentId"},
	} {
		err := view(c.document, c.page, c.dwell)
		if c.bad == "" {
			require.NoError(t, err)
			continue
		}
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection)
		assert.Contains(t, rejection.Fields, c.bad)
	}
	assert.Equal(t, 2, e.Signers[0].PageViews)
}

// TestRepeatedPageViews_AreOneEvent checks that the first view of a page is recorded as an event. All further views are
// recorded as a single event when the signer signs or declines.
func TestRepeatedPageViews_AreOneEvent(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	doc := e.Originals()[0].ID
	for i := range 5000 {
		require.NoError(t, e.ViewPage(act(start.Add(time.Duration(i)*time.Second)), link(e, 0), doc, 1+i%2, 10, nil))
	}
	assert.Equal(t, 2, events(e, models.EventPageViewed))
	assert.Equal(t, 5000, e.Signers[0].PageViews)
	assert.Equal(t, map[uuid.UUID][][2]int{doc: {{1, 2}}}, e.Signers[0].Pages.Seen)
	_, err := e.Decline(act(start.Add(time.Hour)), link(e, 0), nil, false)
	require.NoError(t, err)
	again := e.Events[len(e.Events)-3]
	assert.Equal(t, models.EventPagesViewedAgain, again.Name)
	assert.Equal(t, models.Detail{
		"signerId": e.Signers[0].ID.String(), "views": 4998, "dwellMs": int64(49_980), "lastAt": models.FormatTime(start.Add(4999 * time.Second)),
	}, again.Detail)
}

func events(e *models.Envelope, name models.EventName) (n int) {
	for _, ev := range e.Events {
		if ev.Name == name {
			n++
		}
	}
	return n
}

// TestCodeRequests_AreLimitedInTenMinutes checks that at most five codes can be requested within ten minutes.
func TestCodeRequests_AreLimitedInTenMinutes(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	request := func(at time.Time) error { _, err := e.RequestCode(act(at), link(e, 0), []byte("hash")); return err }
	for range models.OTPRequestLimit {
		require.NoError(t, request(start))
	}
	err := request(start.Add(10*time.Minute - time.Microsecond))
	assert.Equal(t, "otp_rate_limited", code(t, err))
	require.NoError(t, request(start.Add(10*time.Minute)))

	e = sent(t, nil, models.AuthEmailOTP, 1)
	require.NoError(t, request(start))
	verify := func(at time.Time) bool {
		ok, err := e.VerifyCode(act(at), link(e, 0), []byte("hash"), nil)
		require.NoError(t, err)
		return ok
	}
	assert.False(t, verify(start.Add(10*time.Minute)), "a code expires after ten minutes")
	assert.True(t, verify(start.Add(10*time.Minute-time.Microsecond)))
}

// TestSign_RequiresConsent checks that consent is required even if no code is required.
func TestSign_RequiresConsent(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	assert.Equal(t, "consent_required", code(t, e.CheckSign(act(start), link(e, 0))))
	_, err := e.Sign(act(start), link(e, 0), text(e, 0, "yes"))
	assert.Equal(t, "consent_required", code(t, err))
	assert.Empty(t, e.Values)
	_, err = e.RequestCode(act(start), link(e, 0), []byte("hash"))
	assert.Equal(t, "otp_not_required", code(t, err))
	signs(t, e, 0, start)
	assert.Equal(t, models.StatusSealing, e.Status)
}

// TestNewLink_ResetsState checks that confirmations and failed attempts with an old link do not apply to a new link.
func TestNewLink_ResetsState(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	for range models.OTPRequestLimit {
		_, err := e.RequestCode(act(start), link(e, 0), []byte("right"))
		require.NoError(t, err)
	}
	_, err := e.VerifyCode(act(start), link(e, 0), []byte("wrong"), nil)
	require.NoError(t, err)
	ok, err := e.VerifyCode(act(start), link(e, 0), []byte("right"), []byte("session"))
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, e.RenewLink(act(start), e.Signers[0].ID))
	s := e.Signers[0]
	assert.Nil(t, s.OTPVerifiedAt)
	assert.Nil(t, s.SessionHash)
	assert.Nil(t, s.ConfirmedBy)
	assert.Zero(t, s.OTPWrong)
	assert.Empty(t, s.OTPRequests)
	_, err = e.RequestCode(act(start), link(e, 0), []byte("right"))
	require.NoError(t, err, "the limit applies to the link")
}

// TestLink_RequiresAnAwaitedSigner checks that no link is issued to a signer who is in a later group or has already
// acted.
func TestLink_RequiresAnAwaitedSigner(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 2)
	for _, again := range []func(models.ActionContext, uuid.UUID) error{e.RenewLink, e.Reinvite} {
		assert.Equal(t, "signer_not_awaited", code(t, again(act(start), e.Signers[1].ID)))
		assert.Nil(t, e.Signers[1].LinkID)
		require.ErrorIs(t, again(act(start), uuid.New()), models.ErrNotFound)
	}
	signs(t, e, 0, start)
	was := *e.Signers[0].LinkID
	assert.Equal(t, "signer_not_awaited", code(t, e.Reinvite(act(start), e.Signers[0].ID)))
	assert.Equal(t, was, *e.Signers[0].LinkID)
	require.NoError(t, e.Reinvite(act(start), e.Signers[1].ID))
}

// TestSignerActions_AreRecorded checks that each action follows the transition table, changes the signer, and records
// exactly one event.
func TestSignerActions_AreRecorded(t *testing.T) {
	t.Parallel()
	right, session := []byte("right"), []byte("session")
	requested := func(t *testing.T, e *models.Envelope) {
		t.Helper()
		_, err := e.RequestCode(act(start), link(e, 0), right)
		require.NoError(t, err)
	}
	nothing := func(*testing.T, *models.Envelope) {}
	english := new(models.Signer).Disclosure("en")
	for name, c := range map[string]struct {
		method  models.AuthMethod
		prepare func(*testing.T, *models.Envelope)
		do      func(*models.Envelope) error
		status  models.Status
		event   models.EventName
		detail  func(e *models.Envelope) models.Detail
		check   func(*testing.T, *models.Signer)
	}{
		"open": {
			models.AuthNone, nothing,
			func(e *models.Envelope) error { _, err := e.Open(act(start.Add(1)), link(e, 0)); return err },
			"in_progress", "signer.viewed",
			func(*models.Envelope) models.Detail { return models.Detail{} },
			func(t *testing.T, s *models.Signer) {
				t.Helper()
				assert.Equal(t, models.SignerViewed, s.Status)
				assert.Equal(t, start.Add(1), *s.ViewedAt)
			},
		},
		"request a code": {
			models.AuthEmailOTP, nothing,
			func(e *models.Envelope) error { _, err := e.RequestCode(act(start), link(e, 0), right); return err },
			"in_progress", "otp.requested",
			func(*models.Envelope) models.Detail { return models.Detail{"method": "email_otp"} },
			func(t *testing.T, s *models.Signer) {
				t.Helper()
				assert.Equal(t, right, s.OTPHash)
				assert.Equal(t, start.Add(models.OTPLifetime), *s.OTPExpiresAt)
				assert.Equal(t, []time.Time{start}, s.OTPRequests)
			},
		},
		"verify a code": {
			models.AuthEmailOTP, requested,
			func(e *models.Envelope) error { _, err := e.VerifyCode(act(start), link(e, 0), right, nil); return err },
			"in_progress", "otp.verified",
			func(*models.Envelope) models.Detail { return models.Detail{"method": "email_otp"} },
			func(t *testing.T, s *models.Signer) {
				t.Helper()
				assert.Equal(t, start, *s.OTPVerifiedAt)
				assert.Nil(t, s.OTPHash)
				assert.Nil(t, s.SessionHash)
			},
		},
		"verify a code for a session": {
			models.AuthEmailOTP, requested,
			func(e *models.Envelope) error {
				_, err := e.VerifyCode(act(start), link(e, 0), right, session)
				return err
			},
			"in_progress", "otp.verified",
			func(*models.Envelope) models.Detail { return models.Detail{"method": "email_otp", "bound": true} },
			func(t *testing.T, s *models.Signer) {
				t.Helper()
				assert.Equal(t, session, s.SessionHash)
			},
		},
		"consent": {
			models.AuthNone, nothing,
			func(e *models.Envelope) error { _, err := e.Consent(act(start), link(e, 0), english); return err },
			"in_progress", "consent.given",
			func(*models.Envelope) models.Detail {
				return models.Detail{"version": english.Version, "language": "en", "textSha256": english.Hash()}
			},
			func(t *testing.T, s *models.Signer) {
				t.Helper()
				assert.Equal(t, start, *s.ConsentAt)
				assert.Equal(t, english.Version, s.ConsentVersion)
			},
		},
		"look at a page": {
			models.AuthNone, nothing,
			func(e *models.Envelope) error {
				return e.ViewPage(act(start), link(e, 0), e.Documents[0].ID, 2, 5, nil)
			},
			"in_progress", "page_viewed",
			func(e *models.Envelope) models.Detail {
				return models.Detail{"documentId": e.Documents[0].ID.String(), "page": 2, "dwellMs": int64(5)}
			},
			func(t *testing.T, s *models.Signer) {
				t.Helper()
				assert.Equal(t, 1, s.PageViews)
				assert.Regexp(t, "^[0-9a-f-]{36}/2$", s.LastViewed)
			},
		},
	} {
		for _, from := range []models.Status{"sent", "in_progress"} {
			t.Run(fmt.Sprintf("%s, %s", name, from), func(t *testing.T) {
				t.Parallel()
				e := sent(t, nil, c.method, 1)
				c.prepare(t, e)
				e.Status = from
				before := len(e.Events)
				require.NoError(t, c.do(e))
				assert.Equal(t, c.status, e.Status)
				require.Len(t, e.Events, before+1)
				want := c.detail(e)
				want["signerId"] = e.Signers[0].ID.String()
				assert.Equal(t, c.event, newest(e).Name)
				assert.Equal(t, want, newest(e).Detail)
				assert.Equal(t, e.Signers[0].ID, newest(e).SignerID)
				c.check(t, e.Signers[0])
			})
		}
	}
}

// TestRepeatedAction_IsNotRecorded checks that opening a link again records no event, and that consent is recorded only
// once.
func TestRepeatedAction_IsNotRecorded(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	for range 2 {
		_, err := e.Open(act(start), link(e, 0))
		require.NoError(t, err)
	}
	before := len(e.Events)
	_, err := e.Open(act(start.Add(time.Hour)), link(e, 0))
	require.NoError(t, err)
	assert.Len(t, e.Events, before)
	assert.Equal(t, start, *e.Signers[0].ViewedAt)
	_, err = e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	_, err = e.Consent(act(start.Add(time.Hour)), link(e, 0), new(models.Signer).Disclosure("en"))
	assert.Equal(t, "consent_given", code(t, err))
	assert.Equal(t, start, *e.Signers[0].ConsentAt)
}

// TestDeclineWithoutReason_HasNoReasonInEvents checks that events contain a reason for declining only if the signer
// gave one.
func TestDeclineWithoutReason_HasNoReasonInEvents(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{"": false, "Not mine.": true} {
		e := sent(t, nil, models.AuthNone, 1)
		before := len(e.Events)
		_, err := e.Decline(act(start), link(e, 0), &reason, false)
		require.NoError(t, err)
		require.Equal(t, []models.EventName{"signer.declined", "envelope.declined"}, names(e)[before:])
		for _, ev := range e.Events[before:] {
			detail := models.Detail{"signerId": e.Signers[0].ID.String()}
			if want {
				detail["reason"] = reason
			}
			assert.Equal(t, detail, ev.Detail)
		}
	}
}

func TestNewLink_EndsTheOldOne(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	old := link(e, 0)
	_, err := e.RequestCode(act(start), old, []byte("right"))
	require.NoError(t, err)
	require.NoError(t, e.RenewLink(act(start), e.Signers[0].ID))
	_, err = e.Open(act(start), old)
	assert.Equal(t, "signing_link_invalid", code(t, err))
	ok, err := e.VerifyCode(act(start), link(e, 0), []byte("right"), nil)
	require.NoError(t, err)
	assert.False(t, ok, "a code of the old link is not valid for the new one")
}

func TestUsedLinks_ErrorCodes(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1)
	signs(t, e, 0, start)
	l := link(e, 0)
	_, err := e.Reader(l, start, true)
	assert.Equal(t, "signing_link_used", code(t, err))
	_, err = e.Reader(l, start, false)
	assert.Equal(t, "signing_link_invalid", code(t, err))
	_, err = e.Consent(act(start), l, new(models.Signer).Disclosure("en"))
	assert.Equal(t, "consent_given", code(t, err))
	_, err = e.Sign(act(start), l, models.Submission{})
	assert.Equal(t, "already_signed", code(t, err))
	_, err = e.Decline(act(start), l, nil, false)
	assert.Equal(t, "already_signed_or_declined", code(t, err))

	why := "no"
	_, err = e.Decline(act(start), link(e, 1), &why, false)
	require.NoError(t, err)
	assert.Equal(t, models.StatusDeclined, e.Status)
	_, err = e.Decline(act(start), link(e, 1), nil, false)
	assert.Equal(t, "already_signed_or_declined", code(t, err))
	_, err = e.Sign(act(start), link(e, 1), models.Submission{})
	assert.Equal(t, "already_declined", code(t, err))
}
