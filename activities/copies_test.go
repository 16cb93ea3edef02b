package activities_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/models"
	"countersign/store/blob"
	"countersign/temporal"
)

// claimReinvites runs the outbox tasks that do not belong to the envelope's own workflow: renewed links and repeated
// notices.
func (env *fakeEnv) claimReinvites(in temporal.EnvelopeInput) (taken int) {
	env.t.Helper()
	for {
		rows := env.claimed()
		if len(rows) == 0 {
			return taken
		}
		for _, r := range rows {
			if r.Key == in.EnvelopeID && r.Kind == models.OutboxReinvite {
				require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: *r.Refs.SignerID, LinkID: r.Refs.LinkID}))
				taken++
			}
			require.NoError(env.t, env.Store.FinishOutbox(env.t.Context(), r.Seq))
		}
	}
}

// drainOutbox removes all rows of the outbox, as the dispatcher does after starting their workflows.
func (env *fakeEnv) drainOutbox() {
	env.t.Helper()
	for rows := env.claimed(); len(rows) > 0; rows = env.claimed() {
		for _, r := range rows {
			require.NoError(env.t, env.Store.FinishOutbox(env.t.Context(), r.Seq))
		}
	}
}

// claimed returns the rows of the outbox, leased for a minute.
func (env *fakeEnv) claimed() []models.OutboxRow {
	env.t.Helper()
	rows, err := env.Store.ClaimOutbox(env.t.Context(), 100, time.Minute)
	require.NoError(env.t, err)
	return rows
}

// groupInvites performs the step of the envelope's workflow that invites a routing group.
func (env *fakeEnv) groupInvites(in temporal.EnvelopeInput, e *models.Envelope) {
	env.t.Helper()
	for _, s := range e.Recipients() {
		require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: s.ID}))
	}
}

func copyRecipient(name string, group int) models.SignerInput {
	return models.SignerInput{Name: name, Email: strings.ToLower(name) + "@example.com", RoutingOrder: group, Kind: models.RecipientCopy}
}

// TestClosing_NotifiesCopyRecipients checks that copy recipients who received a notice are informed that there will be
// no copy, and that all others receive nothing.
func TestClosing_NotifiesCopyRecipients(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*fakeEnv, *models.Envelope) func(*models.Envelope) error{
		"voided": func(env *fakeEnv, _ *models.Envelope) func(*models.Envelope) error {
			return func(e *models.Envelope) error { return e.Void(env.act(), nil) }
		},
		"declined": func(env *fakeEnv, of *models.Envelope) func(*models.Envelope) error {
			return func(e *models.Envelope) error {
				_, err := e.Decline(env.act(), models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *of.Signers[0].LinkID}, nil, false)
				return err
			}
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothDatabases(t, func(env *fakeEnv) {
				gone := copyRecipient("Gone", 1)
				silent := copyRecipient("Silent", 1)
				silent.Silent = true
				e, in := env.sentTo(models.SignerInput{Name: "Sam", Email: "sam@example.com", RoutingOrder: 1, Silent: true},
					copyRecipient("Cora", 1), gone, silent, models.SignerInput{Name: "Zoe", Email: "zoe@example.com", RoutingOrder: 2}, copyRecipient("Later", 2))
				env.mails.reject = "gone@example.com"
				// Invite the recipients whose routing order was reached, as the workflow does.
				for _, s := range e.Recipients() {
					if s.Awaited() {
						require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: s.ID}))
					}
				}
				require.Equal(env.t, []string{"copy_notice cora@example.com"}, env.mailedTo())
				env.change(e, end(env, e))
				require.True(env.t, env.unfinished(e), "she has not been notified yet")
				require.NoError(env.t, env.SendClosing(env.t.Context(), in))
				require.Len(env.t, env.mails.mails, 1)
				m := env.mails.mails[0]
				require.Contains(env.t, m.Text, "no copy will follow")
				require.NotContains(env.t, m.Text, "links that were sent")
				require.Equal(env.t, []string{"closed cora@example.com"}, env.mailedTo())
				require.False(env.t, env.unfinished(e))
				require.NoError(env.t, env.SendClosing(env.t.Context(), in))
				require.Empty(env.t, env.mailedTo(), "once")
			})
		})
	}
}

