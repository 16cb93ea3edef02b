package activities_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"countersign/activities"
	"countersign/internal/credential"
	"countersign/internal/limit"
	"countersign/models"
	"countersign/notify"
	"countersign/seal"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/test/kit"
	"countersign/webhook"
)

// fakeMailer is a mail server with configurable failures.
type fakeMailer struct {
	mu    sync.Mutex
	mails []notify.Mail
	fail  error
	after error // returned even though the email is accepted
	// reject is an address that the server permanently rejects.
	reject string
	// deferred is an address that the server temporarily rejects.
	deferred string
	// lastAttempts records, for each email to the deferred address, whether it was the last attempt.
	lastAttempts []bool
	// rejectAttachments makes the server reject emails with attachments because of their size.
	rejectAttachments bool
	// onSend, if not nil, is called while the email is sent.
	onSend func()
	// limits contains the timeout of each attempt.
	limits []time.Duration
}

func (p *fakeMailer) Send(ctx context.Context, m notify.Mail) error {
	if p.onSend != nil {
		p.onSend()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if end, ok := ctx.Deadline(); ok {
		p.limits = append(p.limits, time.Until(end))
	}
	if p.fail != nil {
		return p.fail
	}
	if p.deferred != "" && m.To.Email == p.deferred {
		p.lastAttempts = append(p.lastAttempts, m.LastAttempt)
		return &notify.RejectedError{Err: errors.New("451 later")}
	}
	if p.reject != "" && m.To.Email == p.reject {
		return &notify.PermanentError{Err: errors.New("550 no such user")}
	}
	if p.rejectAttachments && len(m.Attachments) > 0 {
		return &notify.TooLargeError{Err: &notify.PermanentError{Err: errors.New("552 too large")}}
	}
	p.mails = append(p.mails, m)
	return p.after
}

func (*fakeMailer) MessageID(parts ...string) string {
	return strings.Join(parts, "-") + "@example.com"
}

// fakeSealer is a sealer that writes a different file on each call.
type fakeSealer struct {
	mu   sync.Mutex
	n    int
	fail error
	last seal.Job
	jobs []seal.Job
	// onSeal, if not nil, is called while a document is sealed.
	onSeal   func()
	pending  bool   // documents are sealed without a time-stamp
	renewing func() // if not nil, called while a time-stamp is requested from the authority
}

func (s *fakeSealer) Renew(context.Context, io.ReaderAt, int64, *os.File) (seal.Result, error) {
	if s.renewing != nil {
		s.renewing()
	}
	return seal.Result{}, errors.New("renewal is not simulated")
}

func (s *fakeSealer) Seal(_ context.Context, out *os.File, job seal.Job) (seal.Result, error) {
	if s.onSeal != nil {
		s.onSeal()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return seal.Result{}, s.fail
	}
	s.n++
	s.last, s.jobs = job, append(s.jobs, job)
	text := fmt.Sprintf("sealed %s, run %d, %d values, %d events", job.Document.ID, s.n, len(job.Values), len(job.Events))
	if _, err := io.WriteString(out, text); err != nil {
		return seal.Result{}, err
	}
	sum := sha256.Sum256([]byte(text))
	return seal.Result{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text)), PageCount: 2, Pending: s.pending}, nil
}

// fakeEndpoint responds to deliveries with prepared results.
type fakeEndpoint struct{ results []webhook.Result }

func (e *fakeEndpoint) Deliver(context.Context, webhook.Request) webhook.Result {
	r := e.results[0]
	e.results = e.results[1:]
	return r
}

type fakeEnv struct {
	*activities.Activities

	t      *testing.T
	clock  *kit.Clock
	app    *models.App
	mails  *fakeMailer
	sealer *fakeSealer
	env    *testsuite.TestActivityEnvironment
}

func onBothDatabases(t *testing.T, test func(*fakeEnv)) {
	t.Helper()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		keys, err := s.Keys(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		tokens, err := credential.NewTokens(keys, clock.Now)
		require.NoError(t, err)
		blobs, err := blob.OpenDir(t.TempDir())
		require.NoError(t, err)
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		env := &fakeEnv{t: t, clock: clock, app: app, mails: &fakeMailer{}, sealer: &fakeSealer{}}
		env.Activities = &activities.Activities{
			Store: s, Blobs: blobs, Tokens: tokens, Mail: env.mails, Sealer: env.sealer, Webhooks: &fakeEndpoint{}, BaseURL: "https://example.com",
			SigningURL: "https://example.com/sign", AttachmentLimit: 1000, ReminderInterval: 72 * time.Hour, Now: clock.Now, NewID: newID, BulkThrottle: &activities.BulkThrottle{},
		}
		var suite testsuite.WorkflowTestSuite
		env.env = suite.NewTestActivityEnvironment()
		env.env.RegisterActivity(env.Activities)
		test(env)
	})
}

