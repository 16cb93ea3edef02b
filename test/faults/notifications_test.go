package faults_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"

	"countersign/internal/inbox"
	"countersign/models"
	"countersign/temporal"
)

// sender creates a console user with their own notification settings.
func (w *scenario) sender(name string, choose func(*models.NotificationSettings)) *models.ConsoleUser {
	w.t.Helper()
	u, err := w.store.CreateUser(w.t.Context(), w.appID, name+"@staff.example", name, "correct horse battery", models.RoleSender)
	require.NoError(w.t, err)
	_, err = w.store.ChangeNotifications(w.t.Context(), u.ID, func(n *models.NotificationSettings) error { choose(n); return nil })
	require.NoError(w.t, err)
	return u
}

// sendFor sends an envelope to two signers on behalf of a console user.
func (w *scenario) sendFor(u *models.ConsoleUser) *envelope {
	w.t.Helper()
	e, err := w.draft(2)
	require.NoError(w.t, err)
	w.exec("UPDATE envelopes SET owner_id = $1 WHERE id = $2", u.ID, e.id)
	require.NoError(w.t, w.sendDraft(e))
	return e
}

func (e *envelope) mustSign(i int) {
	e.w.t.Helper()
	require.NoError(e.w.t, e.consent(i))
	a, err := e.sign(i)
	require.NoError(e.w.t, err)
	require.Equal(e.w.t, 200, a.status, "%s", a.body)
}

func (e *envelope) address(i int) string {
	e.w.t.Helper()
	a, err := e.w.client.do(http.MethodGet, "/v1/envelopes/"+e.id, "", nil)
	require.NoError(e.w.t, err)
	var found struct{ Signers []struct{ Email string } }
	require.NoError(e.w.t, json.Unmarshal(a.body, &found))
	return found.Signers[i].Email
}

// received returns the number of times that each email to a user arrived, by Message-ID.
func (w *scenario) received(u *models.ConsoleUser) map[string]int {
	out := make(map[string]int)
	for _, m := range w.inbox.List(inbox.Filter{To: u.Email, Limit: 1000}) {
		out[m.MessageID]++
	}
	return out
}

// invited waits until all signers have been invited, so that the next emails are notifications.
func (w *scenario) invited() {
	w.t.Helper()
	eventually(w.t, func() bool {
		return w.invitations() == w.count("SELECT count(*) FROM signers")
	}, "not all signers were invited")
}

// notified waits until every notification has been sent or dropped.
func (w *scenario) notified() {
	w.t.Helper()
	eventually(w.t, func() bool {
		return w.count("SELECT count(*) FROM mails WHERE kind = 'notification' AND sent_at IS NULL") == 0 && w.count("SELECT count(*) FROM outbox") == 0
	}, "a notification was not sent")
}

// digestsDue makes the user's digest due, and runs the "cleanup" schedule until done returns true.
func (w *scenario) digestsDue(c sdkclient.Client, u *models.ConsoleUser, what string, done func() bool) {
	w.t.Helper()
	w.exec("UPDATE console_notifications SET digest_at = $1 WHERE user_id = $2", clock().Add(-time.Second), u.ID)
	eventually(w.t, func() bool {
		exists, _, err := temporal.ScheduleState(w.t.Context(), c, temporal.ScheduleCleanup)
		return err == nil && exists
	}, "the schedule was not created")
	w.scheduled(c, temporal.ScheduleCleanup, what, done)
}

// TestKillWhileNotifying kills the worker between sending and recording a notification or a digest, and before it sends
// pending ones. It checks that each sender receives the notifications that they requested, and that only an interrupted
// email may arrive twice, with the same Message-ID.
func TestKillWhileNotifying(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.api()
		w.login()
		each := w.sender("each", func(n *models.NotificationSettings) { n.Signed = true })
		daily := w.sender("daily", func(n *models.NotificationSettings) { n.Frequency, n.Signed = models.NotifyDaily, true })
		never := w.sender("never", func(n *models.NotificationSettings) { n.Frequency = models.NotifyNever })
		leaves := w.sender("leaves", func(n *models.NotificationSettings) { n.Signed = true })
		worker := w.worker()
		for _, u := range []*models.ConsoleUser{each, each, daily, daily, never, leaves} {
			w.sendFor(u)
		}
		w.invited()

		w.set("mail.sent", "kill")
		first := w.envelopes[rnd.IntN(2)]
		first.mustSign(0)
		worker.waitDead()
		w.cutOff++
		assert.Len(t, w.received(each), 1)
		for _, e := range w.envelopes {
			if e != first {
				e.mustSign(0)
			}
		}
		w.smtp.stop()
		worker.start()
		eventually(t, func() bool {
			return w.count("SELECT count(*) FROM mails WHERE kind = 'notification' AND attempts > 0 AND sent_at IS NULL AND error <> ''") > 0
		}, "no attempt to send a notification was recorded")
		_, err := w.store.ChangeNotifications(t.Context(), leaves.ID, func(n *models.NotificationSettings) error {
			n.Frequency = models.NotifyNever
			return nil
		})
		require.NoError(t, err)
		worker.kill()
		w.smtp.start()
		worker.start()
		w.notified()
		for _, e := range w.envelopes {
			e.mustSign(1)
		}
		w.check()
		w.notified()
		assert.Len(t, w.received(each), 4, "one email for each first signature and each completed envelope")
		assert.Empty(t, w.received(daily), "the summary is not due yet")

		c := w.temporalClient()
		w.set("mail.sent", "kill")
		w.digestsDue(c, daily, "the summary was not requested", func() bool { return w.running(c, temporal.WorkflowDigest) == 1 })
		worker.waitDead()
		w.cutOff++
		worker.start()
		eventually(t, func() bool { return w.count("SELECT count(*) FROM console_digest_items") == 0 }, "the summary was not sent")
		assert.Len(t, w.received(daily), 1)
		assert.Empty(t, w.received(never))
		assert.Empty(t, w.received(leaves), "the user disabled notifications while the emails were pending")
		w.checkMails()
	})
}

