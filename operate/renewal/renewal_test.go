package renewal_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"countersign/activities"
	"countersign/internal/testkit"
	"countersign/models"
	"countersign/operate/audit"
	"countersign/operate/renewal"
	"countersign/seal"
	"countersign/seal/trust"
	"countersign/seal/verify"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// house seals envelopes with a time-stamp authority.
type house struct {
	*activities.Activities

	t     *testing.T
	env   *testsuite.TestActivityEnvironment
	tsa   *testkit.TSA
	app   uuid.UUID
	trust trust.Policy
}

func onBoth(t *testing.T, change func(*seal.Config), test func(*house)) {
	t.Helper()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		clock.Add(time.Hour) // of the outbox: whatever is told is due
		test(newHouse(t, s, change))
	})
}

// newHouse lives at the present, as its time-stamps do.
func newHouse(t *testing.T, s *store.Store, change func(*seal.Config)) *house {
	t.Helper()
	h := &house{t: t, tsa: testkit.NewTSA(t)}
	blobs, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
	require.NoError(t, err)
	caPEM, certPEM, keyPEM, err := seal.SelfSigned("Test", time.Now(), rand.Reader)
	require.NoError(t, err)
	signer, chain, err := seal.LoadPEM(append(bytes.Clone(certPEM), caPEM...), keyPEM)
	require.NoError(t, err)
	h.trust = trust.Policy{Sealers: []trust.Sealer{trust.Pin(chain[0])}, Stampers: x509.NewCertPool()}
	h.trust.Stampers.AddCert(h.tsa.Root)
	keys, err := s.Keys(t.Context(), models.KeyManifests)
	require.NoError(t, err)
	cfg := seal.Config{
		Signer: signer, Chain: chain, ManifestSigner: keys[0].Private, ManifestKeyID: keys[0].ID, Now: time.Now, Rand: rand.Reader,
		TSAURL: h.tsa.URL, TSAOptional: true, HTTPClient: &http.Client{Timeout: time.Minute}, TempDir: t.TempDir(),
	}
	if change != nil {
		change(&cfg)
	}
	sealer, err := seal.New(cfg)
	require.NoError(t, err)
	h.app = app.ID
	h.Activities = &activities.Activities{Store: s, Blobs: blobs, Sealer: sealer, BaseURL: "https://example.com", Now: time.Now, NewID: uuid.New}
	var suite testsuite.WorkflowTestSuite
	h.env = suite.NewTestActivityEnvironment()
	h.env.RegisterActivity(h.Activities)
	return h
}

func (h *house) act() models.Act {
	return models.Act{At: time.Now().UTC().Truncate(time.Microsecond), Actor: models.ActorSystem, NewID: uuid.New}
}

