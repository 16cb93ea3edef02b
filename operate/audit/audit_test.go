package audit_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
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
	"countersign/seal"
	"countersign/seal/sealkey"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
	"countersign/test/kit"
)

// auditFixture is a database with one sealed and one open envelope. Its methods include attacks by someone with full
// access to the database.
type auditFixture struct {
	t            *testing.T
	db           *sql.DB
	postgres     bool
	blobs        blob.Store
	app          uuid.UUID
	sealed, open uuid.UUID
	clock        *kit.Clock
	audit.Verifier
}

func newAuditFixture(t *testing.T, kind string) *auditFixture {
	t.Helper()
	clock := kit.NewClock()
	s := kit.Store(t, kind, clock.Now)
	blobs, err := blob.OpenDir(t.TempDir())
	require.NoError(t, err)
	s.UseArchives(blobs)
	app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
	require.NoError(t, err)
	db, err := s.DB()
	require.NoError(t, err)
	a := &auditFixture{
		t: t, db: db, postgres: kind == "postgres", blobs: blobs, app: app.ID, clock: clock,
		Verifier: audit.Verifier{Store: s, Blobs: blob.NewEncrypted(blobs, kit.Vault(t), false), Now: clock.Now},
	}
	_, certPEM, keyPEM, err := sealkey.SelfSigned("Test", clock.Now(), rand.Reader)
	require.NoError(t, err)
	signer, chain, err := sealkey.LoadPEM(certPEM, keyPEM)
	require.NoError(t, err)
	keys, err := s.Keys(t.Context(), models.KeyManifests)
	require.NoError(t, err)
	sealer, err := seal.New(seal.Config{
		Signer: signer, Chain: chain, ManifestSigner: keys[0].Private, ManifestKeyID: keys[0].ID, Now: clock.Now, Rand: rand.Reader, TempDir: t.TempDir(),
	})
	require.NoError(t, err)
	acts := &activities.Activities{
		Store: s, Blobs: blobs, Sealer: sealer, BaseURL: "https://example.com", Now: clock.Now, NewID: uuid.New,
		CopyLimit: limit.New(0), // no capacity, so that the copies are sent later
	}

	a.open, a.sealed = a.envelope(s, clock), a.envelope(s, clock)
	a.signAll(s, clock)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(acts)
	_, err = env.ExecuteActivity(acts.Seal, temporal.EnvelopeInput{AppID: app.ID, EnvelopeID: a.sealed})
	require.NoError(t, err)
	return a
}

func act(clock *kit.Clock) models.ActionContext {
	clock.Add(time.Second)
	return models.ActionContext{At: clock.Now(), Actor: models.ActorSystem, NewID: uuid.New}
}

// envelope stores an envelope that awaits two signers.
func (a *auditFixture) envelope(s *store.Store, clock *kit.Clock) uuid.UUID {
	a.t.Helper()
	days := 30
	e, err := models.NewEnvelope(act(clock), models.Envelope{AppID: a.app, TenantID: "t", CreatedBy: "me", ExpiresInDays: &days})
	require.NoError(a.t, err)
	pdf := kit.OnePage()
	sum := sha256.Sum256(pdf)
	key := fmt.Sprintf("envelopes/%s/original/1.pdf", e.ID)
	put(a.t, a.blobs, key, pdf)
	_, err = e.AddDocument(act(clock), models.DocumentInput{Document: models.Document{
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(pdf)), PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key,
	}}, 1)
	require.NoError(a.t, err)
	for i := range 2 {
		signer, err := e.AddSigner(act(clock), models.SignerInput{Name: "Name", Email: fmt.Sprintf("s%d@example.com", i), RoutingOrder: 1, AuthMethod: models.AuthNone})
		require.NoError(a.t, err)
		_, err = e.AddFields(act(clock), []models.FieldInput{{
			SignerRef: signer.ID.String(), Type: models.FieldText, Page: 1, X: 50, Y: 50, W: 90, H: 20, Required: true, Origin: models.OriginTopLeft,
		}}, models.NoPrefix)
		require.NoError(a.t, err)
	}
	require.NoError(a.t, e.Send(act(clock), nil))
	require.NoError(a.t, s.Create(a.t.Context(), e))
	return e.ID
}

