package models_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestReplaceSigner_StartsFromTheInvitation checks that a replaced signer loses all access to the envelope, and that
// the new signer starts with an invitation.
func TestReplaceSigner_StartsFromTheInvitation(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1, 2)
	first := link(e, 0)
	_, err := e.Open(act(start), first)
	require.NoError(t, err)
	_, err = e.Consent(act(start), first, new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	require.NoError(t, e.ViewPage(act(start), first, e.Documents[0].ID, 1, 5, nil))
	_, err = e.Resend(act(start), e.Signers[0].ID)
	require.NoError(t, err)
	e.Signers[0].Delegated, e.Signers[0].AllowDelegation, e.Signers[0].Role = true, true, "tenant"
	was := link(e, 0)

	later := start.Add(time.Hour)
	in := models.Replacement{Name: "Grace", Email: "S1@example.com", Phone: ptr("+4915112345678"), AuthMethod: models.AuthSMSOTP, Reason: ptr("left the firm")}
	s, err := e.Replace(act(later), e.Signers[0].ID, in)
	require.NoError(t, err)
	require.Equal(t, []any{"Grace", "S1@example.com", *in.Phone, models.AuthSMSOTP, 1, "tenant", true, false}, []any{s.Name, s.Email, *s.Phone, s.AuthMethod, s.RoutingOrder, s.Role, s.AllowDelegation, s.Delegated})
	require.Equal(t, models.SignerSent, s.Status)
	require.Equal(t, []any{(*time.Time)(nil), (*time.Time)(nil), "", 0, "", []time.Time(nil)}, []any{s.ViewedAt, s.ConsentAt, s.ConsentVersion, s.PageViews, s.LastViewed, s.Resends})
	require.Equal(t, later, *s.LinkIssuedAt)
	_, err = e.Open(act(later), was)
	require.Equal(t, "signing_link_invalid", code(t, err))
	require.Equal(t, []models.PreviousSigner{{Name: "Signer 0", Email: "s0@example.com", Until: later, Reason: "left the firm"}}, s.Previous())
	require.Equal(t, 0, e.Signers[1].Mailbox, "two signers now share the address")
	require.Equal(t, models.EventSignerReplaced, newest(e).Name)
	require.Equal(t, models.Detail{"signerId": s.ID.String(), "person": 2, "reason": "left the firm"}, newest(e).Detail)

	// If the replacement specifies no method, the method does not change. No link is issued until the signer is awaited.
	s, err = e.Replace(act(later), e.Signers[2].ID, models.Replacement{Name: "Alan", Email: "alan@example.com", Reason: ptr("")})
	require.NoError(t, err)
	require.Equal(t, models.AuthNone, s.AuthMethod)
	require.Equal(t, models.SignerPending, s.Status)
	require.Nil(t, s.LinkID)
	require.Equal(t, models.Detail{"signerId": s.ID.String(), "person": 2}, newest(e).Detail)

	for path, in := range map[string]models.Replacement{
		"name": {Email: "a@example.com"}, "email": {Name: "A", Email: "a"}, "phone": {Name: "A", Email: "a@example.com", AuthMethod: models.AuthSMSOTP},
		"authMethod": {Name: "A", Email: "a@example.com", AuthMethod: "letter"}, "reason": {Name: "A", Email: "a@example.com", Reason: ptr(strings.Repeat("é", 1001))},
	} {
		_, err := e.Replace(act(later), s.ID, in)
		require.Equal(t, []string{path}, problemsOf(t, err))
		require.Equal(t, "Alan", s.Name)
	}
	_, err = e.Replace(act(later), uuid.New(), in)
	require.ErrorIs(t, err, models.ErrNotFound)

	for n := range models.MaxReplacements - 1 {
		_, err = e.Replace(act(later), s.ID, models.Replacement{Name: "A", Email: fmt.Sprintf("a%d@example.com", n), Reason: ptr(strings.Repeat("é", 1000))})
		require.NoError(t, err)
	}
	_, err = e.Replace(act(later), s.ID, models.Replacement{Name: "A", Email: "z@example.com"})
	require.Equal(t, "too_many_replacements", code(t, err))
	require.Len(t, s.Previous(), 20)

	signs(t, e, 1, later)
	_, err = e.Replace(act(later), e.Signers[1].ID, in)
	require.Equal(t, "already_signed", code(t, err))
	_, err = draft(t, nil, models.AuthNone, 1).Replace(act(later), uuid.New(), in)
	require.ErrorIs(t, err, models.ErrNotFound)
	d := draft(t, nil, models.AuthNone, 1)
	_, err = d.Replace(act(later), d.Signers[0].ID, in)
	require.Equal(t, "envelope_draft", code(t, err))
}