// sealed is an envelope whose signer has signed and whose documents are sealed.
func (h *house) sealed() *models.Envelope {
	h.t.Helper()
	ctx := h.t.Context()
	e, err := models.NewEnvelope(h.act(), models.EnvelopeInput{AppID: h.app, TenantID: "t", CreatedBy: "me"})
	require.NoError(h.t, err)
	for i := range 2 {
		pdf := append(testkit.OnePage(), fmt.Sprintf("%% %d\n", i)...)
		sum := sha256.Sum256(pdf)
		key := fmt.Sprintf("envelopes/%s/original/%d.pdf", e.ID, i)
		f, err := h.Blobs.Temp()
		require.NoError(h.t, err)
		_, err = f.Write(pdf)
		require.NoError(h.t, err)
		require.NoError(h.t, h.Blobs.Keep(ctx, f, key))
		blob.Discard(f)
		_, err = e.AddDocument(h.act(), models.DocumentInput{
			SHA256: hex.EncodeToString(sum[:]), Size: int64(len(pdf)), Count: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key,
		}, 9)
		require.NoError(h.t, err)
	}
	signer, err := e.AddSigner(h.act(), models.SignerInput{Name: "Name", Email: "s@example.com", RoutingOrder: 1, AuthMethod: models.AuthNone})
	require.NoError(h.t, err)
	_, err = e.AddFields(h.act(), []models.FieldInput{{
		SignerRef: signer.ID.String(), Type: models.FieldText, Page: 1, X: 50, Y: 50, W: 90, H: 20, Required: true, Origin: models.OriginTopLeft,
	}}, models.NoPath)
	require.NoError(h.t, err)
	require.NoError(h.t, e.Send(h.act(), nil))
	require.NoError(h.t, h.Store.Create(ctx, e))
	value := "yes"
	e = h.load(e.ID)
	l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}
	_, err = h.Store.Change(ctx, h.app, e.ID, func(e *models.Envelope) error {
		if _, err := e.Consent(h.act(), l, models.DisclosureIn("en")); err != nil {
			return err
		}
		by := h.act()
		by.Actor = models.SignerActor(e.Fields[0].SignerID)
		_, err := e.Sign(by, l, models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Text: &value}}})
		return err
	})
	require.NoError(h.t, err)
	_, err = h.env.ExecuteActivity(h.Seal, h.input(e))
	require.NoError(h.t, err)
	return h.load(e.ID)
}

func (h *house) input(e *models.Envelope) temporal.EnvelopeInput {
	return temporal.EnvelopeInput{AppID: h.app, EnvelopeID: e.ID}
}

func (h *house) load(id uuid.UUID) *models.Envelope {
	h.t.Helper()
	e, err := h.Store.Envelope(h.t.Context(), h.app, id)
	require.NoError(h.t, err)
	return e
}

func (h *house) file(key string) []byte {
	h.t.Helper()
	f, err := h.Blobs.Open(h.t.Context(), key)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, f.Close()) }()
	b, err := io.ReadAll(f)
	require.NoError(h.t, err)
	return b
}

func (h *house) renewer() renewal.Renewer {
	return renewal.Renewer{Store: h.Store, Blobs: h.Blobs, Sealer: h.Sealer, Now: h.Now, NewID: h.NewID}
}

// holds checks files, record and audit trail against each other.
func (h *house) holds(e *models.Envelope, level string) {
	h.t.Helper()
	for _, d := range e.Sealed() {
		b := h.file(d.BlobKey)
		r, err := verify.File(h.t.Context(), bytes.NewReader(b), int64(len(b)), verify.Options{Trust: h.trust, Now: h.Now})
		require.NoError(h.t, err)
		require.True(h.t, r.OK(), r.Findings)
		assert.Equal(h.t, d.SHA256, r.SHA256)
		assert.Equal(h.t, d.Size, int64(len(b)))
		assert.Equal(h.t, level, r.Level)
	}
	assert.Equal(h.t, models.CombinedHash(e.Sealed()), e.HashFinal)
	err := audit.Verifier{Store: h.Store, Blobs: h.Blobs, Now: h.Now}.One(h.t.Context(), e.ID, func(r *audit.Report) error {
		assert.Empty(h.t, r.Problems)
		assert.Equal(h.t, len(e.Sealed()), r.Sealed)
		return nil
	})
	require.NoError(h.t, err)
}