func (a *auditFixture) signAll(s *store.Store, clock *kit.Clock) {
	a.t.Helper()
	e, err := s.Envelope(a.t.Context(), a.app, a.sealed)
	require.NoError(a.t, err)
	value := "yes"
	for i, signer := range e.Signers {
		l := models.Link{EnvelopeID: e.ID, SignerID: signer.ID, ID: *signer.LinkID}
		_, err := s.Change(a.t.Context(), a.app, e.ID, func(e *models.Envelope) error {
			if _, err := e.Consent(act(clock), l, new(models.Signer).Disclosure("en")); err != nil {
				return err
			}
			by := act(clock)
			by.Actor = models.SignerActor(e.Fields[i].SignerID)
			_, err := e.Sign(by, l, models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[i].ID, Text: &value}}})
			return err
		})
		require.NoError(a.t, err)
	}
}

func put(t *testing.T, s blob.Store, key string, content []byte) {
	t.Helper()
	f, err := s.Temp()
	require.NoError(t, err)
	defer blob.Discard(f)
	_, err = f.Write(content)
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), f, key))
}

// exec runs a statement as a superuser would who first disables the triggers that protect the table.
func (a *auditFixture) exec(query string, args ...any) {
	a.t.Helper()
	ctx := a.t.Context()
	if !a.postgres {
		for _, name := range []string{"audit_events_no_update", "audit_events_no_delete"} {
			_, err := a.db.ExecContext(ctx, "DROP TRIGGER IF EXISTS "+name)
			require.NoError(a.t, err)
		}
		for i := range args {
			query = strings.ReplaceAll(query, fmt.Sprintf("$%d", i+1), fmt.Sprintf("?%d", i+1))
		}
	} else {
		_, err := a.db.ExecContext(ctx, "ALTER TABLE audit_events DISABLE TRIGGER ALL")
		require.NoError(a.t, err)
	}
	res, err := a.db.ExecContext(ctx, query, args...)
	require.NoError(a.t, err, query)
	n, err := res.RowsAffected()
	require.NoError(a.t, err)
	require.NotZero(a.t, n, "the attack must change the file: %s", query)
}

// rewriteChain recomputes the chain and its head in the envelope, as an attacker who knows how the hashes are computed
// could do.
func (a *auditFixture) rewriteChain(id uuid.UUID) {
	a.t.Helper()
	_, events, err := a.Store.EnvelopeWithEvents(a.t.Context(), a.app, id)
	require.NoError(a.t, err)
	prev := models.ChainStart
	for i := range events {
		ev := &events[i]
		old := ev.Seq
		ev.Seq, ev.PrevHash = int64(i)+1, prev
		ev.Hash, err = ev.Digest()
		require.NoError(a.t, err)
		prev = ev.Hash
		a.exec("UPDATE audit_events SET seq = $1, prev_hash = $2, hash = $3 WHERE envelope_id = $4 AND seq = $5", ev.Seq, ev.PrevHash, ev.Hash, id, old)
	}
	a.exec("UPDATE envelopes SET audit_seq = $1, audit_head = $2 WHERE id = $3", len(events), prev, id)
	_, events, err = a.Store.EnvelopeWithEvents(a.t.Context(), a.app, id)
	require.NoError(a.t, err)
	require.NoError(a.t, models.VerifyChain(events, int64(len(events)), prev), "the forged chain is consistent")
}

// seqOf returns the number of the first event with the given name.
func (a *auditFixture) seqOf(id uuid.UUID, name models.EventName) int64 {
	a.t.Helper()
	_, events, err := a.Store.EnvelopeWithEvents(a.t.Context(), a.app, id)
	require.NoError(a.t, err)
	for i := range events {
		if events[i].Name == name {
			return events[i].Seq
		}
	}
	a.t.Fatalf("the audit trail has no event %s", name)
	return 0
}