// TestDelegate_OnceToAnotherPerson checks that a confirmed signer can delegate once if the sender permits it, and only
// to a person outside the envelope.
func TestDelegate_OnceToAnotherPerson(t *testing.T) {
	t.Parallel()
	in := models.Replacement{Name: "Grace", Email: "grace@example.com", AuthMethod: models.AuthEmailOTP, Reason: ptr("away")}
	e := sent(t, nil, models.AuthNone, 1, 1)
	_, err := e.Delegate(act(start), link(e, 0), in)
	require.Equal(t, "delegation_not_allowed", code(t, err))
	for _, s := range e.Signers {
		s.AllowDelegation = true
	}
	for _, address := range []string{"s0@example.com", "S1@Example.com"} {
		_, err = e.Delegate(act(start), link(e, 0), models.Replacement{Name: "Grace", Email: address})
		require.Equal(t, []string{"email"}, problemsOf(t, err))
	}
	_, err = e.Delegate(act(start), link(e, 0), models.Replacement{Email: "grace@example.com"})
	require.Equal(t, []string{"name"}, problemsOf(t, err))
	was := link(e, 0)
	s, err := e.Delegate(act(start), was, in)
	require.NoError(t, err)
	require.Equal(t, []any{"Grace", models.AuthNone, true, true, models.SignerSent}, []any{s.Name, s.AuthMethod, s.Delegated, s.AllowDelegation, s.Status})
	require.Equal(t, models.StatusInProgress, e.Status)
	require.Equal(t, models.EventSignerDelegated, newest(e).Name)
	require.Equal(t, models.Detail{"signerId": s.ID.String(), "person": 2, "reason": "away"}, newest(e).Detail)
	require.Equal(t, s.ID, newest(e).SignerID)
	_, err = e.Delegate(act(start), was, in)
	require.Equal(t, "signing_link_invalid", code(t, err))
	_, err = e.Delegate(act(start), link(e, 0), models.Replacement{Name: "A", Email: "a@example.com"})
	require.Equal(t, "delegation_exhausted", code(t, err))
	signs(t, e, 1, start)
	_, err = e.Delegate(act(start), link(e, 1), models.Replacement{Name: "A", Email: "a@example.com"})
	require.Equal(t, "already_signed_or_declined", code(t, err))

	e = sent(t, nil, models.AuthEmailOTP, 1)
	e.Signers[0].AllowDelegation = true
	_, err = e.Delegate(act(start), link(e, 0), in)
	require.Error(t, err, "no client has been authenticated as the signer")
	require.Equal(t, "Signer 0", e.Signers[0].Name)
}

// TestResend_IsLimitedPerHour checks that invitations can be resent five times per hour, each time with a new link.
func TestResend_IsLimitedPerHour(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 2)
	id := e.Signers[0].ID
	for n := range 5 {
		was := link(e, 0)
		s, err := e.Resend(act(start.Add(time.Duration(n)*time.Minute)), id)
		require.NoError(t, err)
		require.NotEqual(t, was, link(e, 0))
		require.Len(t, s.Resends, n+1)
		require.Equal(t, models.EventLinkRenewed, newest(e).Name)
		require.Equal(t, models.Detail{"signerId": id.String()}, newest(e).Detail)
		require.Equal(t, id, newest(e).SignerID)
	}
	last := link(e, 0)
	_, err := e.Resend(act(start.Add(time.Hour-time.Second)), id)
	require.Equal(t, "resend_rate_limited", code(t, err))
	var rejection *models.Error
	require.ErrorAs(t, err, &rejection)
	require.Equal(t, time.Second, rejection.RetryAfter)
	require.Equal(t, last, link(e, 0))
	s, err := e.Resend(act(start.Add(time.Hour)), id)
	require.NoError(t, err, "the first resend was an hour ago")
	require.Len(t, s.Resends, 5)

	_, err = e.Resend(act(start), e.Signers[1].ID)
	require.Equal(t, "signer_not_awaited", code(t, err))
	_, err = e.Resend(act(start), uuid.New())
	require.ErrorIs(t, err, models.ErrNotFound)
	d := draft(t, nil, models.AuthNone, 1)
	_, err = d.Resend(act(start), d.Signers[0].ID)
	require.Equal(t, "envelope_draft", code(t, err))
}

