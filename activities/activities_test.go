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
	"countersign/internal/testkit"
	"countersign/models"
	"countersign/notify"
	"countersign/seal"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/webhook"
)

// post is a mail server that can fail.
type post struct {
	mu    sync.Mutex
	mails []notify.Mail
	fail  error
	after error // the mail is taken, and yet an error comes back
	// refuse is an address that is refused for good.
	refuse string
}

func (p *post) Send(_ context.Context, m notify.Mail) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return p.fail
	}
	if p.refuse != "" && m.To.Email == p.refuse {
		return &notify.Permanent{Err: errors.New("550 no such user")}
	}
	p.mails = append(p.mails, m)
	return p.after
}

func (*post) MessageID(parts ...string) string { return strings.Join(parts, "-") + "@example.com" }

// stamp is a sealer that writes a file of its own each time.
type stamp struct {
	mu   sync.Mutex
	n    int
	fail error
	last seal.Job
}

func (s *stamp) Renew(context.Context, io.ReaderAt, int64, *os.File) (seal.Result, error) {
	return seal.Result{}, errors.New("not renewed here")
}

func (s *stamp) Seal(_ context.Context, out *os.File, job seal.Job) (seal.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return seal.Result{}, s.fail
	}
	s.n++
	s.last = job
	text := fmt.Sprintf("sealed %s, run %d, %d values, %d events", job.Document.ID, s.n, len(job.Values), len(job.Events))
	if _, err := io.WriteString(out, text); err != nil {
		return seal.Result{}, err
	}
	sum := sha256.Sum256([]byte(text))
	return seal.Result{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text)), PageCount: 2}, nil
}

// endpoint answers deliveries.
type endpoint struct{ results []webhook.Result }

func (e *endpoint) Deliver(context.Context, webhook.Request) webhook.Result {
	r := e.results[0]
	e.results = e.results[1:]
	return r
}

type house struct {
	*activities.Activities

	t     *testing.T
	clock *testkit.Clock
	app   *models.App
	post  *post
	stamp *stamp
	env   *testsuite.TestActivityEnvironment
}

func onBoth(t *testing.T, test func(*house)) {
	t.Helper()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		keys, err := s.Keys(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		tokens, err := credential.NewTokens(keys, clock.Now)
		require.NoError(t, err)
		blobs, err := blob.OpenDir(t.TempDir())
		require.NoError(t, err)
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		h := &house{t: t, clock: clock, app: app, post: &post{}, stamp: &stamp{}}
		h.Activities = &activities.Activities{
			Store: s, Blobs: blobs, Tokens: tokens, Mail: h.post, Sealer: h.stamp, Webhooks: &endpoint{}, BaseURL: "https://example.com",
			SigningURL: "https://example.com/sign", AttachmentLimit: 1000, ReminderInterval: 72 * time.Hour, Now: clock.Now, NewID: uuid.New,
		}
		var suite testsuite.WorkflowTestSuite
		h.env = suite.NewTestActivityEnvironment()
		h.env.RegisterActivity(h.Activities)
		test(h)
	})
}

func (h *house) act() models.Act {
	return models.Act{At: h.clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}
}

// emptyHash is the SHA-256 of a file without content.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sent stores an envelope with two documents that waits for signers with these addresses.
func (h *house) sent(emails ...string) (*models.Envelope, temporal.EnvelopeInput) {
	h.t.Helper()
	return h.sentInTurn(func(int) int { return 1 }, emails...)
}

// sentInTurn is sent for signers of whom each has a routing group.
func (h *house) sentInTurn(group func(i int) int, emails ...string) (*models.Envelope, temporal.EnvelopeInput) {
	h.t.Helper()
	act, days := h.act(), 30
	e, err := models.NewEnvelope(act, models.EnvelopeInput{AppID: h.app.ID, TenantID: "t", CreatedBy: "me", ExpiresInDays: &days})
	require.NoError(h.t, err)
	for i := range 2 {
		key := fmt.Sprintf("envelopes/%s/original/%d.pdf", e.ID, i)
		f, err := h.Blobs.Temp()
		require.NoError(h.t, err)
		require.NoError(h.t, h.Blobs.Keep(h.t.Context(), f, key))
		blob.Discard(f)
		_, err = e.AddDocument(act, models.DocumentInput{
			SHA256: emptyHash, Count: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key,
		}, 2)
		require.NoError(h.t, err)
	}
	for i, email := range emails {
		s, err := e.AddSigner(act, models.SignerInput{Name: "Name", Email: email, RoutingOrder: group(i), AuthMethod: models.AuthNone})
		require.NoError(h.t, err)
		_, err = e.AddFields(act, []models.FieldInput{{
			SignerRef: s.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 9, H: 9, Required: true, Origin: models.OriginTopLeft,
		}}, models.NoPath)
		require.NoError(h.t, err)
	}
	require.NoError(h.t, e.Send(act, nil))
	require.NoError(h.t, h.Store.Create(h.t.Context(), e))
	return e, temporal.EnvelopeInput{AppID: h.app.ID, EnvelopeID: e.ID}
}