// TestRenewal: what has no document time-stamp gets one, then nothing is due
// until that one is about to end; each file begins with the one before it.
func TestRenewal(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(h *house) {
		ctx := h.t.Context()
		e, other := h.sealed(), h.sealed()
		first := e.Sealed()
		require.Nil(h.t, first[0].TimestampedUntil)
		var done []renewal.Report
		all := func(r renewal.Renewer, before time.Time) []renewal.Report {
			h.t.Helper()
			done = nil
			require.NoError(h.t, r.All(ctx, before, func(one renewal.Report) error { done = append(done, one); return nil }))
			return done
		}
		dry := h.renewer()
		dry.DryRun = true
		require.Len(h.t, all(dry, time.Now()), 4)
		require.Equal(h.t, first[0].SHA256, h.load(e.ID).Sealed()[0].SHA256, "only told")

		require.Len(h.t, all(h.renewer(), time.Now()), 4)
		for _, one := range done {
			require.Empty(h.t, one.Problem)
			require.True(h.t, h.tsa.NotAfter.Equal(*one.Until))
		}
		h.holds(h.load(other.ID), "B-T") // the authority of the seal's key says nothing of revocation
		second := h.load(e.ID)
		h.holds(second, "B-T")
		for i, d := range second.Sealed() {
			require.NotEqual(h.t, first[i].BlobKey, d.BlobKey)
			require.True(h.t, bytes.HasPrefix(h.file(d.BlobKey), h.file(first[i].BlobKey)), "the old file stays, and begins the new one")
		}
		require.NotEqual(h.t, e.HashFinal, second.HashFinal)

		require.Empty(h.t, all(h.renewer(), time.Now()), "nothing ends yet")
		require.Len(h.t, all(h.renewer(), h.tsa.NotAfter.Add(time.Second)), 4)
		require.True(h.t, h.tsa.NotAfter.Equal(*done[0].Before))
		third := h.load(e.ID)
		h.holds(third, "B-T")
		require.True(h.t, bytes.HasPrefix(h.file(third.Sealed()[0].BlobKey), h.file(second.Sealed()[0].BlobKey)))
		events, err := h.Store.AuditEvents(ctx, third)
		require.NoError(h.t, err)
		stamped := 0
		for _, ev := range events {
			if ev.Name == models.EventDocumentStamped {
				stamped++
			}
		}
		require.Equal(h.t, 4, stamped)

		h.tsa.Down.Store(true)
		all(h.renewer(), h.tsa.NotAfter.Add(time.Second))
		require.Len(h.t, done, 4, "it goes on after a failure")
		require.Contains(h.t, done[0].Problem, "503")
		require.Nil(h.t, done[0].Until)
		h.holds(h.load(e.ID), "B-T")
	})
}

// TestPending: sealed while the authority was down, time-stamped when it is back.
func TestPending(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(h *house) {
		ctx := h.t.Context()
		h.tsa.Down.Store(true)
		e := h.sealed()
		h.holds(e, "B-B")
		for _, d := range e.Sealed() {
			require.True(h.t, d.TimestampPending)
		}
		var started []models.OutboxRow
		for {
			rows, err := h.Store.ClaimOutbox(ctx, 100, time.Minute)
			require.NoError(h.t, err)
			if len(rows) == 0 {
				break
			}
			for _, row := range rows {
				if row.Kind == models.OutboxTimestamp {
					started = append(started, row)
				}
				require.NoError(h.t, h.Store.FinishOutbox(ctx, row.Seq))
			}
		}
		require.NotEmpty(h.t, started)
		require.Equal(h.t, e.ID, started[0].Key)
		unfinished := func() int {
			rows, err := h.Store.Unfinished(ctx, models.OutboxTimestamp, uuid.Nil, 10)
			require.NoError(h.t, err)
			return len(rows)
		}
		require.Equal(h.t, 1, unfinished())
		require.ErrorContains(h.t, h.Timestamp(ctx, h.input(e)), "503", "to be tried again")

		h.tsa.Down.Store(false)
		require.NoError(h.t, h.Timestamp(ctx, h.input(e)))
		later := h.load(e.ID)
		for _, d := range later.Sealed() {
			require.False(h.t, d.TimestampPending)
			require.True(h.t, h.tsa.NotAfter.Equal(*d.TimestampedUntil))
		}
		h.holds(later, "B-B")
		require.Zero(h.t, unfinished())
		require.NoError(h.t, h.Timestamp(ctx, h.input(e)), "an activity may run again")
		require.Equal(h.t, later.Version, h.load(e.ID).Version)
	})
}