// TestRequestedEmailsAreLost removes the workflows of requested emails, as if Temporal had lost its data. It checks
// that the "reconcile" schedule restarts them, that the next digest replaces a lost one, and that each email arrives
// once.
func TestRequestedEmailsAreLost(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, rnd *rand.Rand) {
		w := newScenario(t, setting{})
		w.api()
		w.login()
		each := w.sender("each", func(n *models.NotificationSettings) { n.Signed = true })
		daily := w.sender("daily", func(n *models.NotificationSettings) { n.Frequency, n.Signed = models.NotifyDaily, true })
		worker := w.worker()
		begun, unseen, digest := w.sendFor(each), w.sendFor(each), w.sendFor(daily)
		completed, err := w.send(1)
		require.NoError(t, err)
		w.invited()
		completed.mustSign(0)
		eventually(t, func() bool {
			return w.count("SELECT count(*) FROM mails WHERE kind = 'completed' AND sent_at IS NOT NULL") == 1
		}, "the copies were not sent")
		c := w.temporalClient()
		digest.mustSign(0)
		w.smtp.stop()
		begun.mustSign(0)
		eventually(t, func() bool {
			return w.count("SELECT count(*) FROM mails WHERE kind = 'notification' AND attempts > 0 AND error <> ''") == 1
		}, "no attempt to send the notification was recorded")
		w.digestsDue(c, daily, "the summary was not requested", func() bool { return w.running(c, temporal.WorkflowDigest) == 1 })
		worker.kill()
		unseen.mustSign(0)
		require.NoError(t, w.client.post("/v1/envelopes/"+unseen.id+"/signers/"+unseen.signers[1].id+"/remind", object{}, http.StatusAccepted, nil))
		require.NoError(t, w.client.post("/v1/envelopes/"+completed.id+"/copies", object{"email": completed.address(0)}, http.StatusAccepted, nil))
		eventually(t, func() bool {
			return w.running(c, temporal.WorkflowNotification) == 2 && w.running(c, temporal.WorkflowReinvite) == 1 && w.running(c, temporal.WorkflowCopies) == 1
		}, "the emails were not requested")

		lost := []string{temporal.DigestWorkflowID(daily.ID)}
		workflowID := map[models.MailKind]func(uuid.UUID) string{
			models.MailNotification: temporal.NotificationWorkflowID, models.MailReminder: temporal.ReinviteWorkflowID, models.MailCompleted: temporal.CopiesWorkflowID,
		}
		rows, err := w.db.Query(t.Context(), "SELECT kind, request_id::text FROM mails WHERE request_id IS NOT NULL AND sent_at IS NULL")
		require.NoError(t, err)
		for rows.Next() {
			var kind models.MailKind
			var id string
			require.NoError(t, rows.Scan(&kind, &id))
			lost = append(lost, workflowID[kind](uuid.MustParse(id)))
		}
		require.NoError(t, rows.Err())
		require.Len(t, lost, 5)
		for _, id := range lost {
			if rnd.IntN(2) == 0 {
				require.NoError(t, c.TerminateWorkflow(t.Context(), id, "", "a mistake"))
				continue
			}
			_, err := c.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: w.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
			})
			require.NoError(t, err)
		}
		eventually(t, func() bool {
			return w.running(c, temporal.WorkflowNotification)+w.running(c, temporal.WorkflowDigest)+w.running(c, temporal.WorkflowReinvite)+w.running(c, temporal.WorkflowCopies) == 0
		}, "the workflows were not removed")

		w.smtp.start()
		worker.start()
		w.reconciled(c, "the requested emails were not sent", func() bool {
			return w.count("SELECT count(*) FROM mails WHERE request_id IS NOT NULL AND sent_at IS NULL") == 0
		})
		assert.Len(t, w.received(each), 2)
		assert.Equal(t, 1, w.count("SELECT count(*) FROM mails WHERE kind = 'reminder' AND sent_at IS NOT NULL"))
		assert.Equal(t, 2, w.count("SELECT count(*) FROM mails WHERE kind = 'completed' AND sent_at IS NOT NULL AND envelope_id = $1", completed.id))
		w.digestsDue(c, daily, "the next summary did not include the content of the lost one", func() bool {
			return w.count("SELECT count(*) FROM console_digest_items") == 0
		})
		w.notified()
		for _, u := range []*models.ConsoleUser{each, daily} {
			for id, times := range w.received(u) {
				assert.Equal(t, 1, times, "email %s", id)
			}
		}
		assert.Len(t, w.received(daily), 1)
		w.check()
	})
}