func (h *house) change(e *models.Envelope, fn func(*models.Envelope) error) {
	h.t.Helper()
	_, err := h.Store.Change(h.t.Context(), h.app.ID, e.ID, fn)
	require.NoError(h.t, err)
}

// signAll lets everyone sign.
func (h *house) signAll(e *models.Envelope) {
	h.t.Helper()
	value := "yes"
	for i, s := range e.Signers {
		l := models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}
		h.change(e, func(e *models.Envelope) error { _, err := e.Consent(h.act(), l, models.DisclosureIn("en")); return err })
		h.change(e, func(e *models.Envelope) error {
			_, err := e.Sign(h.act(), l, models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[i].ID, Text: &value}}})
			return err
		})
	}
}

// sealed lets the documents be sealed.
func (h *house) sealed(in temporal.EnvelopeInput) {
	h.t.Helper()
	status, err := h.Seal(h.t.Context(), in)
	assert.True(h.t, err == nil && status == models.StatusCompleted, "%s: %v", status, err)
}

func (h *house) events(e *models.Envelope, name models.EventName) (n int) {
	h.t.Helper()
	_, log, err := h.Store.EnvelopeWithEvents(h.t.Context(), h.app.ID, e.ID)
	require.NoError(h.t, err)
	for i := range log {
		if log[i].Name == name {
			n++
		}
	}
	return n
}

func TestInviteOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		invite := activities.SignerInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		ctx := h.t.Context()

		h.post.fail = errors.New("connection refused")
		require.Error(h.t, h.Invite(ctx, invite), "tried again")
		h.post.fail, h.post.after = nil, errors.New("connection lost after DATA")
		require.Error(h.t, h.Invite(ctx, invite))
		h.post.after = nil
		require.NoError(h.t, h.Invite(ctx, invite))
		require.NoError(h.t, h.Invite(ctx, invite), "an activity may run again")
		require.Len(h.t, h.post.mails, 2, "one more for the ambiguous failure, and no other")
		assert.Equal(h.t, h.post.mails[0].MessageID, h.post.mails[1].MessageID)
		assert.Equal(h.t, 1, h.events(e, models.EventInvitationSent))
		assert.Contains(h.t, h.post.mails[0].Text, "https://example.com/sign/")
	})
}

func TestInviteARefusedAddress(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		invite := activities.SignerInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}
		h.post.fail = &notify.Permanent{Err: errors.New("mailbox unavailable")}
		require.NoError(h.t, h.Invite(h.t.Context(), invite), "trying again would not help")
		require.NoError(h.t, h.Invite(h.t.Context(), invite))
		assert.Equal(h.t, 1, h.events(e, models.EventInvitationFailed))
		assert.Zero(h.t, h.events(e, models.EventInvitationSent))
	})
}

func TestNobodyIsAskedForNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		h.change(e, func(e *models.Envelope) error { return e.Void(h.act(), nil) })
		require.NoError(h.t, h.Invite(h.t.Context(), activities.SignerInput{EnvelopeInput: in, SignerID: e.Signers[0].ID}))
		h.clock.Add(h.ReminderInterval)
		h.reminded(in)
		require.NoError(h.t, h.SendCopies(h.t.Context(), in))
		assert.Empty(h.t, h.post.mails)
		require.NoError(h.t, h.SendClosing(h.t.Context(), in))
		require.NoError(h.t, h.SendClosing(h.t.Context(), in))
		assert.Len(h.t, h.post.mails, 1)
	})
}

// reminded sends the reminders that are due, and returns when the next one is.
func (h *house) reminded(in temporal.EnvelopeInput) *time.Time {
	h.t.Helper()
	next, err := h.Remind(h.t.Context(), in)
	require.NoError(h.t, err)
	return next
}

