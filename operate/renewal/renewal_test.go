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
	"countersign/internal/limit"
	"countersign/models"
	"countersign/operate/audit"
	"countersign/operate/renewal"
	"countersign/seal"
	"countersign/seal/sealkey"
	"countersign/seal/trust"
	"countersign/seal/verify"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/test/kit"
)

// fakeEnv is a test environment that seals envelopes with a time-stamp authority.
type fakeEnv struct {
	*activities.Activities

	t     *testing.T
	env   *testsuite.TestActivityEnvironment
	tsa   *kit.TSA
	app   uuid.UUID
	trust trust.Policy
}

func onBoth(t *testing.T, change func(*seal.Config), test func(*fakeEnv)) {
	t.Helper()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		clock.Add(time.Hour) // so that all deliveries in the outbox are due
		test(newFakeEnv(t, s, change))
	})
}

// newFakeEnv returns an environment that uses the real clock, as the time-stamp authority does.
func newFakeEnv(t *testing.T, s *store.Store, change func(*seal.Config)) *fakeEnv {
	t.Helper()
	env := &fakeEnv{t: t, tsa: kit.NewTSA(t)}
	blobs, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
	require.NoError(t, err)
	caPEM, certPEM, keyPEM, err := sealkey.SelfSigned("Test", time.Now(), rand.Reader)
	require.NoError(t, err)
	signer, chain, err := sealkey.LoadPEM(append(bytes.Clone(certPEM), caPEM...), keyPEM)
	require.NoError(t, err)
	env.trust = trust.Policy{Sealers: []trust.Sealer{trust.PinnedCertificate(chain[0])}, Stampers: x509.NewCertPool()}
	env.trust.Stampers.AddCert(env.tsa.Root)
	keys, err := s.Keys(t.Context(), models.KeyManifests)
	require.NoError(t, err)
	cfg := seal.Config{
		Signer: signer, Chain: chain, ManifestSigner: keys[0].Private, ManifestKeyID: keys[0].ID, Now: time.Now, Rand: rand.Reader,
		TSAURL: env.tsa.URL, TSAOptional: true, HTTPClient: &http.Client{Timeout: time.Minute}, TempDir: t.TempDir(),
	}
	if change != nil {
		change(&cfg)
	}
	sealer, err := seal.New(cfg)
	require.NoError(t, err)
	env.app = app.ID
	env.Activities = &activities.Activities{
		Store: s, Blobs: blobs, Sealer: sealer, BaseURL: "https://example.com", Now: time.Now, NewID: uuid.New,
		CopyLimit: limit.New(0), // no capacity, so that the copies are sent later
	}
	var suite testsuite.WorkflowTestSuite
	env.env = suite.NewTestActivityEnvironment()
	env.env.RegisterActivity(env.Activities)
	return env
}

func (env *fakeEnv) act() models.ActionContext {
	return models.ActionContext{At: time.Now().UTC().Truncate(time.Microsecond), Actor: models.ActorSystem, NewID: uuid.New}
}