// TestIssueLink_KeepsAValidLink checks that a new link is issued only on request, or if the current one has expired.
func TestIssueLink_KeepsAValidLink(t *testing.T) {
	t.Parallel()
	e := sent(t, ptr(100), models.AuthNone, 1, 2)
	id, ends := e.Signers[0].ID, start.Add(models.LinkLifetime)
	for _, c := range []struct {
		at          time.Time
		rotate      bool
		anotherLink bool
	}{
		{start, false, false}, {ends.Add(-time.Second), false, false}, {ends, false, true}, {ends, false, false}, {ends, true, true},
	} {
		was := link(e, 0)
		_, err := e.IssueLink(act(c.at), id, c.rotate)
		require.NoError(t, err)
		require.Equal(t, c.anotherLink, was != link(e, 0), "%+v", c)
		require.Equal(t, models.EventLinkIssued, newest(e).Name)
		require.Equal(t, models.Detail{"signerId": id.String(), "rotated": c.anotherLink}, newest(e).Detail)
	}
	e.Signers[0].LinkExpiresAt = nil
	_, err := e.IssueLink(act(start), id, false)
	require.NoError(t, err)
	require.NotNil(t, e.Signers[0].LinkExpiresAt, "a link without an expiry time does not count")
	_, err = e.IssueLink(act(start), e.Signers[1].ID, false)
	require.Equal(t, "signer_not_awaited", code(t, err))
	_, err = e.IssueLink(act(start.AddDate(0, 0, 100)), id, true)
	require.Equal(t, "envelope_deadline_passed", code(t, err))
	d := draft(t, nil, models.AuthNone, 1)
	_, err = d.IssueLink(act(start), d.Signers[0].ID, false)
	require.Equal(t, "envelope_draft", code(t, err))

	s := &models.Signer{}
	for _, c := range []struct{ deadline, link, want *time.Time }{
		{nil, nil, nil}, {&ends, nil, nil}, {nil, &ends, &ends}, {&start, &ends, &start}, {&ends, &start, &start},
	} {
		e.ExpiresAt, s.LinkExpiresAt = c.deadline, c.link
		require.Equal(t, c.want, e.LinkExpiry(s))
	}
}

// TestReschedule_DeadlineAndReminders checks that the deadline and the reminders of a sent envelope can be changed
// independently.
func TestReschedule_DeadlineAndReminders(t *testing.T) {
	t.Parallel()
	e := sent(t, ptr(5), models.AuthNone, 1)
	count := len(e.Events)
	for path, in := range map[string]models.EnvelopeEdit{
		"expiresInDays": {ExpiresInDays: changed(ptr(3))},
		"reminderHours": {ReminderHours: changed(ptr(-1))},
	} {
		require.Equal(t, []string{path}, problemsOf(t, e.Patch(act(start), in)))
	}
	for _, at := range []time.Time{start, start.Add(-time.Second), start.Add(3650*24*time.Hour + time.Second)} {
		require.Equal(t, []string{"expiresAt"}, problemsOf(t, e.Patch(act(start), models.EnvelopeEdit{ExpiresAt: changed(&at)})))
	}
	require.NoError(t, e.Patch(act(start), models.EnvelopeEdit{}))
	require.Len(t, e.Events, count, "the envelope is unchanged, and no event is recorded")
	require.Equal(t, start.AddDate(0, 0, 5), *e.ExpiresAt)

	far := start.Add(3650 * 24 * time.Hour)
	for _, at := range []time.Time{far, start.Add(time.Second + 5), start.Add(time.Hour).In(time.FixedZone("", 3600))} {
		require.NoError(t, e.Patch(act(start), models.EnvelopeEdit{ExpiresAt: changed(&at)}))
		want := at.UTC().Truncate(time.Microsecond)
		require.Equal(t, want, *e.ExpiresAt)
		require.Equal(t, models.EventEnvelopeUpdated, newest(e).Name)
		require.Equal(t, models.Detail{"expiresAt": models.FormatTime(want)}, newest(e).Detail)
	}
	require.NoError(t, e.Patch(act(start), models.EnvelopeEdit{ReminderHours: changed(ptr(7))}))
	require.Equal(t, 7, *e.ReminderHours)
	require.Equal(t, models.Detail{"reminderHours": 7}, newest(e).Detail)
	require.NotNil(t, e.ExpiresAt)
	require.NoError(t, e.Patch(act(start), models.EnvelopeEdit{ExpiresAt: changed[*time.Time](nil), ReminderHours: changed[*int](nil)}))
	require.Nil(t, e.ExpiresAt)
	require.Nil(t, e.ReminderHours)
	require.Equal(t, models.Detail{"expiresAt": nil, "reminderHours": nil}, newest(e).Detail)
	require.Equal(t, models.StatusSent, e.Status)
	require.NoError(t, e.Void(act(start), nil))
	require.Equal(t, "envelope_terminal", code(t, e.Patch(act(start), models.EnvelopeEdit{ReminderHours: changed(ptr(7))})))
}