// Invite invites one recipient, as the Reinvite workflow does. A rejected address is not an error.
func (env *fakeEnv) Invite(ctx context.Context, in temporal.InviteInput) error {
	err := env.Activities.Invite(ctx, activities.InviteInput{EnvelopeInput: in.EnvelopeInput, SignerIDs: []uuid.UUID{in.SignerID}, LinkID: in.LinkID, Reminder: in.Reminder})
	if failed, ok := errors.AsType[*sdktemporal.ApplicationError](err); ok && failed.Type() == activities.ErrTypeRejected {
		return nil
	}
	return err
}

// seal seals an envelope without sending its copies, and returns its final status.
func (env *fakeEnv) seal(ctx context.Context, in temporal.EnvelopeInput) (models.Status, error) {
	a := *env.Activities
	a.CopyLimit = limit.New(0) // no capacity
	sealed, err := a.Seal(ctx, in)
	return sealed.Status, err
}

func (env *fakeEnv) act() models.ActionContext {
	return models.ActionContext{At: env.clock.Now(), Actor: models.ActorSystem, NewID: newID}
}

// emptyHash is the SHA-256 hash of an empty file.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sent stores a sent envelope that has two documents and awaits signers with the given addresses.
func (env *fakeEnv) sent(emails ...string) (*models.Envelope, temporal.EnvelopeInput) {
	env.t.Helper()
	return env.sentInOrder(func(int) int { return 1 }, emails...)
}

// sentInOrder is like sent, but each signer's routing group is the result of group.
func (env *fakeEnv) sentInOrder(group func(i int) int, emails ...string) (*models.Envelope, temporal.EnvelopeInput) {
	env.t.Helper()
	e := env.prepared(group, emails...)
	require.NoError(env.t, e.Send(env.act(), nil))
	require.NoError(env.t, env.Store.Create(env.t.Context(), e))
	return e, temporal.EnvelopeInput{AppID: env.app.ID, EnvelopeID: e.ID}
}

// prepared returns an envelope that can be sent, without storing it.
func (env *fakeEnv) prepared(group func(i int) int, emails ...string) *models.Envelope {
	env.t.Helper()
	act, days := env.act(), 30
	e, err := models.NewEnvelope(act, models.Envelope{AppID: env.app.ID, TenantID: "t", CreatedBy: "me", ExpiresInDays: &days})
	require.NoError(env.t, err)
	for i := range 2 {
		key := fmt.Sprintf("envelopes/%s/original/%d.pdf", e.ID, i)
		f, err := env.Blobs.Temp()
		require.NoError(env.t, err)
		require.NoError(env.t, env.Blobs.Put(env.t.Context(), f, key))
		blob.Discard(f)
		_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{
			SHA256: emptyHash, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key,
		}}, 2)
		require.NoError(env.t, err)
	}
	for i, email := range emails {
		s, err := e.AddSigner(act, models.SignerInput{Name: "Name", Email: email, RoutingOrder: group(i), AuthMethod: models.AuthNone})
		require.NoError(env.t, err)
		_, err = e.AddFields(act, []models.FieldInput{{
			SignerRef: s.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 9, H: 9, Required: true, Origin: models.OriginTopLeft,
		}}, models.NoPrefix)
		require.NoError(env.t, err)
	}
	return e
}

func (env *fakeEnv) change(e *models.Envelope, fn func(*models.Envelope) error) {
	env.t.Helper()
	_, err := env.Store.Change(env.t.Context(), env.app.ID, e.ID, fn)
	require.NoError(env.t, err)
}

func (env *fakeEnv) signAll(e *models.Envelope) {
	env.t.Helper()
	value := "yes"
	for i, s := range e.Signers {
		l := models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Consent(env.act(), l, new(models.Signer).Disclosure("en"))
			return err
		})
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Sign(env.act(), l, models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[i].ID, Text: &value}}})
			return err
		})
	}
}

func (env *fakeEnv) sealed(in temporal.EnvelopeInput) {
	env.t.Helper()
	status, err := env.seal(env.t.Context(), in)
	assert.True(env.t, err == nil && status == models.StatusCompleted, "%s: %v", status, err)
}