// TestLongTermIsRecorded: a seal that has its document time-stamp from the
// beginning is not due.
func TestLongTermIsRecorded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(cfg *seal.Config) { cfg.LongTerm = true }, func(h *house) {
		e := h.sealed()
		require.True(h.t, h.tsa.NotAfter.Equal(*e.Sealed()[0].TimestampedUntil))
		require.NoError(h.t, h.renewer().All(h.t.Context(), time.Now(), func(r renewal.Report) error {
			h.t.Errorf("%s is not due", r.DocumentID)
			return nil
		}))
	})
}

// cut dies after the file is stored, before the document is switched to it.
type cut struct{ blob.Store }

var errCut = errors.New("cut off")

func (c cut) Keep(ctx context.Context, f *os.File, key string) error {
	return errors.Join(c.Store.Keep(ctx, f, key), errCut)
}

// TestCutOff: a file without a record does no harm, and goes with the rest when
// the retention ends.
func TestCutOff(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(h *house) {
		ctx := h.t.Context()
		days := 1
		require.NoError(h.t, h.Store.SaveSettings(ctx, models.Settings{AppID: h.app, TenantID: "t", RetentionDays: &days}))
		e := h.sealed()
		r := h.renewer()
		r.Blobs = cut{h.Blobs}
		problems := 0
		count := func(one renewal.Report) error {
			if one.Problem != "" {
				problems++
			}
			return nil
		}
		require.NoError(h.t, r.All(ctx, time.Now(), count))
		require.Equal(h.t, 2, problems)
		h.holds(h.load(e.ID), "B-T")
		require.NoError(h.t, h.renewer().All(ctx, time.Now(), count))
		require.Equal(h.t, 2, problems, "renewed at the second try")
		h.holds(h.load(e.ID), "B-T")
		keys, err := h.Blobs.List(ctx, "envelopes/"+e.ID.String()+"/sealed/")
		require.NoError(h.t, err)
		require.Len(h.t, keys, 6, "as sealed, without a record, renewed")

		later := func() time.Time { return time.Now().AddDate(0, 0, 2) }
		h.Now = later
		require.NoError(h.t, h.Purge(ctx, h.input(e)))
		keys, err = h.Blobs.List(ctx, "envelopes/"+e.ID.String()+"/")
		require.NoError(h.t, err)
		require.Empty(h.t, keys)
		require.NoError(h.t, h.renewer().Pending(ctx, store.Ref{ID: e.ID, AppID: h.app}))
		require.NoError(h.t, h.renewer().All(ctx, time.Now(), func(renewal.Report) error { return errors.New("nothing is left") }))
	})
}

// TestTwoAtOnce: of two that renew the same document one is refused, and leaves
// nothing behind.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(h *house) {
		ctx := h.t.Context()
		e := h.sealed()
		// The other one is done while the first has the file open.
		r := h.renewer()
		r.Sealer = during{h.Sealer, func() {
			require.NoError(h.t, h.renewer().All(ctx, time.Now(), func(renewal.Report) error { return nil }))
		}}
		var problems []string
		require.NoError(h.t, r.Envelope(ctx, store.Ref{ID: e.ID, AppID: h.app}, time.Now(), func(one renewal.Report) error {
			problems = append(problems, one.Problem)
			return nil
		}))
		require.Len(h.t, problems, 2)
		for _, p := range problems {
			require.Contains(h.t, p, "another file")
		}
		h.holds(h.load(e.ID), "B-T")
		keys, err := h.Blobs.List(ctx, "envelopes/"+e.ID.String()+"/sealed/")
		require.NoError(h.t, err)
		require.Len(h.t, keys, 4, "as sealed, and renewed once")
	})
}

// during does something before it renews.
type during struct {
	renewal.Sealer

	first func()
}

func (d during) Renew(ctx context.Context, in io.ReaderAt, size int64, out *os.File) (seal.Result, error) {
	d.first()
	return d.Sealer.Renew(ctx, in, size, out)
}
