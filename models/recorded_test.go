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

// TestWhatSignersDoIsRecorded: each action takes the envelope where the table of
// transitions says, changes what it is about, and leaves exactly one event.
func TestWhatSignersDoIsRecorded(t *testing.T) {
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

// TestAnActionThatWasDoneIsNotRecordedAgain: opening a link once more says
// nothing, and consent is given once.
func TestAnActionThatWasDoneIsNotRecordedAgain(t *testing.T) {
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

// TestEachActionIsRefusedByItsOwnName: what signers do on a closed envelope is
// answered as a closed link, and what senders do as a closed envelope.
func TestEachActionIsRefusedByItsOwnName(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthEmailOTP, 1)
	l, s := link(e, 0), e.Signers[0].ID
	require.NoError(t, e.Void(act(start), nil))
	_, open := e.Open(act(start), l)
	_, read := e.Reader(l, start, false)
	_, requested := e.RequestCode(act(start), l, nil)
	_, verified := e.VerifyCode(act(start), l, nil, nil)
	_, consent := e.Consent(act(start), l, new(models.Signer).Disclosure("en"))
	_, sign := e.Sign(act(start), l, models.Submission{})
	_, decline := e.Decline(act(start), l, nil, false)
	for name, err := range map[string]error{
		"open": open, "read": read, "request": requested, "verify": verified, "consent": consent, "sign": sign, "decline": decline,
		"view": e.ViewPage(act(start), l, e.Documents[0].ID, 1, 0, nil), "may sign": e.CheckSign(act(start), l),
	} {
		assert.Equal(t, "signing_link_closed", code(t, err), name)
	}
	for name, err := range map[string]error{
		"invited": e.Invited(act(start), s, false, ""), "not reached": e.InvitationFailed(act(start), s, "unknown", ""),
		"new link": e.RenewLink(act(start), s), "invite again": e.Reinvite(act(start), s), "void": e.Void(act(start), nil),
	} {
		assert.Equal(t, "envelope_terminal", code(t, err), name)
	}
}

// TestTheDeadlineEndsALink: also one that says that it is good for longer; and
// one of which no end is known is not good at all.
func TestTheDeadlineEndsALink(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	due := start.Add(time.Hour)
	e.ExpiresAt = &due
	_, err := e.Reader(link(e, 0), due.Add(-1), false)
	require.NoError(t, err)
	_, err = e.Reader(link(e, 0), due, false)
	assert.Equal(t, "signing_link_expired", code(t, err))
	end, err := e.OutcomeOf(link(e, 0), due)
	require.NoError(t, err)
	assert.Equal(t, models.OutcomeClosed, end.Outcome)
	e.ExpiresAt, e.Signers[0].LinkExpiresAt = nil, nil
	_, err = e.Reader(link(e, 0), start, false)
	assert.Equal(t, "signing_link_expired", code(t, err))
}

// TestADeclineWithoutAReason has none in its events either.
func TestADeclineWithoutAReason(t *testing.T) {
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

// TestPagesOfSealedDocumentsAreNotViewed: signers look at what was uploaded.
func TestPagesOfSealedDocumentsAreNotViewed(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	e.Documents = append(e.Documents, &models.Document{ID: uuid.New(), Kind: models.DocumentSealed, PageCount: 3})
	err := e.ViewPage(act(start), link(e, 0), e.Documents[1].ID, 1, 0, nil)
	assert.Equal(t, "validation_error", code(t, err))
}

// TestEventsWithoutAClient: what the service does by itself comes from no address.
func TestEventsWithoutAClient(t *testing.T) {
	t.Parallel()
	context := models.ActionContext{At: start, Actor: models.ActorSystem, NewID: uuid.New}
	e := sent(t, nil, models.AuthNone, 1)
	require.NoError(t, e.Invited(context, e.Signers[0].ID, false, "m"))
	assert.Nil(t, newest(e).IP)
	assert.Nil(t, newest(e).UserAgent)
	require.NoError(t, e.Invited(act(start), e.Signers[0].ID, false, "m"))
	assert.Equal(t, "192.0.2.1", *newest(e).IP)
	assert.Equal(t, "test", *newest(e).UserAgent)
}

// TestATimestampChangesTheHash: of the document, and of all of them together.
func TestATimestampChangesTheHash(t *testing.T) {
	t.Parallel()
	e := completed(t)
	d := e.Sealed()[0]
	until := start.AddDate(1, 0, 0)
	require.NoError(t, e.Timestamped(act(start), d.ID, "11", models.SealedFile{SHA256: "22", Size: 3, BlobKey: "stamped", TimestampedUntil: until}))
	assert.Equal(t, "22", *e.HashFinal)
	assert.False(t, d.TimestampPending)
	assert.Equal(t, until, *d.TimestampedUntil)
	assert.Equal(t, models.Detail{"sealedDocumentId": d.ID.String(), "sha256Before": "11", "sha256": "22", "documentHashFinal": "22"}, newest(e).Detail)

	e.Documents = append(e.Documents, &models.Document{ID: uuid.New(), Kind: models.DocumentSealed, SHA256: "33", Order: 2})
	require.NoError(t, e.Timestamped(act(start), e.Sealed()[1].ID, "33", models.SealedFile{SHA256: "44"}))
	assert.Equal(t, sha256Hex("2244"), *e.HashFinal)
}

// TestADeadlineThatIsTakenBack: nothing is left of it when the envelope is sent.
func TestADeadlineThatIsTakenBack(t *testing.T) {
	t.Parallel()
	days := 3
	e := draft(t, &days, models.AuthNone, 1)
	require.NotNil(t, e.ExpiresAt)
	e.ExpiresInDays = nil
	require.NoError(t, e.Send(act(start), nil))
	assert.Nil(t, e.ExpiresAt)
}

// TestForgedChains: each event's number and link are looked at, also where all
// hashes were made anew.
func TestForgedChains(t *testing.T) {
	t.Parallel()
	e := chainedEvents(t)
	forge := func(change func([]models.Event)) []models.Event {
		events := chainCopy(t, e.Events)
		change(events)
		for i := range events {
			hash, err := events[i].Digest()
			require.NoError(t, err)
			events[i].Hash = hash
			if i+1 < len(events) && events[i+1].PrevHash == e.Events[i].Hash {
				events[i+1].PrevHash = hash
			}
		}
		return events
	}
	verify := func(events []models.Event) error {
		return models.VerifyChain(events, int64(len(events)), events[len(events)-1].Hash)
	}
	require.NoError(t, verify(forge(func([]models.Event) {})))
	require.ErrorContains(t, verify(forge(func(events []models.Event) { events[2].Seq = 9 })), "event 3 is missing or out of order")
	require.ErrorContains(t, verify(forge(func(events []models.Event) { events[2].PrevHash = models.ChainStart })), "event 3 does not link")
}