// completed stores a completed envelope, using the methods sent, signAll and sealed.
func (env *fakeEnv) completed(emails ...string) (*models.Envelope, temporal.EnvelopeInput) {
	env.t.Helper()
	e, in := env.sent(emails...)
	env.signAll(e)
	env.sealed(in)
	return e, in
}

// retained is like completed, but the app has a retention period.
func (env *fakeEnv) retained(days int, emails ...string) (*models.Envelope, temporal.EnvelopeInput) {
	env.t.Helper()
	require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, RetentionDays: &days}))
	return env.completed(emails...)
}

func (env *fakeEnv) events(e *models.Envelope, name models.EventName) (n int) {
	env.t.Helper()
	_, log, err := env.Store.EnvelopeWithEvents(env.t.Context(), env.app.ID, e.ID)
	require.NoError(env.t, err)
	for i := range log {
		if log[i].Name == name {
			n++
		}
	}
	return n
}

func TestInvite_SendsOnce(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		invite := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		ctx := env.t.Context()

		env.mails.fail = errors.New("connection refused")
		require.Error(env.t, env.Invite(ctx, invite), "tried again")
		env.mails.fail, env.mails.after = nil, errors.New("connection lost after DATA")
		require.Error(env.t, env.Invite(ctx, invite))
		env.mails.after = nil
		require.NoError(env.t, env.Invite(ctx, invite))
		require.NoError(env.t, env.Invite(ctx, invite), "an activity may be repeated")
		require.Len(env.t, env.mails.mails, 2, "exactly one additional email, for the ambiguous failure")
		assert.Equal(env.t, env.mails.mails[0].MessageID, env.mails.mails[1].MessageID)
		assert.Equal(env.t, 1, env.events(e, models.EventInvitationSent))
		assert.Contains(env.t, env.mails.mails[0].Text, "https://example.com/sign/")
	})
}

func TestInvite_RejectedAddress(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		invite := temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		env.mails.fail = &notify.PermanentError{Err: errors.New("mailbox unavailable")}
		require.NoError(env.t, env.Invite(env.t.Context(), invite), "a retry would not help")
		require.NoError(env.t, env.Invite(env.t.Context(), invite))
		assert.Equal(env.t, 1, env.events(e, models.EventInvitationFailed))
		assert.Zero(env.t, env.events(e, models.EventInvitationSent))
	})
}

func TestInvite_NoSignerAwaited(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
		require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		env.clock.Add(env.ReminderInterval)
		env.reminded(in)
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		assert.Empty(env.t, env.mails.mails)
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		require.Len(env.t, env.mails.mails, 1)
		assert.Contains(env.t, env.mails.mails[0].Subject, "Canceled")
	})
}

// reminded sends the due reminders, and returns the time at which the next one is due.
func (env *fakeEnv) reminded(in temporal.EnvelopeInput) *time.Time {
	env.t.Helper()
	next, err := env.Remind(env.t.Context(), in)
	require.NoError(env.t, err)
	return next
}

func TestRemind(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com", "b@example.com")
		first := env.reminded(in)
		assert.Empty(env.t, env.mails.mails, "no reminder is due")
		assert.Equal(env.t, e.SentAt.Add(env.ReminderInterval), *first)
		env.clock.Add(env.ReminderInterval)
		env.reminded(in)
		second := env.reminded(in)
		assert.Len(env.t, env.mails.mails, 2, "each signer receives one reminder per round")
		assert.Equal(env.t, env.clock.Now().Add(env.ReminderInterval), *second)
		env.clock.Add(env.ReminderInterval)
		env.reminded(in)
		assert.Len(env.t, env.mails.mails, 4)
		assert.Equal(env.t, 4, env.events(e, models.EventReminderSent))
		assert.Equal(env.t, env.Mail.MessageID("reminder", e.Signers[0].ID.String(), "1"), env.mails.mails[0].MessageID)
		assert.Equal(env.t, env.Mail.MessageID("reminder", e.Signers[1].ID.String(), "2"), env.mails.mails[3].MessageID)
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Replace(env.act(), e.Signers[0].ID, models.Replacement{Name: "Grace", Email: "grace@example.com"})
			return err
		})
		env.clock.Add(env.ReminderInterval)
		env.reminded(in)
		var toGrace []string
		for _, m := range env.mails.mails {
			if m.To.Email == "grace@example.com" {
				toGrace = append(toGrace, m.MessageID)
			}
		}
		assert.Equal(env.t, []string{env.Mail.MessageID("reminder", e.Signers[0].ID.String(), "3", "2")}, toGrace, "the third round, and the second person")
	})
}