// TestSendCopies_AttachTheSealedFiles checks that the attachments are the sealed files, and that a file that differs
// from its record is not sent.
func TestSendCopies_AttachTheSealedFiles(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		_, in := env.completed("ada@example.com")
		require.NoError(env.t, env.SendCopies(ctx, in))
		require.Len(env.t, env.mails.mails, 1)
		sealed := env.load(in).Sealed()
		require.Len(env.t, env.mails.mails[0].Attachments, len(sealed))
		for i, attached := range env.mails.mails[0].Attachments {
			f, err := attached.Open(ctx)
			require.NoError(env.t, err)
			content, err := io.ReadAll(f)
			require.NoError(env.t, err)
			require.NoError(env.t, f.Close())
			require.Len(env.t, content, int(attached.Size))
			require.Equal(env.t, sealed[i].SHA256, fmt.Sprintf("%x", sha256.Sum256(content)))
		}
		require.NoError(env.t, env.Blobs.Delete(ctx, sealed[0].BlobKey))
		other, err := env.Blobs.Temp()
		require.NoError(env.t, err)
		defer blob.Discard(other)
		_, err = other.WriteString("another file")
		require.NoError(env.t, err)
		require.NoError(env.t, env.Blobs.Put(ctx, other, sealed[0].BlobKey))
		_, err = env.mails.mails[0].Attachments[0].Open(ctx)
		require.ErrorIs(env.t, err, blob.ErrModified)
	})
}

// TestReplaceCopyRecipient_BeforeTheEnd checks that a new copy recipient receives the notice if the former one received
// it, and also receives all later emails.
func TestReplaceCopyRecipient_BeforeTheEnd(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sentTo(models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1}, copyRecipient("Cora", 1), copyRecipient("Late", 2))
		replace := func(i int, name string) {
			env.change(e, func(e *models.Envelope) error {
				_, err := e.Replace(env.act(), e.Copies[i].ID, models.Replacement{Name: name, Email: strings.ToLower(name) + "@example.com"})
				return err
			})
		}
		env.groupInvites(in, e)
		require.Equal(env.t, []string{"invitation ada@example.com", "copy_notice cora@example.com"}, env.mailedTo())
		require.Zero(env.t, env.claimReinvites(in))
		replace(0, "Dora")
		replace(1, "Luna")
		require.Equal(env.t, 1, env.claimReinvites(in), "only recipients whose turn it is")
		require.Equal(env.t, []string{"copy_notice dora@example.com"}, env.mailedTo())
		env.groupInvites(in, e)
		require.Empty(env.t, env.mailedTo(), "each once")
		require.Equal(env.t, 2, env.events(e, models.EventCopyReplaced))
		require.Zero(env.t, env.events(e, models.EventSignerReplaced))

		env.finishes(e, 0)
		env.sealed(in)
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		require.Equal(env.t, []string{"completed ada@example.com", "completed dora@example.com", "completed luna@example.com"}, env.mailedTo())
		require.False(env.t, env.unfinished(e))
	})
}

// TestReplaceCopyRecipient_Twice checks that the final recipient is notified once, regardless of the order in which the
// workflows of the two replacements run.
func TestReplaceCopyRecipient_Twice(t *testing.T) {
	t.Parallel()
	for _, newestFirst := range []bool{false, true} {
		onBothDatabases(t, func(env *fakeEnv) {
			e, in := env.sentTo(models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1}, copyRecipient("Cora", 1))
			env.groupInvites(in, e)
			env.mailedTo()
			for _, name := range []string{"Dora", "Luna"} {
				env.change(e, func(e *models.Envelope) error {
					_, err := e.Replace(env.act(), e.Copies[0].ID, models.Replacement{Name: name, Email: strings.ToLower(name) + "@example.com"})
					return err
				})
			}
			var notices []models.OutboxRow
			for rows := env.claimed(); len(rows) > 0; rows = env.claimed() {
				for _, r := range rows {
					if r.Kind == models.OutboxReinvite {
						notices = append(notices, r)
					}
					require.NoError(env.t, env.Store.FinishOutbox(env.t.Context(), r.Seq))
				}
			}
			require.Len(env.t, notices, 2)
			if newestFirst {
				slices.Reverse(notices)
			}
			invite := func(r models.OutboxRow) {
				require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: *r.Refs.SignerID, LinkID: r.Refs.LinkID}))
			}
			env.mails.onSend = func() {
				env.mails.onSend = nil
				invite(notices[1])
			}
			invite(notices[0])
			env.mails.onSend = nil
			invite(notices[1])
			require.Equal(env.t, []string{"copy_notice luna@example.com"}, env.mailedTo())
		})
	}
}

// TestReplaceCopyRecipient_DuringTheNotice checks that the new copy recipient receives one notice, even if the
// replacement occurs while the former recipient's notice is being sent.
func TestReplaceCopyRecipient_DuringTheNotice(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]bool{"before": false, "meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothDatabases(t, func(env *fakeEnv) {
				e, in := env.sentTo(models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1}, copyRecipient("Cora", 1))
				replace := func() {
					env.mails.onSend = nil
					env.change(e, func(e *models.Envelope) error {
						_, err := e.Replace(env.act(), e.Copies[0].ID, models.Replacement{Name: "Dora", Email: "dora@example.com"})
						return err
					})
				}
				want := []string{"copy_notice dora@example.com"}
				if meanwhile {
					env.mails.onSend = replace
					want = []string{"copy_notice cora@example.com", "copy_notice dora@example.com"}
				} else {
					replace()
					env.clock.Add(time.Hour) // the replacement's own notice is late, so the group's invitation sends the notice
				}
				require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Copies[0].ID}))
				env.claimReinvites(in)
				require.Equal(env.t, want, env.mailedTo())
			})
		})
	}
}