// TestRequestCopies_IsLimitedPerHour checks that the sealed files can be resent only to recipients and only five times
// per hour.
func TestRequestCopies_IsLimitedPerHour(t *testing.T) {
	t.Parallel()
	e := completed(t)
	for n := range 5 {
		s, err := e.RequestCopies(act(start.Add(time.Duration(n)*time.Minute)), "S0@example.COM")
		require.NoError(t, err)
		require.Same(t, e.Signers[0], s)
		require.Len(t, s.Copies, n+1)
		require.Equal(t, models.EventCopyRequested, newest(e).Name)
		require.Equal(t, models.Detail{"signerId": s.ID.String()}, newest(e).Detail)
	}
	_, err := e.RequestCopies(act(start.Add(5*time.Minute)), "s0@example.com")
	require.Equal(t, "copies_rate_limited", code(t, err))
	require.Len(t, e.Signers[0].Copies, 5)
	for _, address := range []string{"other@example.com", "s0"} {
		_, err = e.RequestCopies(act(start), address)
		require.Equal(t, []string{"email"}, problemsOf(t, err))
	}
	require.NoError(t, e.CopySent(act(start), e.Signers[0].ID, "mail"))
	require.Equal(t, models.EventCopySent, newest(e).Name)
	require.Equal(t, models.Detail{"signerId": e.Signers[0].ID.String()}, newest(e).Detail)
	require.Equal(t, []any{"mail", e.Signers[0].ID}, []any{newest(e).MailID, newest(e).SignerID})

	later := start.Add(2 * time.Hour)
	e.Originals()[0].PurgeStatus = models.PurgePurged
	_, err = e.RequestCopies(act(later), "s0@example.com")
	require.NoError(t, err, "the sealed file exists")
	e.Sealed()[0].PurgeStatus = models.PurgePurged
	_, err = e.RequestCopies(act(later), "s0@example.com")
	require.ErrorIs(t, err, models.ErrPurged)

	open := sent(t, nil, models.AuthNone, 1)
	_, err = open.RequestCopies(act(start), "s0@example.com")
	require.Equal(t, "envelope_not_completed", code(t, err))
	require.Equal(t, "envelope_not_completed", code(t, open.CopySent(act(start), open.Signers[0].ID, "mail")))
}

// TestLink_EndsAtTheDeadline checks that a link expires no later than the deadline, and that a link without a known
// expiry is invalid.
func TestLink_EndsAtTheDeadline(t *testing.T) {
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

// TestRemovedDeadline_LeavesNoTrace checks that an envelope is sent without a deadline if its deadline was removed.
func TestRemovedDeadline_LeavesNoTrace(t *testing.T) {
	t.Parallel()
	days := 3
	e := draft(t, &days, models.AuthNone, 1)
	require.NotNil(t, e.ExpiresAt)
	e.ExpiresInDays = nil
	require.NoError(t, e.Send(act(start), nil))
	assert.Nil(t, e.ExpiresAt)
}

func TestRemind_AfterTheDeadline_IsRejected(t *testing.T) {
	t.Parallel()
	days := 3
	e := sent(t, &days, models.AuthNone, 1)
	_, err := e.Remind(act(*e.ExpiresAt), e.Signers[0].ID)
	require.Equal(t, "envelope_deadline_passed", code(t, err))
	require.Nil(t, e.Signers[0].RemindedAt)
	_, err = e.Remind(act(e.ExpiresAt.Add(-time.Microsecond)), e.Signers[0].ID)
	require.NoError(t, err)
	require.Equal(t, models.EventReminderRequested, newest(e).Name, "the envelope has not been sent yet")
}
