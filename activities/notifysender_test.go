package activities_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/activities"
	"countersign/internal/inbox"
	"countersign/models"
	"countersign/notify"
	"countersign/temporal"
)

// bySMTP makes env send all emails to a real SMTP listener, and returns the listener's inbox.
func (env *fakeEnv) bySMTP() *inbox.Inbox {
	env.t.Helper()
	box, err := inbox.Open(env.t.TempDir(), env.clock.Now)
	require.NoError(env.t, err)
	listener, err := new(net.ListenConfig).Listen(env.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(env.t, err)
	served := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	go func() { defer close(served); _ = box.ServeSMTP(ctx, listener) }() // stopped at the end of the test
	env.t.Cleanup(func() { stop(); <-served })
	smtp, err := notify.NewSMTP(notify.SMTPConfig{URL: "smtp://" + listener.Addr().String() + "?tls=none", From: "Countersign <sign@example.com>", Timeout: 10 * time.Second, Now: env.clock.Now})
	require.NoError(env.t, err)
	env.Mail = smtp
	return box
}

func headers(t *testing.T, box *inbox.Inbox, m inbox.Message) mail.Header {
	t.Helper()
	source, err := box.Source(m.ID)
	require.NoError(t, err)
	defer func() { require.NoError(t, source.Close()) }()
	read, err := mail.ReadMessage(source)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, read.Body)
	require.NoError(t, err)
	return read.Header
}

func (env *fakeEnv) user(email string, role models.Role) *models.ConsoleUser {
	env.t.Helper()
	u, err := env.Store.CreateUser(env.t.Context(), env.app.ID, email, "Grace Hopper", "correct horse battery", role)
	require.NoError(env.t, err)
	return u
}

func (env *fakeEnv) choose(u *models.ConsoleUser, fn func(*models.NotificationSettings)) {
	env.t.Helper()
	_, err := env.Store.ChangeNotifications(env.t.Context(), u.ID, func(n *models.NotificationSettings) error { fn(n); return nil })
	require.NoError(env.t, err)
}

// sentBy is like sent, but the sender is a console user.
func (env *fakeEnv) sentBy(u *models.ConsoleUser, emails ...string) *models.Envelope {
	env.t.Helper()
	e, _ := env.sent(emails...)
	env.change(e, func(e *models.Envelope) error { e.OwnerID = &u.ID; return nil })
	return e
}

func link(e *models.Envelope, i int) models.Link {
	return models.Link{EnvelopeID: e.ID, SignerID: e.Signers[i].ID, ID: *e.Signers[i].LinkID}
}

func (env *fakeEnv) decline(e *models.Envelope, i int) {
	env.t.Helper()
	env.change(e, func(e *models.Envelope) error {
		_, err := e.Decline(env.act(), link(e, i), new("Clause 4."), false)
		return err
	})
}

// notifications returns the notifications and digests that the outbox requests.
func (env *fakeEnv) notifications() (each []temporal.NotificationInput, digests []temporal.DigestInput) {
	env.t.Helper()
	for {
		rows, err := env.Store.ClaimOutbox(env.t.Context(), 100, time.Minute)
		require.NoError(env.t, err)
		if len(rows) == 0 {
			return each, digests
		}
		for _, r := range rows {
			require.NoError(env.t, env.Store.FinishOutbox(env.t.Context(), r.Seq))
			switch r.Kind { //nolint:exhaustive // all other rows request no email
			case models.OutboxNotify:
				each = append(each, temporal.NotificationInput{EnvelopeInput: temporal.EnvelopeInput{AppID: r.Refs.AppID, EnvelopeID: r.Key}, EventID: r.ID})
			case models.OutboxDigest:
				digests = append(digests, temporal.DigestInput{AppID: r.Refs.AppID, UserID: r.Key, Until: r.CreatedAt})
			}
		}
	}
}

// notifySender runs each notification in the outbox twice.
func (env *fakeEnv) notifySender() {
	env.t.Helper()
	each, _ := env.notifications()
	for _, in := range each {
		require.NoError(env.t, env.NotifySender(env.t.Context(), in))
		require.NoError(env.t, env.NotifySender(env.t.Context(), in), "an activity may run again")
	}
}