// TestRenewLink_BeforeTheInvitation checks that a link that is renewed before its group is invited is emailed only
// once, regardless of the order in which the workflows run.
func TestRenewLink_BeforeTheInvitation(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*fakeEnv, *models.Envelope, uuid.UUID) error{
		"resend": func(env *fakeEnv, e *models.Envelope, id uuid.UUID) error {
			_, err := e.Resend(env.act(), id)
			return err
		},
		"replace": func(env *fakeEnv, e *models.Envelope, id uuid.UUID) error {
			_, err := e.Replace(env.act(), id, models.Replacement{Name: "Grace", Email: "grace@example.com"})
			return err
		},
	}
	for name, change := range changes {
		for _, groupFirst := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				onBothDatabases(t, func(env *fakeEnv) {
					e, in := env.sentTo(models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1}, copyRecipient("Cora", 1))
					id := e.Signers[0].ID
					env.change(e, func(e *models.Envelope) error { return change(env, e, id) })
					if name == "replace" {
						env.change(e, func(e *models.Envelope) error { return change(env, e, e.Copies[0].ID) })
					}
					group := func() {
						for _, s := range e.Recipients() { // a failed invitation is retried
							_ = env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: s.ID})
						}
					}
					first, second := group, func() { env.claimReinvites(in) }
					if !groupFirst {
						first, second = second, first
					}
					// The second workflow runs while the first email is being sent and is not yet recorded as sent.
					env.mails.onSend = func() {
						env.mails.onSend = nil
						second()
					}
					first()
					second()
					env.groupInvites(in, e) // finds no more emails to send
					want := []string{"invitation ada@example.com", "copy_notice cora@example.com"}
					if name == "replace" {
						want = []string{"invitation grace@example.com", "copy_notice grace@example.com"}
					}
					require.ElementsMatch(env.t, want, env.mailedTo())
				})
			})
		}
	}
	// A renewed link is sent even if its workflow was lost.
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		onBothDatabases(t, func(env *fakeEnv) {
			e, in := env.sentTo(models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1},
				models.SignerInput{Name: "Bo", Email: "bo@example.com", RoutingOrder: 1})
			env.change(e, func(e *models.Envelope) error {
				_, err := e.Resend(env.act(), e.Signers[0].ID)
				return err
			})
			other := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[1].ID}
			require.NoError(env.t, env.Invite(env.t.Context(), other))
			require.Equal(env.t, []string{"invitation bo@example.com"}, env.mailedTo(), "the attempt does not count as Ada's")
			invite := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
			var waits *sdktemporal.ApplicationError
			require.ErrorAs(env.t, env.Invite(env.t.Context(), invite), &waits)
			require.ErrorContains(env.t, waits, "the link renewal will send the invitation")
			require.Equal(env.t, sdktemporal.ApplicationErrorCategoryBenign, waits.Category(), "the SDK logs other errors at level error")
			require.False(env.t, waits.NonRetryable())
			require.Empty(env.t, env.mailedTo())
			env.clock.Add(3 * time.Minute)
			require.NoError(env.t, env.Invite(env.t.Context(), invite))
			require.Equal(env.t, []string{"invitation ada@example.com"}, env.mailedTo())
			require.Equal(env.t, 1, env.claimReinvites(in))
			require.Empty(env.t, env.mailedTo())
		})
	})
	// If the sender requests a link, the service still sends the invitation.
	t.Run("rotated", func(t *testing.T) {
		t.Parallel()
		onBothDatabases(t, func(env *fakeEnv) {
			e, in := env.sentTo(models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1})
			env.change(e, func(e *models.Envelope) error {
				_, err := e.IssueLink(env.act(), e.Signers[0].ID, true)
				return err
			})
			env.groupInvites(in, e)
			require.Equal(env.t, []string{"invitation ada@example.com"}, env.mailedTo())
		})
	})
}

