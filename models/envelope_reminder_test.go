package models_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestNextReminder_AfterTheInterval checks that a reminder is due one interval after the last settled invitation or
// reminder.
func TestNextReminder_AfterTheInterval(t *testing.T) {
	t.Parallel()
	const interval = 48 * time.Hour
	e := sent(t, nil, models.AuthNone, 1, 1)
	s, other := e.Signers[0], e.Signers[1]
	hour := func(n int) *time.Time { at := start.Add(time.Duration(n) * time.Hour); return &at }
	mail := func(of *models.Signer, kind models.MailKind, sent, failed *time.Time) models.Mail {
		return models.Mail{SignerID: of.ID, Kind: kind, SentAt: sent, FailedAt: failed}
	}
	invited := mail(s, models.MailInvitation, hour(1), nil)
	for name, c := range map[string]struct {
		mails []models.Mail
		after *time.Time // start of the interval
	}{
		"no mail yet":              {nil, hour(0)},
		"invited":                  {[]models.Mail{invited}, hour(1)},
		"invitation on its way":    {[]models.Mail{mail(s, models.MailInvitation, nil, nil)}, hour(0)},
		"reminded":                 {[]models.Mail{invited, mail(s, models.MailReminder, hour(50), nil)}, hour(50)},
		"the newest counts":        {[]models.Mail{mail(s, models.MailReminder, hour(50), nil), invited}, hour(50)},
		"reminder given up":        {[]models.Mail{invited, mail(s, models.MailReminder, nil, hour(51))}, hour(51)},
		"another signer's":         {[]models.Mail{invited, mail(other, models.MailReminder, hour(50), nil)}, hour(1)},
		"a notice to the tenant":   {[]models.Mail{invited, mail(s, models.MailNotice, hour(50), nil)}, hour(1)},
		"news of the end":          {[]models.Mail{invited, mail(s, models.MailClosed, hour(50), nil)}, hour(1)},
		"sent after it was failed": {[]models.Mail{mail(s, models.MailInvitation, hour(3), hour(9))}, hour(3)},
	} {
		at := e.ReminderAt(s, c.mails, interval)
		require.NotNil(t, at, name)
		assert.Equal(t, c.after.Add(interval), *at, name)
	}
	assert.NotNil(t, e.ReminderAt(s, nil, 1))
	for _, none := range []time.Duration{0, -1} {
		assert.Nil(t, e.ReminderAt(s, nil, none))
	}

	// The earliest reminder of all awaited signers is returned.
	later := []models.Mail{mail(s, models.MailReminder, hour(30), nil), mail(other, models.MailReminder, hour(20), nil)}
	assert.Equal(t, hour(20).Add(interval), *e.NextReminder(later, interval))
	later[0].SentAt, later[1].SentAt = hour(20), hour(30)
	assert.Equal(t, hour(20).Add(interval), *e.NextReminder(later, interval))
	assert.Nil(t, e.NextReminder(later, 0))

	// Only awaited signers are reminded.
	signs(t, e, 0, start)
	assert.Nil(t, e.ReminderAt(s, nil, interval))
	assert.NotNil(t, e.ReminderAt(other, nil, interval))
	other.LinkIssuedAt = nil
	assert.Nil(t, e.ReminderAt(other, nil, interval), "no invitation was sent")
	other.LinkIssuedAt = hour(0)
	require.NoError(t, e.Void(act(start), nil))
	assert.Nil(t, e.ReminderAt(other, nil, interval), "the envelope is closed")
}

// TestReminders_AreCounted checks that the count includes only the signer's own settled reminders.
func TestReminders_AreCounted(t *testing.T) {
	t.Parallel()
	id, at := uuid.New(), start
	mails := []models.Mail{
		{SignerID: id, Kind: models.MailInvitation, SentAt: &at},
		{SignerID: id, Kind: models.MailClosed, SentAt: &at},
		{SignerID: id, Kind: models.MailReminder, SentAt: &at},
		{SignerID: id, Kind: models.MailReminder, FailedAt: &at},
		{SignerID: id, Kind: models.MailReminder},
		{SignerID: uuid.New(), Kind: models.MailReminder, SentAt: &at},
	}
	assert.Equal(t, 2, models.RemindersSettled(mails, id))
}