// sealed returns a signed and sealed envelope.
func (env *fakeEnv) sealed() *models.Envelope {
	env.t.Helper()
	ctx := env.t.Context()
	e, err := models.NewEnvelope(env.act(), models.Envelope{AppID: env.app, TenantID: "t", CreatedBy: "me"})
	require.NoError(env.t, err)
	for i := range 2 {
		pdf := append(kit.OnePage(), fmt.Sprintf("%% %d\n", i)...)
		sum := sha256.Sum256(pdf)
		key := fmt.Sprintf("envelopes/%s/original/%d.pdf", e.ID, i)
		f, err := env.Blobs.Temp()
		require.NoError(env.t, err)
		_, err = f.Write(pdf)
		require.NoError(env.t, err)
		require.NoError(env.t, env.Blobs.Put(ctx, f, key))
		blob.Discard(f)
		_, err = e.AddDocument(env.act(), models.DocumentInput{Document: models.Document{
			SHA256: hex.EncodeToString(sum[:]), Size: int64(len(pdf)), PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key,
		}}, 9)
		require.NoError(env.t, err)
	}
	signer, err := e.AddSigner(env.act(), models.SignerInput{Name: "Name", Email: "s@example.com", RoutingOrder: 1, AuthMethod: models.AuthNone})
	require.NoError(env.t, err)
	_, err = e.AddFields(env.act(), []models.FieldInput{{
		SignerRef: signer.ID.String(), Type: models.FieldText, Page: 1, X: 50, Y: 50, W: 90, H: 20, Required: true, Origin: models.OriginTopLeft,
	}}, models.NoPrefix)
	require.NoError(env.t, err)
	require.NoError(env.t, e.Send(env.act(), nil))
	require.NoError(env.t, env.Store.Create(ctx, e))
	value := "yes"
	e = env.load(e.ID)
	l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[0].ID, ID: *e.Signers[0].LinkID}
	_, err = env.Store.Change(ctx, env.app, e.ID, func(e *models.Envelope) error {
		if _, err := e.Consent(env.act(), l, new(models.Signer).Disclosure("en")); err != nil {
			return err
		}
		by := env.act()
		by.Actor = models.SignerActor(e.Fields[0].SignerID)
		_, err := e.Sign(by, l, models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[0].ID, Text: &value}}})
		return err
	})
	require.NoError(env.t, err)
	_, err = env.env.ExecuteActivity(env.Seal, env.input(e))
	require.NoError(env.t, err)
	return env.load(e.ID)
}

func (env *fakeEnv) input(e *models.Envelope) temporal.EnvelopeInput {
	return temporal.EnvelopeInput{AppID: env.app, EnvelopeID: e.ID}
}

func (env *fakeEnv) load(id uuid.UUID) *models.Envelope {
	env.t.Helper()
	e, err := env.Store.Envelope(env.t.Context(), env.app, id)
	require.NoError(env.t, err)
	return e
}

func (env *fakeEnv) file(key string) []byte {
	env.t.Helper()
	f, err := env.Blobs.Open(env.t.Context(), key)
	require.NoError(env.t, err)
	defer func() { require.NoError(env.t, f.Close()) }()
	b, err := io.ReadAll(f)
	require.NoError(env.t, err)
	return b
}

func (env *fakeEnv) renewer() renewal.Renewer {
	return renewal.Renewer{Store: env.Store, Blobs: env.Blobs, Sealer: env.Sealer, Now: env.Now, NewID: env.NewID}
}

// holds checks that the files, the records and the audit trail are consistent.
func (env *fakeEnv) holds(e *models.Envelope, level string) {
	env.t.Helper()
	for _, d := range e.Sealed() {
		b := env.file(d.BlobKey)
		r, err := verify.File(env.t.Context(), bytes.NewReader(b), int64(len(b)), verify.Options{Trust: env.trust, Now: env.Now})
		require.NoError(env.t, err)
		require.True(env.t, r.OK(), r.Findings)
		assert.Equal(env.t, d.SHA256, r.SHA256)
		assert.Equal(env.t, d.Size, int64(len(b)))
		assert.Equal(env.t, level, r.Level)
	}
	assert.Equal(env.t, models.CombineHashes(e.Sealed()), e.HashFinal)
	err := audit.Verifier{Store: env.Store, Blobs: env.Blobs, Now: env.Now}.One(env.t.Context(), e.ID, func(r *audit.Report) error {
		assert.Empty(env.t, r.Problems)
		assert.Equal(env.t, len(e.Sealed()), r.Sealed)
		return nil
	})
	require.NoError(env.t, err)
}