// TestSendCopies_TooLargeForTheServer checks that copies that are too large for the mail server are sent as links,
// exactly once and with the same Message-ID.
func TestSendCopies_TooLargeForTheServer(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.completed("a@example.com", "b@example.com")
		env.mails.rejectAttachments, env.mails.deferred = true, "b@example.com"
		require.Error(env.t, env.SendCopies(env.t.Context(), in))
		env.mails.deferred = ""
		for range 2 {
			require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		}
		require.Len(env.t, env.mails.mails, 2)
		for i, m := range env.mails.mails {
			require.Empty(env.t, m.Attachments)
			require.Contains(env.t, m.Text, "https://example.com/download/")
			require.Equal(env.t, env.Mail.MessageID("completed", e.Signers[i].ID.String()), m.MessageID)
		}
		require.Equal(env.t, 2, env.events(e, models.EventCopySent))
		require.False(env.t, env.unfinished(e))
	})
}

// TestSendCopies_RejectedLinks checks that the audit trail does not record links as sent if their email was
// permanently rejected.
func TestSendCopies_RejectedLinks(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		env.AttachmentLimit = 1 // as links
		e, in := env.completed("a@example.com", "b@example.com")
		env.mails.reject = "b@example.com"
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		require.Equal(env.t, []string{"completed a@example.com"}, env.mailedTo())
		require.Equal(env.t, 1, env.events(e, models.EventCopySent))
		mails, err := env.Store.Mails(env.t.Context(), e.ID)
		require.NoError(env.t, err)
		for _, m := range mails {
			if m.Kind == models.MailCompleted {
				require.Equal(env.t, m.SignerID == e.Signers[1].ID, m.FailedAt != nil, "%s", m.Error)
			}
		}
	})
}

// TestCopyNotices_HaveSeparateMessageIDs checks that the notices to different recipients have different Message-IDs.
func TestCopyNotices_HaveSeparateMessageIDs(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sentTo(models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1}, copyRecipient("Cora", 1), copyRecipient("Carl", 1))
		env.groupInvites(in, e)
		require.Equal(env.t, env.Mail.MessageID("copy_notice", e.Copies[0].ID.String()), env.mails.mails[1].MessageID)
		env.mailedTo()
		for i, name := range []string{"Dora", "Dirk"} {
			env.change(e, func(e *models.Envelope) error {
				_, err := e.Replace(env.act(), e.Copies[i].ID, models.Replacement{Name: name, Email: strings.ToLower(name) + "@example.com"})
				return err
			})
		}
		require.Equal(env.t, 2, env.claimReinvites(in))
		require.ElementsMatch(env.t, []string{"copy_notice dora@example.com", "copy_notice dirk@example.com"}, env.mailedTo())
		mails, err := env.Store.Mails(env.t.Context(), e.ID)
		require.NoError(env.t, err)
		notices := 0
		for _, m := range mails {
			if m.Kind == models.MailCopyNotice {
				notices++
			}
		}
		require.Equal(env.t, 4, notices)
		env.groupInvites(in, e)
		require.Empty(env.t, env.mailedTo(), "each once")
	})
}

// TestSendCopies_AfterThePurge checks that recipients who did not receive a copy before the purge receive neither a
// copy nor a link afterwards.
func TestSendCopies_AfterThePurge(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1000, 1} { // as attachments and as links
		onBothDatabases(t, func(env *fakeEnv) {
			env.AttachmentLimit = limit
			e, in := env.retained(1, "a@example.com", "b@example.com")
			env.mails.deferred = "b@example.com"
			require.Error(env.t, env.SendCopies(env.t.Context(), in))
			require.Equal(env.t, []string{"completed a@example.com"}, env.mailedTo())
			env.clock.Add(25 * time.Hour)
			require.NoError(env.t, env.Purge(env.t.Context(), in))
			env.mails.deferred = ""
			require.NoError(env.t, env.SendCopies(env.t.Context(), in))
			require.Empty(env.t, env.mailedTo())
			require.False(env.t, env.unfinished(e), "nobody should receive another copy")
		})
	}
}

// TestSendCopiesAgain_NotCompleted checks that a request for copies sends nothing if the envelope is not completed.
func TestSendCopiesAgain_NotCompleted(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		again := temporal.CopiesInput{EnvelopeInput: in, SignerID: e.Signers[0].ID, Request: newID()}
		require.NoError(env.t, env.SendCopiesAgain(env.t.Context(), again))
		require.Empty(env.t, env.mailedTo())
		env.signAll(e)
		env.sealed(in)
		require.NoError(env.t, env.SendCopiesAgain(env.t.Context(), again))
		require.Equal(env.t, []string{"completed a@example.com"}, env.mailedTo())

		again.Request, env.mails.deferred = newID(), "a@example.com"
		require.Error(env.t, env.SendCopiesAgain(env.t.Context(), again))
		env.clock.Add(30 * 24 * time.Hour)
		require.NoError(env.t, env.SendCopiesAgain(env.t.Context(), again))
		require.Equal(env.t, []bool{false, true}, env.mails.lastAttempts, "the last rejection must be counted")
	})
}