// TestNotifySender_OneEmailPerEvent checks that each subscribed event causes one email, and that all emails about an
// envelope belong to one thread.
func TestNotifySender_OneEmailPerEvent(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		box := env.bySMTP()
		grace := env.user("grace@acme.example", models.RoleSender)
		env.choose(grace, func(n *models.NotificationSettings) { n.Opened, n.Signed, n.TimeZone = true, true, "Europe/Berlin" })
		e := env.sentBy(grace, "ada@example.com", "bob@example.com")
		env.change(e, func(e *models.Envelope) error { _, err := e.Open(env.act(), link(e, 0)); return err })
		env.clock.Add(time.Minute)
		env.signAll(e)
		env.sealed(temporal.EnvelopeInput{AppID: e.AppID, EnvelopeID: e.ID})
		env.notifySender()

		got := box.List(inbox.Filter{})
		var said []string
		thread := ""
		for _, m := range got {
			full, err := box.Get(m.ID)
			require.NoError(env.t, err)
			said = append(said, strings.SplitN(strings.SplitN(full.Text, "\n\n", 3)[1], " on ", 2)[0])
			assert.Equal(env.t, []string{"grace@acme.example"}, m.To)
			assert.Equal(env.t, "Update: your document", strings.Replace(m.Subject, e.Title(), "your document", 1))
			assert.Contains(env.t, full.Text, "(Europe/Berlin)")
			assert.Contains(env.t, full.Text, "https://example.com/console#/envelopes/"+e.ID.String())
			h := headers(env.t, box, m)
			require.NotEmpty(env.t, h.Get("In-Reply-To"))
			require.Equal(env.t, h.Get("In-Reply-To"), h.Get("References"))
			if thread == "" {
				thread = h.Get("References")
			}
			assert.Equal(env.t, thread, h.Get("References"), "each envelope has one email thread")
			assert.NotEqual(env.t, thread, h.Get("Message-ID"))
			assert.Equal(env.t, "List-Unsubscribe=One-Click", h.Get("List-Unsubscribe-Post"))
			assert.Empty(env.t, h.Get("Reply-To"))
			token, ok := strings.CutPrefix(strings.Trim(h.Get("List-Unsubscribe"), "<>"), "https://example.com/unsubscribe/")
			require.True(env.t, ok, h.Get("List-Unsubscribe"))
			app, user, err := env.Tokens.VerifyUnsubscribe(token)
			require.NoError(env.t, err)
			assert.Equal(env.t, []uuid.UUID{env.app.ID, grace.ID}, []uuid.UUID{app, user})
			_, err = env.Tokens.VerifyConsole(token)
			require.Error(env.t, err, "the key decrypts nothing else")
		}
		assert.ElementsMatch(env.t, []string{"Name opened " + e.Title(), "Name signed " + e.Title(), "Everyone signed " + e.Title() + ". It was sealed"}, said,
			"the last signature is reported by the end")

		env.choose(grace, func(n *models.NotificationSettings) { n.Language = new("de") })
		other := env.sentBy(grace, "ada@example.com")
		env.decline(other, 0)
		env.notifySender()
		all := box.List(inbox.Filter{})
		require.Len(env.t, all, len(got)+1)
		last, err := box.Get(all[0].ID)
		require.NoError(env.t, err)
		if strings.HasPrefix(last.Subject, "Update") {
			last, err = box.Get(all[len(all)-1].ID)
			require.NoError(env.t, err)
		}
		assert.True(env.t, strings.HasPrefix(last.Subject, "Neues zu: "), last.Subject)
		assert.Contains(env.t, last.Text, "Clause 4.")
		assert.NotEqual(env.t, thread, headers(env.t, box, last).Get("References"))
	})
}