// TestRenewal checks that a file without a document time-stamp receives one, and that no renewal is due until that
// time-stamp is about to expire.
func TestRenewal(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, other := env.sealed(), env.sealed()
		first := e.Sealed()
		require.Nil(env.t, first[0].TimestampedUntil)
		var done []renewal.Report
		all := func(r renewal.Renewer, before time.Time) []renewal.Report {
			env.t.Helper()
			done = nil
			require.NoError(env.t, r.All(ctx, before, func(one renewal.Report) error { done = append(done, one); return nil }))
			return done
		}
		dry := env.renewer()
		dry.DryRun = true
		require.Len(env.t, all(dry, time.Now()), 4)
		require.Equal(env.t, first[0].SHA256, env.load(e.ID).Sealed()[0].SHA256, "only told")

		require.Len(env.t, all(env.renewer(), time.Now()), 4)
		for _, one := range done {
			require.Empty(env.t, one.Problem)
			require.True(env.t, env.tsa.NotAfter.Equal(*one.Until))
		}
		env.holds(env.load(other.ID), "B-T") // the authority of the sealing key provides no revocation data
		second := env.load(e.ID)
		env.holds(second, "B-T")
		for i, d := range second.Sealed() {
			require.NotEqual(env.t, first[i].BlobKey, d.BlobKey)
			require.True(env.t, bytes.HasPrefix(env.file(d.BlobKey), env.file(first[i].BlobKey)), "the old file is retained, and the new one begins with it")
		}
		require.NotEqual(env.t, e.HashFinal, second.HashFinal)

		require.Empty(env.t, all(env.renewer(), time.Now()), "no time-stamp expires yet")
		require.Len(env.t, all(env.renewer(), env.tsa.NotAfter.Add(time.Second)), 4)
		require.True(env.t, env.tsa.NotAfter.Equal(*done[0].Before))
		third := env.load(e.ID)
		env.holds(third, "B-T")
		require.True(env.t, bytes.HasPrefix(env.file(third.Sealed()[0].BlobKey), env.file(second.Sealed()[0].BlobKey)))
		events, err := env.Store.AuditEvents(ctx, third)
		require.NoError(env.t, err)
		stamped := 0
		for _, ev := range events {
			if ev.Name == models.EventDocumentStamped {
				stamped++
			}
		}
		require.Equal(env.t, 4, stamped)

		env.tsa.Down.Store(true)
		all(env.renewer(), env.tsa.NotAfter.Add(time.Second))
		require.Len(env.t, done, 4, "renewal continues after a failure")
		require.Contains(env.t, done[0].Problem, "503")
		require.Nil(env.t, done[0].Until)
		env.holds(env.load(e.ID), "B-T")
	})
}

// TestPending checks that a file that was sealed while the authority was unavailable receives its time-stamp once the
// authority is available again.
func TestPending(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(env *fakeEnv) {
		ctx := env.t.Context()
		env.tsa.Down.Store(true)
		e := env.sealed()
		env.holds(e, "B-B")
		for _, d := range e.Sealed() {
			require.True(env.t, d.TimestampPending)
		}
		var started []models.OutboxRow
		for {
			rows, err := env.Store.ClaimOutbox(ctx, 100, time.Minute)
			require.NoError(env.t, err)
			if len(rows) == 0 {
				break
			}
			for _, row := range rows {
				if row.Kind == models.OutboxTimestamp {
					started = append(started, row)
				}
				require.NoError(env.t, env.Store.FinishOutbox(ctx, row.Seq))
			}
		}
		require.NotEmpty(env.t, started)
		require.Equal(env.t, e.ID, started[0].Key)
		unfinished := func() int {
			rows, _, err := env.Store.Unfinished(ctx, store.WorkTimestamps, uuid.Nil, 10)
			require.NoError(env.t, err)
			return len(rows)
		}
		require.Equal(env.t, 1, unfinished())
		require.ErrorContains(env.t, env.Timestamp(ctx, env.input(e)), "503", "must be retried")

		env.tsa.Down.Store(false)
		require.NoError(env.t, env.Timestamp(ctx, env.input(e)))
		later := env.load(e.ID)
		for _, d := range later.Sealed() {
			require.False(env.t, d.TimestampPending)
			require.True(env.t, env.tsa.NotAfter.Equal(*d.TimestampedUntil))
		}
		env.holds(later, "B-B")
		require.Zero(env.t, unfinished())
		require.NoError(env.t, env.Timestamp(ctx, env.input(e)), "an activity may run again")
		require.Equal(env.t, later.Version, env.load(e.ID).Version)
	})
}