func TestRemind(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com", "b@example.com")
		first := h.reminded(in)
		assert.Empty(h.t, h.post.mails, "nothing is due")
		assert.Equal(h.t, e.SentAt.Add(h.ReminderInterval), *first)
		h.clock.Add(h.ReminderInterval)
		h.reminded(in)
		second := h.reminded(in)
		assert.Len(h.t, h.post.mails, 2, "each once a round")
		assert.Equal(h.t, h.clock.Now().Add(h.ReminderInterval), *second)
		h.clock.Add(h.ReminderInterval)
		h.reminded(in)
		assert.Len(h.t, h.post.mails, 4)
		assert.Equal(h.t, 4, h.events(e, models.EventReminderSent))
	})
}

// TestAReminderThatMayHaveGoneOut is sent again as the same mail, the next one as
// another, and nobody is asked sooner for it.
func TestAReminderThatMayHaveGoneOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		_, in := h.sent("a@example.com", "b@example.com")
		h.clock.Add(h.ReminderInterval)
		h.post.after = errors.New("connection lost after DATA")
		_, err := h.Remind(h.t.Context(), in)
		require.Error(h.t, err)
		h.post.after, h.post.refuse = nil, "b@example.com"
		h.clock.Add(2 * time.Hour)
		next := h.reminded(in)
		require.Len(h.t, h.post.mails, 3)
		assert.Equal(h.t, h.post.mails[0].MessageID, h.post.mails[2].MessageID)
		assert.Equal(h.t, h.clock.Now().Add(h.ReminderInterval), *next, "by what went out, and what was given up")
		h.post.refuse = ""
		h.clock.Add(h.ReminderInterval)
		h.reminded(in)
		require.Len(h.t, h.post.mails, 5)
		assert.NotEqual(h.t, h.post.mails[2].MessageID, h.post.mails[3].MessageID)
	})
}

// TestARemindedGroupOpensLater: a signer is reminded an interval after they were
// asked, whenever others were.
func TestARemindedGroupOpensLater(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sentInTurn(func(i int) int { return i + 1 }, "a@example.com", "b@example.com")
		h.clock.Add(h.ReminderInterval - 2*time.Hour)
		l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}
		value := "yes"
		h.change(e, func(e *models.Envelope) error { _, err := e.Consent(h.act(), l, models.DisclosureIn("en")); return err })
		h.change(e, func(e *models.Envelope) error {
			_, err := e.Sign(h.act(), l, models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Text: &value}}})
			return err
		})
		plan, err := h.LoadPlan(h.t.Context(), in)
		require.NoError(h.t, err)
		assert.Equal(h.t, h.clock.Now().Add(h.ReminderInterval), *plan.RemindAt)
		assert.Equal(h.t, h.clock.Now(), plan.Since)
		h.clock.Add(2 * time.Hour)
		h.reminded(in)
		assert.Empty(h.t, h.post.mails, "they were asked two hours ago")
	})
}

// TestLinksAreRenewedByTheTenantsSettings: a reminder carries a fresh link
// where the next one, by the tenant's interval, would come too late; without
// reminders the link is replaced by itself.
func TestLinksAreRenewedByTheTenantsSettings(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		const day = 24 * time.Hour
		ctx, weekly := h.t.Context(), 24*7
		require.NoError(h.t, h.Store.SaveSettings(ctx, models.Settings{AppID: h.app.ID, ReminderIntervalHours: &weekly}))
		e, in := h.sent("a@example.com", "b@example.com")
		h.change(e, func(e *models.Envelope) error { // it has no deadline
			e.ExpiresAt = nil
			for _, s := range e.Signers {
				until := s.LinkIssuedAt.Add(models.LinkLifetime)
				s.LinkExpiresAt = &until
			}
			return nil
		})
		plan, err := h.LoadPlan(ctx, in)
		require.NoError(h.t, err)
		require.NotNil(h.t, plan.RenewAt)
		links := func() (out []uuid.UUID) {
			got, err := h.Store.Envelope(ctx, h.app.ID, e.ID)
			require.NoError(h.t, err)
			for _, s := range got.Signers {
				out = append(out, *s.LinkID)
			}
			return out
		}
		first := links()
		for round := 1; round <= 3; round++ { // day 7, 14 and 21: the link ends on day 30
			h.clock.Add(7 * day)
			if round == 3 {
				break
			}
			h.reminded(in)
			require.Equal(h.t, first, links(), "day %d", 7*round)
		}
		h.reminded(in)
		second := links()
		require.NotEqual(h.t, first[0], second[0], "the next reminder would come after the day of renewal")
		h.reminded(in)
		require.Equal(h.t, second, links(), "an activity may run again: the mailed link stays good")

		next, err := h.RenewLinks(ctx, in)
		require.NoError(h.t, err)
		require.Equal(h.t, second, links(), "nothing is due")
		require.WithinDuration(h.t, h.clock.Now().Add(27*day), *next, time.Minute)
		h.clock.Add(27*day + time.Hour)
		next, err = h.RenewLinks(ctx, in)
		require.NoError(h.t, err)
		third := links()
		require.NotEqual(h.t, second[0], third[0])
		require.NotEqual(h.t, second[1], third[1])
		require.WithinDuration(h.t, h.clock.Now().Add(27*day), *next, time.Minute)
		assert.Equal(h.t, 2, h.events(e, models.EventLinkRenewed), "each is invited anew")
		_, err = h.RenewLinks(ctx, in)
		require.NoError(h.t, err)
		require.Equal(h.t, third, links(), "an activity may run again")
	})
}