// TestNotifySender_ProblemsAreReported checks the notifications about the end of an envelope and about required
// actions.
func TestNotifySender_ProblemsAreReported(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		box := env.bySMTP()
		grace := env.user("grace@acme.example", models.RoleSender)
		e := env.sentBy(grace, "ada@example.com", "bob@example.com")
		env.change(e, func(e *models.Envelope) error {
			return e.InvitationFailed(env.act(), e.Signers[0].ID, "550 no such user", "m")
		})
		env.notifySender()
		env.clock.Add(31 * 24 * time.Hour)
		_, err := env.Expire(env.t.Context(), temporal.EnvelopeInput{AppID: e.AppID, EnvelopeID: e.ID})
		require.NoError(env.t, err)
		stuck := env.sentBy(grace, "ada@example.com")
		env.signAll(stuck)
		env.change(stuck, func(e *models.Envelope) error { return e.SealingFailed(env.act(), models.SealingFailing) })
		env.notifySender()
		var texts []string
		for _, m := range box.List(inbox.Filter{}) {
			full, err := box.Get(m.ID)
			require.NoError(env.t, err)
			texts = append(texts, full.Text)
		}
		require.Len(env.t, texts, 3)
		all := strings.Join(texts, "\n")
		for _, want := range []string{"ada@example.com", "550 no such user", "The deadline to sign", "Not signed by: Name, Name", "sealing has been failing since"} {
			assert.Contains(env.t, all, want)
		}
	})
}

// TestNotifySender_CorrectedAddress_IsNotReported checks that a rejected address is reported unless the signer has been
// replaced since.
func TestNotifySender_CorrectedAddress_IsNotReported(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		grace := env.user("grace@acme.example", models.RoleSender)
		for replaced, want := range map[int]int{0: 0, 1: 1} {
			env.mails.mails = nil
			e := env.sentBy(grace, "ada@example.com", "bob@example.com")
			env.change(e, func(e *models.Envelope) error {
				return e.InvitationFailed(env.act(), e.Signers[0].ID, "550 no such user", "m")
			})
			env.change(e, func(e *models.Envelope) error {
				_, err := e.Replace(env.act(), e.Signers[replaced].ID, models.Replacement{Name: "Eve", Email: "eve@example.com"})
				return err
			})
			env.notifySender()
			assert.Len(env.t, env.mails.mails, want, "signer %d was replaced", replaced+1)
		}
	})
}

// TestNotifySender_FollowsPermissionsAndSettings checks that no email is sent to a user who can no longer see the
// envelope, has disabled the notification, or caused the event.
func TestNotifySender_FollowsPermissionsAndSettings(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(env *fakeEnv, u *models.ConsoleUser, e *models.Envelope){
		"disabled": func(env *fakeEnv, u *models.ConsoleUser, _ *models.Envelope) {
			require.NoError(env.t, env.Store.DisableUser(env.t.Context(), env.app.ID, u.ID))
		},
		"without a role": func(env *fakeEnv, u *models.ConsoleUser, _ *models.Envelope) {
			env.exec("UPDATE console_users SET role = 'none' WHERE id = $1", u.ID)
		},
		"of another app": func(env *fakeEnv, u *models.ConsoleUser, _ *models.Envelope) {
			other, _, err := env.Store.CreateApp(env.t.Context(), "Other", models.PlanFree, nil)
			require.NoError(env.t, err)
			env.exec("UPDATE console_users SET app_id = $2 WHERE id = $1", u.ID, other.ID)
		},
		"of another workspace": func(env *fakeEnv, _ *models.ConsoleUser, _ *models.Envelope) {
			env.exec("UPDATE apps SET tenants = $2 WHERE id = $1", env.app.ID, `["other"]`)
		},
		"who has unsubscribed": func(env *fakeEnv, u *models.ConsoleUser, _ *models.Envelope) {
			env.choose(u, func(n *models.NotificationSettings) { n.Frequency = models.NotifyNever })
		},
		"who wants no such mail": func(env *fakeEnv, u *models.ConsoleUser, _ *models.Envelope) {
			env.choose(u, func(n *models.NotificationSettings) { n.Declined = false })
		},
		"who is the tenant's contact": func(env *fakeEnv, _ *models.ConsoleUser, e *models.Envelope) {
			require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, TenantID: e.TenantID, NotifyEmail: new("GRACE@acme.example")}))
		},
		"who gave it to an application": func(env *fakeEnv, _ *models.ConsoleUser, e *models.Envelope) {
			env.change(e, func(e *models.Envelope) error { e.OwnerID = nil; return nil })
		},
		"who declined": func(env *fakeEnv, _ *models.ConsoleUser, e *models.Envelope) {
			env.change(e, func(e *models.Envelope) error { e.Signers[0].Email = "Grace@acme.example"; return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothDatabases(t, func(env *fakeEnv) {
				grace := env.user("grace@acme.example", models.RoleSender)
				e := env.sentBy(grace, "ada@example.com")
				env.decline(e, 0)
				each, _ := env.notifications()
				require.Len(env.t, each, 1)
				unknown := each[0]
				unknown.EventID = newID()
				require.NoError(env.t, env.NotifySender(env.t.Context(), unknown), "an event that the envelope does not have")
				lose(env, grace, e)
				require.NoError(env.t, env.NotifySender(env.t.Context(), each[0]))
				assert.Empty(env.t, env.mails.mails)
			})
		})
	}
}