// TestLongTermIsRecorded checks that no renewal is due for a seal that already includes a document time-stamp.
func TestLongTermIsRecorded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(cfg *seal.Config) { cfg.LongTerm = true }, func(env *fakeEnv) {
		e := env.sealed()
		require.True(env.t, env.tsa.NotAfter.Equal(*e.Sealed()[0].TimestampedUntil))
		require.NoError(env.t, env.renewer().All(env.t.Context(), time.Now(), func(r renewal.Report) error {
			env.t.Errorf("%s is not due", r.DocumentID)
			return nil
		}))
	})
}

// cutOffStore is a file store that stores a file and then returns an error, as if the process had been interrupted.
type cutOffStore struct{ blob.Store }

var errCut = errors.New("cut off")

func (c cutOffStore) Put(ctx context.Context, f *os.File, key string) error {
	return errors.Join(c.Store.Put(ctx, f, key), errCut)
}

// TestInterruptedRenewal_IsHarmless checks that an unrecorded file is harmless and is deleted with the other files at
// the end of the retention period.
func TestInterruptedRenewal_IsHarmless(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(env *fakeEnv) {
		ctx := env.t.Context()
		days := 1
		require.NoError(env.t, env.Store.SaveSettings(ctx, models.Settings{AppID: env.app, TenantID: "t", RetentionDays: &days}))
		e := env.sealed()
		r := env.renewer()
		r.Blobs = cutOffStore{env.Blobs}
		problems := 0
		count := func(one renewal.Report) error {
			if one.Problem != "" {
				problems++
			}
			return nil
		}
		require.NoError(env.t, r.All(ctx, time.Now(), count))
		require.Equal(env.t, 2, problems)
		env.holds(env.load(e.ID), "B-T")
		require.NoError(env.t, env.renewer().All(ctx, time.Now(), count))
		require.Equal(env.t, 2, problems, "renewed at the second attempt")
		env.holds(env.load(e.ID), "B-T")
		keys, err := env.Blobs.List(ctx, "envelopes/"+e.ID.String()+"/sealed/")
		require.NoError(env.t, err)
		require.Len(env.t, keys, 6, "the sealed file, the file without a record, and the renewed file")

		later := func() time.Time { return time.Now().AddDate(0, 0, 2) }
		env.Now = later
		require.NoError(env.t, env.Purge(ctx, env.input(e)))
		keys, err = env.Blobs.List(ctx, "envelopes/"+e.ID.String()+"/")
		require.NoError(env.t, err)
		require.Empty(env.t, keys)
		require.NoError(env.t, env.renewer().Pending(ctx, store.EnvelopeRef{ID: e.ID, AppID: env.app}))
		require.NoError(env.t, env.renewer().All(ctx, time.Now(), func(renewal.Report) error { return errors.New("no attempts are left") }))
	})
}

// TestConcurrentRenewals_OneFails checks that one of two concurrent renewals of a document fails and leaves no file
// behind.
func TestConcurrentRenewals_OneFails(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(env *fakeEnv) {
		ctx := env.t.Context()
		e := env.sealed()
		// The second renewal runs while the first one has the file open.
		r := env.renewer()
		r.Sealer = sealerWithHook{env.Sealer, func() {
			require.NoError(env.t, env.renewer().All(ctx, time.Now(), func(renewal.Report) error { return nil }))
		}}
		var problems []string
		require.NoError(env.t, r.Envelope(ctx, store.EnvelopeRef{ID: e.ID, AppID: env.app}, time.Now(), func(one renewal.Report) error {
			problems = append(problems, one.Problem)
			return nil
		}))
		require.Len(env.t, problems, 2)
		for _, p := range problems {
			require.Contains(env.t, p, "a different file")
		}
		env.holds(env.load(e.ID), "B-T")
		keys, err := env.Blobs.List(ctx, "envelopes/"+e.ID.String()+"/sealed/")
		require.NoError(env.t, err)
		require.Len(env.t, keys, 4, "the sealed file, and one renewed file")
	})
}

// sealerWithHook is a sealer that calls its hook before each renewal.
type sealerWithHook struct {
	renewal.Sealer

	first func()
}

func (d sealerWithHook) Renew(ctx context.Context, in io.ReaderAt, size int64, out *os.File) (seal.Result, error) {
	d.first()
	return d.Sealer.Renew(ctx, in, size, out)
}