// TestGroup_IsAwaitedSince checks that a group opens when the envelope is sent or the previous group is complete.
func TestGroup_IsAwaitedSince(t *testing.T) {
	t.Parallel()
	assert.True(t, draft(t, nil, models.AuthNone, 1).OpenSince().IsZero())
	e := sent(t, nil, models.AuthNone, 1, 1, 2, 2)
	assert.Equal(t, start, e.OpenSince())
	first, second, third := start.Add(2*time.Hour), start.Add(time.Hour), start.Add(3*time.Hour)
	signs(t, e, 0, first)
	assert.Equal(t, start, e.OpenSince(), "the group still has to sign")
	signs(t, e, 1, second)
	assert.Equal(t, first, e.OpenSince(), "the last signature of the previous group")
	signs(t, e, 2, third)
	assert.Equal(t, first, e.OpenSince(), "the signer belongs to the same group")
	signs(t, e, 3, third)
	assert.Equal(t, start, e.OpenSince(), "no signer is awaited")
	e.Signers[0].SignedAt, e.Signers[3].Status = nil, models.SignerSent
	assert.Equal(t, second, e.OpenSince(), "an unknown time is ignored")
}

// TestAwaitedGroup_IsTheLowest checks that the lowest group is awaited first, regardless of the order of the signers.
func TestAwaitedGroup_IsTheLowest(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 3, 1, 2)
	assert.Equal(t, models.SignerPending, e.Signers[0].Status)
	assert.Equal(t, models.SignerSent, e.Signers[1].Status)
	assert.Equal(t, models.SignerPending, e.Signers[2].Status)
	e = sent(t, nil, models.AuthNone, 1, 3, 2)
	assert.Equal(t, models.SignerSent, e.Signers[0].Status)
	assert.Equal(t, models.SignerPending, e.Signers[1].Status)
}

// TestNextRenewal_IsOfTheOldestInvitation checks that the link of the oldest invitation is renewed first.
func TestNextRenewal_IsOfTheOldestInvitation(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1, 2)
	due := start.Add(models.LinkLifetime - models.RenewBefore)
	require.NoError(t, e.RenewLink(act(start.Add(time.Hour)), e.Signers[0].ID))
	assert.Equal(t, due, *e.NextRenewal())
	require.NoError(t, e.RenewLink(act(start.Add(2*time.Hour)), e.Signers[1].ID))
	assert.Equal(t, due.Add(time.Hour), *e.NextRenewal())
	assert.Nil(t, e.RenewLinkAt(e.Signers[2]), "the signer is not invited yet")
	e.Signers[0].LinkExpiresAt = nil
	assert.Nil(t, e.RenewLinkAt(e.Signers[0]), "the signer has no link that could be replaced")
}

// TestReminderInterval_OfTheEnvelopeComesFirst checks that the envelope's interval takes precedence over the tenant's,
// and that emails to a former signer do not count.
func TestReminderInterval_OfTheEnvelopeComesFirst(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	require.Equal(t, 5*time.Hour, e.ReminderInterval(5*time.Hour))
	e.ReminderHours = ptr(0)
	require.Zero(t, e.ReminderInterval(5*time.Hour))
	e.ReminderHours = ptr(3)
	require.Equal(t, 3*time.Hour, e.ReminderInterval(5*time.Hour))

	s := e.Signers[0]
	at := start.Add(time.Hour)
	mails := []models.Mail{{SignerID: s.ID, Kind: models.MailInvitation, SentAt: &at}}
	require.Equal(t, at.Add(time.Hour), *e.ReminderAt(s, mails, time.Hour))
	_, err := e.Replace(act(start.Add(2*time.Hour)), s.ID, models.Replacement{Name: "Grace", Email: "grace@example.com"})
	require.NoError(t, err)
	require.Equal(t, start.Add(3*time.Hour), *e.ReminderAt(s, mails, time.Hour))
	require.NoError(t, e.Void(act(start), nil))
	for _, err := range []error{e.Invited(act(start), s.ID, false, "m"), e.InvitationFailed(act(start), s.ID, "why", "mail"), e.RenewLink(act(start), s.ID)} {
		var rejection *models.Error
		require.ErrorAs(t, err, &rejection)
		require.Equal(t, models.KindInvalid, rejection.Kind)
	}
}