func (env *fakeEnv) exec(query string, args ...any) {
	env.t.Helper()
	db, err := env.Store.DB()
	require.NoError(env.t, err)
	for i := range args {
		args[i] = fmt.Sprint(args[i])
	}
	_, err = db.ExecContext(env.t.Context(), query, args...)
	require.NoError(env.t, err)
}

// TestNotifySender_SenderWhoSignsGetsOnlyTheCopy checks that a user who both sends and signs an envelope receives no
// separate notification of the completion.
func TestNotifySender_SenderWhoSignsGetsOnlyTheCopy(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		grace := env.user("grace@acme.example", models.RoleSender)
		env.choose(grace, func(n *models.NotificationSettings) { n.Opened, n.Signed = true, true })
		e := env.sentBy(grace, "grace@acme.example")
		env.signAll(e)
		in := temporal.EnvelopeInput{AppID: e.AppID, EnvelopeID: e.ID}
		env.sealed(in)
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		env.notifySender()
		assert.Equal(env.t, []string{"completed grace@acme.example"}, env.mailedTo())
	})
}

// TestNotifySender_SentOnceAfterInterruption checks that an attempt whose outcome is unknown is repeated with the same
// Message-ID.
func TestNotifySender_SentOnceAfterInterruption(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		grace := env.user("grace@acme.example", models.RoleSender)
		e := env.sentBy(grace, "ada@example.com")
		env.decline(e, 0)
		each, _ := env.notifications()
		env.mails.after = errors.New("connection lost after DATA")
		require.Error(env.t, env.NotifySender(env.t.Context(), each[0]))
		env.mails.after = nil
		for range 2 {
			require.NoError(env.t, env.NotifySender(env.t.Context(), each[0]))
		}
		require.Len(env.t, env.mails.mails, 2)
		assert.Equal(env.t, env.mails.mails[0].MessageID, env.mails.mails[1].MessageID)

		other := env.sentBy(grace, "ada@example.com")
		env.decline(other, 0)
		each, _ = env.notifications()
		env.mails.reject = "grace@acme.example"
		require.NoError(env.t, env.NotifySender(env.t.Context(), each[0]))
		sent, err := env.Store.Mails(env.t.Context(), other.ID)
		require.NoError(env.t, err)
		require.Len(env.t, sent, 1)
		require.NotNil(env.t, sent[0].FailedAt)
		require.Equal(env.t, models.MailNotification, sent[0].Kind)
		require.Equal(env.t, string(models.MailNotification), env.mails.mails[0].Kind)
	})
}