func (a *auditFixture) last(id uuid.UUID) int64 {
	a.t.Helper()
	_, events, err := a.Store.EnvelopeWithEvents(a.t.Context(), a.app, id)
	require.NoError(a.t, err)
	return int64(len(events))
}

// problems verifies all envelopes and anchors, and returns all problems and the number of reports.
func (a *auditFixture) problems() (all []string, reports int) {
	a.t.Helper()
	require.NoError(a.t, a.All(a.t.Context(), func(r *audit.Report) error {
		reports++
		all = append(all, r.Problems...)
		return nil
	}))
	return all, reports
}

func (a *auditFixture) swap(id uuid.UUID, x, y int64) {
	a.exec("UPDATE audit_events SET seq = -1 WHERE envelope_id = $1 AND seq = $2", id, x)
	a.exec("UPDATE audit_events SET seq = $3 WHERE envelope_id = $1 AND seq = $2", id, y, x)
	a.exec("UPDATE audit_events SET seq = $2 WHERE envelope_id = $1 AND seq = -1", id, y)
}

// remove deletes all rows of an unsigned envelope.
func (a *auditFixture) remove(id uuid.UUID) {
	for _, table := range []string{"fields", "documents", "audit_events", "signers", "envelope_search"} {
		a.exec("DELETE FROM "+table+" WHERE envelope_id = $1", id)
	}
	a.exec("DELETE FROM envelopes WHERE id = $1", id)
}

func (a *auditFixture) sealedFile() string {
	e, err := a.Store.Envelope(a.t.Context(), a.app, a.sealed)
	require.NoError(a.t, err)
	return e.Sealed()[0].BlobKey
}

// originalFile returns the original of the open envelope.
func (a *auditFixture) originalFile() string {
	e, err := a.Store.Envelope(a.t.Context(), a.app, a.open)
	require.NoError(a.t, err)
	return e.Originals()[0].BlobKey
}

func (a *auditFixture) encrypt(key string) {
	done, _, err := blob.NewEncrypted(a.blobs, kit.Vault(a.t), true).Rewrap(a.t.Context(), key)
	require.NoError(a.t, err)
	require.True(a.t, done)
}

// damage flips a bit in the middle of a file.
func (a *auditFixture) damage(key string) {
	f, err := a.blobs.Open(a.t.Context(), key)
	require.NoError(a.t, err)
	b, err := os.ReadFile(f.Name())
	require.NoError(a.t, err)
	require.NoError(a.t, f.Close())
	b[len(b)/2] ^= 1
	put(a.t, a.blobs, key, b)
}

// remember saves the rows that the attacks change. The returned function restores them.
func (a *auditFixture) remember() (undo func()) {
	a.t.Helper()
	for _, table := range []string{"audit_events", "envelopes", "documents"} {
		_, err := a.db.ExecContext(a.t.Context(), "CREATE TABLE kept_"+table+" AS SELECT * FROM "+table)
		require.NoError(a.t, err)
	}
	f, err := a.blobs.Open(a.t.Context(), a.sealedFile())
	require.NoError(a.t, err)
	content, err := os.ReadFile(f.Name())
	require.NoError(a.t, err)
	require.NoError(a.t, f.Close())
	key := a.sealedFile()
	return func() {
		a.exec("DELETE FROM audit_events")
		a.exec("INSERT INTO audit_events SELECT * FROM kept_audit_events")
		for table, columns := range map[string][]string{"envelopes": {"audit_seq", "audit_head"}, "documents": {"sha256", "purge_status"}} {
			for _, c := range columns {
				a.exec(fmt.Sprintf("UPDATE %[1]s SET %[2]s = (SELECT k.%[2]s FROM kept_%[1]s AS k WHERE k.id = %[1]s.id)", table, c))
			}
		}
		put(a.t, a.blobs, key, content)
		put(a.t, a.blobs, a.originalFile(), kit.OnePage())
	}
}