// TestLinksThatTheDeadlineEndsStay: there is nothing to renew.
func TestLinksThatTheDeadlineEndsStay(t *testing.T) {
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

func TestSealOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		_, err := h.env.ExecuteActivity(h.Seal, in)
		var refused *sdktemporal.ApplicationError
		require.ErrorAs(h.t, err, &refused)
		assert.True(h.t, refused.NonRetryable(), "not everyone has signed")
		h.signAll(e)
		h.stamp.fail = errors.New("time-stamp authority is down")
		_, err = h.env.ExecuteActivity(h.Seal, in)
		require.Error(h.t, err)
		h.stamp.fail = nil

		// Two runs at once, as after a worker that was thought dead.
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { h.sealed(in) })
		}
		wg.Wait()
		h.sealed(in)

		got, err := h.Store.Envelope(h.t.Context(), h.app.ID, e.ID)
		require.NoError(h.t, err)
		assert.Equal(h.t, models.StatusCompleted, got.Status)
		require.Len(h.t, got.Sealed(), 2)
		assert.Equal(h.t, 2, h.events(e, models.EventDocumentSealed))
		for _, d := range got.Sealed() {
			f, err := h.Blobs.Open(h.t.Context(), d.BlobKey)
			require.NoError(h.t, err)
			b, err := io.ReadAll(f)
			require.NoError(h.t, err)
			require.NoError(h.t, f.Close())
			sum := sha256.Sum256(b)
			assert.Equal(h.t, d.SHA256, hex.EncodeToString(sum[:]), "the file is the one that was recorded")
		}
		keys, err := h.Blobs.List(h.t.Context(), "envelopes/"+e.ID.String()+"/sealed/")
		require.NoError(h.t, err)
		assert.Len(h.t, keys, 2, "what the other run left is swept")
	})
}

func TestCopies(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com", "A@Example.com", "b@example.com")
		h.signAll(e)
		h.sealed(in)
		got, err := h.Store.Envelope(h.t.Context(), h.app.ID, e.ID)
		require.NoError(h.t, err)
		total := got.Sealed()[0].Size + got.Sealed()[1].Size

		h.AttachmentLimit = total
		require.NoError(h.t, h.SendCopies(h.t.Context(), in))
		require.NoError(h.t, h.SendCopies(h.t.Context(), in))
		require.Len(h.t, h.post.mails, 2, "an address that two signers share gets one")
		assert.Len(h.t, h.post.mails[0].Attachments, 2, "at the limit")
		assert.NotContains(h.t, h.post.mails[0].Text, "/download/")
	})
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		h.signAll(e)
		h.sealed(in)
		got, err := h.Store.Envelope(h.t.Context(), h.app.ID, e.ID)
		require.NoError(h.t, err)
		h.AttachmentLimit = got.Sealed()[0].Size + got.Sealed()[1].Size - 1
		require.NoError(h.t, h.SendCopies(h.t.Context(), in))
		require.Len(h.t, h.post.mails, 1)
		assert.Empty(h.t, h.post.mails[0].Attachments, "a byte above the limit")
		assert.Equal(h.t, 2, strings.Count(h.post.mails[0].Text, "https://example.com/download/"), "a link per document")
	})
}

func TestExpireIsNoRace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *house) {
		e, in := h.sent("a@example.com")
		status, err := h.Expire(h.t.Context(), in)
		require.NoError(h.t, err)
		assert.Equal(h.t, models.StatusSent, status, "not due")
		h.clock.Add(31 * 24 * time.Hour)
		for range 2 {
			status, err = h.Expire(h.t.Context(), in)
			require.NoError(h.t, err)
			assert.Equal(h.t, models.StatusExpired, status)
		}
		assert.Equal(h.t, 1, h.events(e, models.EventEnvelopeExpired))
	})
}
