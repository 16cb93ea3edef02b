package store_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestSavedSignatures_BelongToTheirOwner checks that SavedSignature returns the latest signature with the same app,
// tenant, address and authentication method.
func TestSavedSignatures_BelongToTheirOwner(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(1, nil)
		save := func(image string) {
			require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
				e.Adopted = &models.SavedSignature{AppID: f.app.ID, TenantID: "t", AuthMethod: models.AuthEmailOTP, Email: "ada@example.com", Image: []byte(image), UpdatedAt: clock.Now()}
				return nil
			}))
		}
		save("one")
		save("two")
		find := func(app uuid.UUID, tenant string, method models.AuthMethod, email string) string {
			v, err := s.SavedSignature(ctx, &models.Envelope{AppID: app, TenantID: tenant}, &models.Signer{AuthMethod: method, Email: email})
			require.NoError(t, err)
			if v == nil {
				return ""
			}
			return string(v.Image)
		}
		assert.Equal(t, "two", find(f.app.ID, "t", models.AuthEmailOTP, "Ada@Example.com"))
		assert.Empty(t, find(uuid.New(), "t", models.AuthEmailOTP, "ada@example.com"))
		assert.Empty(t, find(f.app.ID, "u", models.AuthEmailOTP, "ada@example.com"))
		assert.Empty(t, find(f.app.ID, "t", models.AuthSMSOTP, "ada@example.com"))
		assert.Empty(t, find(f.app.ID, "t", models.AuthEmailOTP, "bob@example.com"))
	})
}

// TestValues_BelongToTheirEnvelope checks that values are loaded only for the requested envelope and field.
func TestValues_BelongToTheirEnvelope(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e, other := f.sent(2, nil), f.sent(2, nil)
		for i := range 2 {
			require.NoError(t, f.sign(e, i))
			require.NoError(t, f.sign(other, i))
		}
		for _, of := range []func(context.Context, *models.Envelope) ([]models.FieldValue, error){s.Values, s.ValuesWithoutPictures} {
			values, err := of(ctx, e)
			require.NoError(t, err)
			require.Len(t, values, 2)
			for _, v := range values {
				assert.Equal(t, []any{e.ID, "yes", clock.Now()}, []any{v.EnvelopeID, v.Text, v.CreatedAt.UTC()})
			}
		}
		v, err := s.Value(ctx, e, e.Fields[1].ID)
		require.NoError(t, err)
		assert.Equal(t, []any{e.Fields[1].ID, e.Signers[1].ID}, []any{v.FieldID, v.SignerID})
		for _, field := range []uuid.UUID{other.Fields[0].ID, uuid.New()} {
			_, err = s.Value(ctx, e, field)
			require.ErrorIs(t, err, models.ErrNotFound)
		}
		log, err := s.AuditEvents(ctx, &models.Envelope{ID: e.ID, AuditSeq: 3})
		require.NoError(t, err)
		require.Len(t, log, 3, "the chain ends at the event that was last when the envelope was loaded")
		for i := range log {
			assert.Equal(t, []any{e.ID, int64(i + 1)}, []any{log[i].EnvelopeID, log[i].Seq})
		}
	})
}

// TestSavedSignature_ReplacesFormer checks that a signature adopted under a new master key replaces the one saved
// under the former key.
func TestSavedSignature_ReplacesFormer(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		ctx := t.Context()
		former := d.open(t, 1)
		sc := newScenario(t, former, d.clock)
		db := openRaw(t, d.kind, d.url)
		_, err := db.ExecContext(ctx, "UPDATE saved_signatures SET updated_at = '2020-01-02 03:04:05+00:00'")
		require.NoError(t, err)
		both := d.open(t, 2, 1)
		newer := newFixture(t, both, d.clock)
		newer.app = sc.app
		e := newer.sent(1, nil)
		_, err = both.Change(ctx, sc.app.ID, e.ID, func(e *models.Envelope) error {
			e.Adopted = &models.SavedSignature{
				AppID: sc.app.ID, TenantID: sc.envelope.TenantID, AuthMethod: sc.envelope.Signers[0].AuthMethod, Email: "ada.l@kitchen.example",
				Image: []byte("newer"), UpdatedAt: d.clock.Now(),
			}
			return e.Void(newer.act(), nil)
		})
		require.NoError(t, err)
		for range 2 {
			saved, err := both.SavedSignature(ctx, sc.envelope, &models.Signer{AuthMethod: sc.envelope.Signers[0].AuthMethod, Email: "Ada.L@kitchen.example"})
			require.NoError(t, err)
			assert.Equal(t, "newer", string(saved.Image))
			_, err = both.Rewrap(ctx)
			require.NoError(t, err)
		}
		n := 0
		eachRow(ctx, t, db, "SELECT email_key FROM saved_signatures", func([]any) { n++ })
		assert.Equal(t, 1, n)
	})
}