// last is the name of the attack that cannot be undone.
const last = "the whole envelope is gone"

// TestVerify_DetectsChangesByASuperuser checks that changes made by a superuser with the triggers disabled are
// detected. Some attacks also recompute the chain, so that it is consistent.
func TestVerify_DetectsChangesByASuperuser(t *testing.T) {
	t.Parallel()
	attacks := []struct {
		name string
		do   func(a *auditFixture)
		want string
	}{
		{"an event is edited", func(a *auditFixture) {
			a.exec("UPDATE audit_events SET ip = '203.0.113.9' WHERE envelope_id = $1 AND seq = 3", a.sealed)
		}, "event 3 was modified"},
		{"of an open envelope", func(a *auditFixture) {
			a.exec("UPDATE audit_events SET actor = 'system2' WHERE envelope_id = $1 AND seq = 2", a.open)
		}, "event 2 was modified"},
		{"an event is edited, the chain forged", func(a *auditFixture) {
			a.exec("UPDATE audit_events SET ip = '203.0.113.9' WHERE envelope_id = $1 AND seq = 3", a.sealed)
			a.rewriteChain(a.sealed)
		}, "differ from the sealed events"},
		{"an event is deleted", func(a *auditFixture) {
			a.exec("DELETE FROM audit_events WHERE envelope_id = $1 AND seq = 4", a.sealed)
		}, "event 4 is missing"},
		{"an event is deleted, the chain forged", func(a *auditFixture) {
			a.exec("DELETE FROM audit_events WHERE envelope_id = $1 AND seq = $2", a.sealed, a.seqOf(a.sealed, models.EventConsentGiven))
			a.rewriteChain(a.sealed)
		}, "differ from the sealed events"},
		{"what a signer was shown is made up, the chain forged", func(a *auditFixture) {
			a.exec(`UPDATE audit_events SET detail = replace(detail, '"shown":null', '"shown":"`+strings.Repeat("0", 64)+`","shownSigners":""')
				WHERE envelope_id = $1 AND name = 'signer.signed'`, a.sealed)
			a.rewriteChain(a.sealed)
		}, "the record of the values shown"},
		{"events are reordered", func(a *auditFixture) { a.swap(a.sealed, 3, 5) }, "event 3 does not link"},
		{"events are reordered, the chain forged", func(a *auditFixture) {
			a.swap(a.sealed, 3, 5)
			a.rewriteChain(a.sealed)
		}, "differ from the sealed events"},
		{"the end is cut off", func(a *auditFixture) {
			a.exec("DELETE FROM audit_events WHERE envelope_id = $1 AND seq = $2", a.sealed, a.last(a.sealed))
		}, "were recorded"},
		{"the end is cut off, the envelope agrees", func(a *auditFixture) {
			a.exec("DELETE FROM audit_events WHERE envelope_id = $1 AND seq = $2", a.sealed, a.last(a.sealed))
			a.rewriteChain(a.sealed)
		}, "0 of the 1 expected envelope.completed events"},
		{"cut off before the seal", func(a *auditFixture) {
			a.exec("DELETE FROM audit_events WHERE envelope_id = $1 AND seq >= $2", a.sealed, a.seqOf(a.sealed, models.EventConsentGiven))
			a.rewriteChain(a.sealed)
		}, "but was sealed with"},
		{"of an open envelope, the envelope agrees", func(a *auditFixture) {
			a.exec("DELETE FROM audit_events WHERE envelope_id = $1 AND seq = $2", a.open, a.seqOf(a.open, models.EventEnvelopeSent))
			a.rewriteChain(a.open)
		}, "0 of the 1 expected envelope.sent events"},
		{"another file is named", func(a *auditFixture) {
			a.exec("UPDATE documents SET sha256 = $2 WHERE envelope_id = $1 AND kind = 'sealed'", a.sealed, strings.Repeat("0", 64))
		}, "does not match its recorded hash"},
		{"said to be purged", func(a *auditFixture) {
			a.exec("UPDATE documents SET purge_status = 'purged' WHERE envelope_id = $1 AND kind = 'sealed'", a.sealed)
		}, "0 of the 1 expected document.purged events"},
		{"the file is changed", func(a *auditFixture) { a.damage(a.sealedFile()) }, "does not match its recorded hash"},
		{"the encrypted file is changed", func(a *auditFixture) {
			a.encrypt(a.sealedFile())
			found, _ := a.problems()
			require.Empty(a.t, found, "encrypted")
			a.damage(a.sealedFile())
		}, "encrypted file is damaged"},
		{"the encrypted original is changed", func(a *auditFixture) {
			a.encrypt(a.originalFile())
			a.damage(a.originalFile())
		}, "encrypted file is damaged"},
		{"the file is gone", func(a *auditFixture) {
			require.NoError(a.t, a.blobs.Delete(context.WithoutCancel(a.t.Context()), a.sealedFile()))
		}, "is missing"},
		{"the original is changed", func(a *auditFixture) { put(a.t, a.blobs, a.originalFile(), []byte("%PDF-1.7")) }, "does not match its recorded hash"},
		{"the original is gone", func(a *auditFixture) {
			require.NoError(a.t, a.blobs.Delete(context.WithoutCancel(a.t.Context()), a.originalFile()))
		}, "is missing"},
		{"another original, the chain forged", func(a *auditFixture) {
			put(a.t, a.blobs, a.originalFile(), []byte("%PDF-1.7"))
			a.exec("UPDATE documents SET sha256 = $2 WHERE envelope_id = $1 AND kind = 'original'", a.open, fmt.Sprintf("%x", sha256.Sum256([]byte("%PDF-1.7"))))
		}, "with its recorded hash"},
		{last, func(a *auditFixture) {
			a.exec("DELETE FROM field_values WHERE envelope_id = $1", a.sealed)
			a.remove(a.sealed)
		}, "has no record of it"},
	}
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		a := newAuditFixture(t, kind)
		undo := a.remember()
		for _, attack := range attacks {
			found, n := a.problems()
			require.Empty(t, found, "all is well before %s", attack.name)
			require.Equal(t, 2, n)
			attack.do(a)
			found, _ = a.problems()
			assert.Contains(t, strings.Join(found, "\n"), attack.want, attack.name)
			if attack.name != last {
				undo()
			}
		}
	})
}