// TestRemind_RepeatsUncertainEmail checks that a reminder whose outcome is unknown is sent again as the same email.
func TestRemind_RepeatsUncertainEmail(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		_, in := env.sent("a@example.com", "b@example.com")
		env.clock.Add(env.ReminderInterval)
		env.mails.after = errors.New("connection lost after DATA")
		_, err := env.Remind(env.t.Context(), in)
		require.Error(env.t, err)
		env.mails.after, env.mails.reject = nil, "b@example.com"
		env.clock.Add(2 * time.Hour)
		next := env.reminded(in)
		require.Len(env.t, env.mails.mails, 3)
		assert.Equal(env.t, env.mails.mails[0].MessageID, env.mails.mails[2].MessageID)
		assert.Equal(env.t, env.clock.Now().Add(env.ReminderInterval), *next, "sent emails and permanent failures are counted")
		env.mails.reject = ""
		env.clock.Add(env.ReminderInterval)
		env.reminded(in)
		require.Len(env.t, env.mails.mails, 5)
		assert.NotEqual(env.t, env.mails.mails[2].MessageID, env.mails.mails[3].MessageID)
	})
}

// TestRemind_IntervalBeginsWithInvitation checks that each signer's reminder interval begins with that signer's own
// invitation, regardless of the other invitations.
func TestRemind_IntervalBeginsWithInvitation(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sentInOrder(func(i int) int { return i + 1 }, "a@example.com", "b@example.com")
		env.clock.Add(env.ReminderInterval - 2*time.Hour)
		l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}
		value := "yes"
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Consent(env.act(), l, new(models.Signer).Disclosure("en"))
			return err
		})
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Sign(env.act(), l, models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Text: &value}}})
			return err
		})
		plan, err := env.LoadPlan(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, env.clock.Now().Add(env.ReminderInterval), *plan.RemindAt)
		assert.Equal(env.t, env.clock.Now(), plan.Since)
		env.clock.Add(2 * time.Hour)
		env.reminded(in)
		assert.Empty(env.t, env.mails.mails, "the signers were reminded two hours ago")
	})
}

// TestRemind_RenewsLinkBeforeItExpires checks that a reminder contains a new link if the current link would expire
// before the next reminder.
func TestRemind_RenewsLinkBeforeItExpires(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		const day = 24 * time.Hour
		ctx, weekly := env.t.Context(), 24*7
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app.ID, ReminderIntervalHours: &weekly}))
		e, in := env.sent("a@example.com", "b@example.com")
		env.change(e, func(e *models.Envelope) error { // remove the deadline
			e.ExpiresAt = nil
			for _, s := range e.Signers {
				until := s.LinkIssuedAt.Add(models.LinkLifetime)
				s.LinkExpiresAt = &until
			}
			return nil
		})
		plan, err := env.LoadPlan(ctx, in)
		require.NoError(env.t, err)
		require.NotNil(env.t, plan.RenewAt)
		links := func() (out []uuid.UUID) {
			got, err := env.Store.Envelope(ctx, env.app.ID, e.ID)
			require.NoError(env.t, err)
			for _, s := range got.Signers {
				out = append(out, *s.LinkID)
			}
			return out
		}
		first := links()
		for round := 1; round <= 3; round++ { // days 7, 14 and 21; the link expires on day 30
			env.clock.Add(7 * day)
			if round == 3 {
				break
			}
			env.reminded(in)
			require.Equal(env.t, first, links(), "day %d", 7*round)
		}
		env.reminded(in)
		second := links()
		require.NotEqual(env.t, first[0], second[0], "the next reminder is due after the link renewal")
		env.reminded(in)
		require.Equal(env.t, second, links(), "the emailed link stays valid if the activity is repeated")

		next, err := env.RenewLinks(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, second, links(), "no reminder is due")
		require.WithinDuration(env.t, env.clock.Now().Add(27*day), *next, time.Minute)
		env.clock.Add(27*day + time.Hour)
		next, err = env.RenewLinks(ctx, in)
		require.NoError(env.t, err)
		third := links()
		require.NotEqual(env.t, second[0], third[0])
		require.NotEqual(env.t, second[1], third[1])
		require.WithinDuration(env.t, env.clock.Now().Add(27*day), *next, time.Minute)
		assert.Equal(env.t, 2, env.events(e, models.EventLinkRenewed), "each signer is invited again")
		_, err = env.RenewLinks(ctx, in)
		require.NoError(env.t, err)
		require.Equal(env.t, third, links(), "an activity may be repeated")
	})
}