// TestSendDigest_GroupsByEnvelope checks that a daily email lists the events by envelope.
func TestSendDigest_GroupsByEnvelope(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		box := env.bySMTP()
		ctx := env.t.Context()
		grace := env.user("grace@acme.example", models.RoleSender)
		env.choose(grace, func(n *models.NotificationSettings) {
			n.Frequency, n.TimeZone, n.Opened = models.NotifyDaily, "America/New_York", true
		})
		first, second, hidden := env.sentBy(grace, "ada@example.com"), env.sentBy(grace, "bob@example.com"), env.sentBy(grace, "eve@example.com")
		env.change(first, func(e *models.Envelope) error { _, err := e.Open(env.act(), link(e, 0)); return err })
		env.decline(first, 0)
		env.decline(hidden, 0)
		env.change(second, func(e *models.Envelope) error { return e.InvitationFailed(env.act(), e.Signers[0].ID, "550", "m") })
		env.change(hidden, func(e *models.Envelope) error { e.OwnerID = new(newID()); return nil })
		each, digests := env.notifications()
		require.Empty(env.t, each)
		require.Empty(env.t, digests)

		env.clock.Add(24 * time.Hour)
		_, err := env.Cleanup(ctx)
		require.NoError(env.t, err)
		_, digests = env.notifications()
		require.Len(env.t, digests, 1)
		require.NoError(env.t, env.SendDigest(ctx, digests[0]))
		require.NoError(env.t, env.SendDigest(ctx, digests[0]), "an activity may run again")
		got := box.List(inbox.Filter{})
		require.Len(env.t, got, 1)
		m, err := box.Get(got[0].ID)
		require.NoError(env.t, err)
		assert.Equal(env.t, "Daily summary: 2 envelopes", m.Subject)
		for _, want := range []string{"Opened by Name", "Name declined", "Not delivered to Name", "08:00 (America/New_York)", first.ID.String(), second.ID.String()} {
			assert.Contains(env.t, m.Text, want)
		}
		assert.NotContains(env.t, m.Text, hidden.ID.String(), "the envelope now belongs to another user")
		assert.NotEmpty(env.t, headers(env.t, box, got[0]).Get("List-Unsubscribe"))

		env.clock.Add(24 * time.Hour)
		_, err = env.Cleanup(ctx)
		require.NoError(env.t, err)
		_, digests = env.notifications()
		assert.Empty(env.t, digests, "nothing happened")
	})
}

// TestSendDigest_IsBounded checks that a digest lists at most 50 envelopes and states how many others there are.
func TestSendDigest_IsBounded(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		grace := env.user("grace@acme.example", models.RoleSender)
		env.choose(grace, func(n *models.NotificationSettings) { n.Frequency = models.NotifyDaily })
		in := temporal.DigestInput{AppID: env.app.ID, UserID: grace.ID, Until: env.clock.Now()}
		env.decline(env.sentBy(grace, "Grace@acme.example"), 0)
		require.NoError(env.t, env.SendDigest(env.t.Context(), in))
		require.Empty(env.t, env.mails.mails, "the sender performed this action herself")
		for range 52 {
			env.decline(env.sentBy(grace, "ada@example.com"), 0)
		}
		require.NoError(env.t, env.SendDigest(env.t.Context(), in))
		require.Len(env.t, env.mails.mails, 1)
		require.Equal(env.t, string(models.MailDigest), env.mails.mails[0].Kind)
		require.Equal(env.t, 50, strings.Count(env.mails.mails[0].Text, "Name declined"))
		require.Contains(env.t, env.mails.mails[0].Text, "and 2 more envelopes")
	})
}