func TestOne(t *testing.T) {
	t.Parallel()
	a := newAuditFixture(t, "sqlite")
	var told []*audit.Report
	tell := func(r *audit.Report) error { told = append(told, r); return nil }
	require.NoError(t, a.One(t.Context(), a.sealed, tell))
	require.Len(t, told, 1)
	r := told[0]
	assert.True(t, r.OK(), "%v", r.Problems)
	assert.Equal(t, 1, r.Sealed)
	assert.Positive(t, r.Events)
	require.ErrorIs(t, a.One(t.Context(), uuid.New(), tell), models.ErrNotFound)
}

// TestVerify_SealedFileOfAnotherEnvelope checks that a valid sealed file is reported if it belongs to another envelope.
func TestVerify_SealedFileOfAnotherEnvelope(t *testing.T) {
	t.Parallel()
	a := newAuditFixture(t, "sqlite")
	a.exec("UPDATE documents SET envelope_id = $1 WHERE envelope_id = $2 AND kind = 'sealed'", a.open, a.sealed)
	var problems []string
	require.NoError(t, a.One(t.Context(), a.open, func(r *audit.Report) error {
		problems = append(problems, r.Problems...)
		return nil
	}))
	assert.Contains(t, strings.Join(problems, "\n"), "belongs to envelope "+a.sealed.String())
}