// TestRenewLinks_NotBeforeTheDeadline checks that links that expire at the envelope's deadline are not renewed.
func TestRenewLinks_NotBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	until, later := at.AddDate(0, 0, 20), at.AddDate(0, 0, 31)
	link := at.Add(models.LinkLifetime)
	s := &models.Signer{Status: models.SignerSent, LinkExpiresAt: &until}
	e := &models.Envelope{Status: models.StatusSent, ExpiresAt: &until, Signers: []*models.Signer{s}}
	require.Nil(t, e.NextRenewal())
	s.LinkExpiresAt, e.ExpiresAt = &link, &later
	require.Equal(t, link.Add(-models.RenewBefore), *e.NextRenewal())
	s.Status = models.SignerSigned
	require.Nil(t, e.NextRenewal())
	s.Status, e.Status = models.SignerViewed, models.StatusVoided
	require.Nil(t, e.NextRenewal())
}

func TestSeal_Once(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		_, err := env.env.ExecuteActivity(env.Seal, in)
		var rejected *sdktemporal.ApplicationError
		require.ErrorAs(env.t, err, &rejected)
		assert.True(env.t, rejected.NonRetryable(), "not everyone has signed")
		env.signAll(e)
		env.sealer.fail = errors.New("time-stamp authority is down")
		_, err = env.env.ExecuteActivity(env.Seal, in)
		require.Error(env.t, err)
		env.sealer.fail = nil

		// Seal twice concurrently, as happens if Temporal wrongly considers a worker dead.
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { env.sealed(in) })
		}
		wg.Wait()
		env.sealed(in)

		got, err := env.Store.Envelope(env.t.Context(), env.app.ID, e.ID)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusCompleted, got.Status)
		require.Len(env.t, got.Sealed(), 2)
		assert.Equal(env.t, 2, env.events(e, models.EventDocumentSealed))
		for _, d := range got.Sealed() {
			f, err := env.Blobs.Open(env.t.Context(), d.BlobKey)
			require.NoError(env.t, err)
			b, err := io.ReadAll(f)
			require.NoError(env.t, err)
			require.NoError(env.t, f.Close())
			sum := sha256.Sum256(b)
			assert.Equal(env.t, d.SHA256, hex.EncodeToString(sum[:]), "the stored file must match the record")
		}
		keys, err := env.Blobs.List(env.t.Context(), "envelopes/"+e.ID.String()+"/sealed/")
		require.NoError(env.t, err)
		assert.Len(env.t, keys, 2, "files of the other run are removed")
	})
}

func TestCopies(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.completed("a@example.com", "A@Example.com", "b@example.com")
		got, err := env.Store.Envelope(env.t.Context(), env.app.ID, e.ID)
		require.NoError(env.t, err)
		total := got.Sealed()[0].Size + got.Sealed()[1].Size

		env.AttachmentLimit = total
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		require.Len(env.t, env.mails.mails, 2, "an address shared by two signers receives one email")
		assert.Len(env.t, env.mails.mails[0].Attachments, 2, "at the limit")
		assert.NotContains(env.t, env.mails.mails[0].Text, "/download/")
	})
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.completed("a@example.com")
		got, err := env.Store.Envelope(env.t.Context(), env.app.ID, e.ID)
		require.NoError(env.t, err)
		env.AttachmentLimit = got.Sealed()[0].Size + got.Sealed()[1].Size - 1
		require.NoError(env.t, env.SendCopies(env.t.Context(), in))
		require.Len(env.t, env.mails.mails, 1)
		assert.Empty(env.t, env.mails.mails[0].Attachments, "one byte above the limit")
		assert.Equal(env.t, 2, strings.Count(env.mails.mails[0].Text, "https://example.com/download/"), "one link per document")
	})
}

func TestExpire_WithConcurrentSignature(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		e, in := env.sent("a@example.com")
		status, err := env.Expire(env.t.Context(), in)
		require.NoError(env.t, err)
		assert.Equal(env.t, models.StatusSent, status, "not due")
		env.clock.Add(31 * 24 * time.Hour)
		for range 2 {
			status, err = env.Expire(env.t.Context(), in)
			require.NoError(env.t, err)
			assert.Equal(env.t, models.StatusExpired, status)
		}
		assert.Equal(env.t, 1, env.events(e, models.EventEnvelopeExpired))
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		require.Len(env.t, env.mails.mails, 1)
		assert.Contains(env.t, env.mails.mails[0].Subject, "Expired")
	})
}

// newID returns a UUID that begins with the time, like the IDs that the service generates.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