// TestSendDigest_Retry checks that the pending events are retained if the mail server is unavailable, and deleted if
// it rejects the address.
func TestSendDigest_Retry(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		grace := env.user("grace@acme.example", models.RoleSender)
		env.choose(grace, func(n *models.NotificationSettings) { n.Frequency = models.NotifyDaily })
		env.decline(env.sentBy(grace, "ada@example.com"), 0)
		in := temporal.DigestInput{AppID: env.app.ID, UserID: grace.ID, Until: env.clock.Now()}
		env.mails.after = errors.New("connection lost after DATA")
		require.Error(env.t, env.SendDigest(ctx, in))
		env.mails.after = nil
		require.NoError(env.t, env.SendDigest(ctx, in))
		require.NoError(env.t, env.SendDigest(ctx, in))
		require.Len(env.t, env.mails.mails, 2)
		assert.Equal(env.t, env.mails.mails[0].MessageID, env.mails.mails[1].MessageID)

		env.decline(env.sentBy(grace, "ada@example.com"), 0)
		env.mails.reject = "grace@acme.example"
		require.NoError(env.t, env.SendDigest(ctx, in))
		env.mails.reject = ""
		require.NoError(env.t, env.SendDigest(ctx, in))
		require.Len(env.t, env.mails.mails, 2)
		require.NoError(env.t, env.Store.DisableUser(ctx, env.app.ID, grace.ID))
		require.NoError(env.t, env.SendDigest(ctx, in))
	})
}

// TestSendDigest_ShowsTenantOrAppName checks that a digest shows the tenant's name, or the app's name if the digest is
// about several tenants.
func TestSendDigest_ShowsTenantOrAppName(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx, name := env.t.Context(), "Lovelace Letting"
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, TenantID: "t", SenderName: &name}))
		grace := env.user("grace@acme.example", models.RoleSender)
		env.choose(grace, func(n *models.NotificationSettings) { n.Frequency = models.NotifyDaily })
		for _, tenants := range [][]string{{"t", "t"}, {"t", "other"}} {
			for _, tenant := range tenants {
				e := env.prepared(func(int) int { return 1 }, "ada@example.com")
				e.TenantID, e.OwnerID = tenant, &grace.ID
				require.NoError(env.t, e.Send(env.act(), nil))
				require.NoError(env.t, env.Store.Create(ctx, e))
				env.decline(e, 0)
			}
			require.NoError(env.t, env.SendDigest(ctx, temporal.DigestInput{AppID: env.app.ID, UserID: grace.ID, Until: env.clock.Now()}))
		}
		require.Len(env.t, env.mails.mails, 2)
		assert.Equal(env.t, []string{name, env.app.Name}, []string{env.mails.mails[0].FromName, env.mails.mails[1].FromName})
		assert.Equal(env.t, []string{"digest grace@acme.example", "digest grace@acme.example"}, env.mailedTo())
	})
}

// TestNotifySender_QuotesTheMailServer checks that the notification about a rejected invitation quotes only the part of
// the reason that comes from the mail server.
func TestNotifySender_QuotesTheMailServer(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e := env.sentBy(env.user("grace@acme.example", models.RoleSender), "ada@example.com")
		env.change(e, func(e *models.Envelope) error {
			return e.InvitationFailed(env.act(), e.Signers[0].ID, "mail: recipient rejected with 550 5.1.1: No such user here", "m")
		})
		env.notifySender()
		require.Len(env.t, env.mails.mails, 1)
		assert.Contains(env.t, env.mails.mails[0].Text, "550 5.1.1: No such user here")
		assert.NotContains(env.t, env.mails.mails[0].Text, "refused with")
	})
}

// TestNotifySender_KnownEvents checks which events a user knows about from other emails or from the user's own action.
func TestNotifySender_KnownEvents(t *testing.T) {
	t.Parallel()
	user := &models.ConsoleUser{Email: "grace@acme.example"}
	grace, ada := &models.Signer{Email: "Grace@acme.example"}, &models.Signer{Email: "ada@example.com"}
	silent := *grace
	silent.Silent = true
	sent := func(to ...*models.Signer) *models.Envelope { return &models.Envelope{Signers: to} }
	for _, c := range []struct {
		kind    models.NotificationKind
		e       *models.Envelope
		s       *models.Signer
		contact string
		want    bool
	}{
		{models.NotifyDeclined, sent(ada), ada, "GRACE@acme.example", true},
		{models.NotifyBounced, sent(ada), ada, "grace@acme.example", true},
		{models.NotifySealingProblem, sent(ada), nil, "grace@acme.example", true},
		{models.NotifySealingProblem, sent(ada), nil, "office@acme.example", false},
		{models.NotifySealingProblem, sent(grace), nil, "", false},
		{models.NotifyOpened, sent(ada), ada, "grace@acme.example", false},
		{models.NotifyCompleted, sent(ada), nil, "grace@acme.example", false},
		{models.NotifyExpired, sent(grace), nil, "grace@acme.example", false},
		{models.NotifyOpened, sent(grace), grace, "", true},
		{models.NotifySigned, sent(grace), grace, "", true},
		{models.NotifyDeclined, sent(grace), grace, "", true},
		{models.NotifyDeclined, sent(grace), nil, "", false},
		{models.NotifyBounced, sent(grace), grace, "", false},
		{models.NotifySigned, sent(grace, ada), ada, "", false},
		{models.NotifyCompleted, sent(ada, grace), nil, "", true},
		{models.NotifyCompleted, sent(ada, &silent), nil, "", false},
	} {
		assert.Equal(t, c.want, activities.AlreadyKnown(c.kind, c.e, c.s, user, c.contact), "%s, contact %q, %v", c.kind, c.contact, c.s)
	}
}

// TestNotifySender_SupersededEvents checks which events are not reported because of later events.
func TestNotifySender_SupersededEvents(t *testing.T) {
	t.Parallel()
	s := &models.Signer{ID: newID()}
	event := func(name models.EventName, id uuid.UUID) []models.Event {
		return []models.Event{{Name: name, Detail: models.Detail{"signerId": id.String()}}}
	}
	for _, c := range []struct {
		kind   models.NotificationKind
		status models.Status
		s      *models.Signer
		end    bool // the user chose the notification about the completion
		later  []models.Event
		want   bool
	}{
		{models.NotifySigned, models.StatusSealing, s, true, nil, true},
		{models.NotifySigned, models.StatusCompleted, s, true, nil, true},
		{models.NotifySigned, models.StatusCompleted, s, true, event(models.EventSignerViewed, s.ID), true},
		{models.NotifySigned, models.StatusCompleted, s, true, event(models.EventSignerSigned, newID()), false},
		{models.NotifySigned, models.StatusCompleted, s, false, nil, false},
		{models.NotifySigned, models.StatusDeclined, s, true, nil, false},
		{models.NotifyBounced, models.StatusSent, s, true, event(models.EventSignerReplaced, s.ID), true},
		{models.NotifyBounced, models.StatusSent, s, true, event(models.EventSignerReplaced, newID()), false},
		{models.NotifyBounced, models.StatusSent, s, true, event(models.EventSignerViewed, s.ID), false},
		{models.NotifyBounced, models.StatusSent, nil, true, event(models.EventSignerReplaced, s.ID), false},
		{models.NotifySealingProblem, models.StatusSealing, nil, true, nil, false},
		{models.NotifySealingProblem, models.StatusCompleted, nil, true, nil, true},
		{models.NotifyDeclined, models.StatusCompleted, s, true, event(models.EventSignerReplaced, s.ID), false},
	} {
		got := activities.Superseded(c.kind, &models.Envelope{Status: c.status}, c.s, &models.NotificationSettings{Completed: c.end}, c.later)
		assert.Equal(t, c.want, got, "%s, %s, %v", c.kind, c.status, c.later)
	}
}

// TestNotifySender_DeclinedAtAHost checks that a person who declines at a host's device is reported as declining to
// sign, although the host received the request.
func TestNotifySender_DeclinedAtAHost(t *testing.T) {
	t.Parallel()
	for kind, want := range map[models.RecipientKind]string{models.RecipientInPerson: "", models.RecipientApprover: "approver"} {
		s := &models.Signer{ID: newID(), Name: "Ada", Kind: kind}
		e := &models.Envelope{Signers: []*models.Signer{s}}
		var a activities.Activities
		assert.Equal(t, want, string(activities.Notify(&a, models.NotifyDeclined, e, s, &models.Event{}).ByRequest), kind)
		assert.Equal(t, e.RequestedAction(s), string(activities.Notify(&a, models.NotifyOpened, e, s, &models.Event{}).ByRequest), kind)
	}
}
