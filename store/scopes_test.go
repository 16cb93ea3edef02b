package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// must is for results whose error cannot be looked at.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func isPostgres(ctx context.Context, t *testing.T, s *store.Store) bool {
	t.Helper()
	db, err := s.DB()
	require.NoError(t, err)
	var version string
	return db.QueryRowContext(ctx, "SELECT version()").Scan(&version) == nil
}

// TestListsOfEnvelopes: each filter by itself selects what it says, of the app and
// tenant that asks; pages follow each other, the newest first.
func TestListsOfEnvelopes(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx := t.Context()
		f, other := newFixture(t, s, clock), newFixture(t, s, clock)
		envelope := func(f *fixture, tenant string) *models.Envelope {
			clock.Add(2 * time.Millisecond)
			act := f.act()
			act.NewID = newID
			e, err := models.NewEnvelope(act, models.Envelope{AppID: f.app.ID, TenantID: tenant, CreatedBy: "me"})
			require.NoError(t, err)
			require.NoError(t, s.Create(ctx, e))
			return e
		}
		a, b, c, foreign := envelope(f, "t"), envelope(f, "u"), envelope(f, "t"), envelope(other, "t")
		open, signed := f.sent(2, nil), f.sent(1, nil)
		require.NoError(t, f.sign(open, 0))
		require.NoError(t, f.sign(signed, 0))
		void(t, s, c)
		require.NoError(t, must2(s.BeginMail(ctx, models.Mail{ID: "m1", EnvelopeID: b.ID, SignerID: newID(), Kind: models.MailInvitation})))
		require.NoError(t, s.MailFailed(ctx, "m1", "no such user"))
		require.NoError(t, must2(s.BeginMail(ctx, models.Mail{ID: "m2", EnvelopeID: a.ID, SignerID: newID(), Kind: models.MailInvitation})))
		list := func(filter store.EnvelopeFilter) (ids []uuid.UUID) {
			filter.App = f.app.ID
			if filter.Page == 0 {
				filter.Page, filter.Size = 1, 100
			}
			found, total, err := s.Envelopes(ctx, filter)
			require.NoError(t, err)
			if filter.Size == 100 {
				require.EqualValues(t, len(found), total)
			}
			for _, e := range found {
				require.Equal(t, f.app.ID, e.AppID)
				ids = append(ids, e.ID)
			}
			return ids
		}
		for name, c := range map[string]struct {
			filter store.EnvelopeFilter
			want   []uuid.UUID
		}{
			"tenant":           {store.EnvelopeFilter{Tenant: "u"}, []uuid.UUID{b.ID}},
			"no such tenant":   {store.EnvelopeFilter{Tenant: "v"}, nil},
			"drafts":           {store.EnvelopeFilter{Status: models.StatusDraft}, []uuid.UUID{b.ID, a.ID}},
			"voided":           {store.EnvelopeFilter{Status: models.StatusVoided}, []uuid.UUID{c.ID}},
			"in progress":      {store.EnvelopeFilter{Status: models.StatusInProgress}, []uuid.UUID{signed.ID, open.ID}},
			"in progress in u": {store.EnvelopeFilter{Status: models.StatusInProgress, Tenant: "u"}, nil},
			"drafts of t":      {store.EnvelopeFilter{Status: models.StatusDraft, Tenant: "t"}, []uuid.UUID{a.ID}},
			"id":               {store.EnvelopeFilter{Search: a.ID.String()}, []uuid.UUID{a.ID}},
			"another app's id": {store.EnvelopeFilter{Search: foreign.ID.String()}, nil},
			"another tenant's": {store.EnvelopeFilter{Search: a.ID.String(), Tenant: "u"}, nil},
			"another status":   {store.EnvelopeFilter{Search: a.ID.String(), Status: models.StatusVoided}, nil},
			"either status":    {store.EnvelopeFilter{Search: open.ID.String(), Status: models.StatusInProgress}, []uuid.UUID{open.ID}},
			"undelivered":      {store.EnvelopeFilter{Undelivered: true}, []uuid.UUID{b.ID}},
			"from a time on":   {store.EnvelopeFilter{CreatedAfter: b.CreatedAt, Status: models.StatusDraft}, []uuid.UUID{b.ID}},
			"before a time":    {store.EnvelopeFilter{CreatedBefore: b.CreatedAt}, []uuid.UUID{a.ID}},
			"between times":    {store.EnvelopeFilter{CreatedAfter: b.CreatedAt, CreatedBefore: c.CreatedAt}, []uuid.UUID{b.ID}},
		} {
			assert.ElementsMatch(t, c.want, list(c.filter), name)
		}
		all := list(store.EnvelopeFilter{})
		require.Len(t, all, 5)
		both := list(store.EnvelopeFilter{Status: models.StatusInProgress})
		for _, narrow := range []time.Time{{}, clock.Now().Add(time.Hour)} { // by the kept totals, and counted
			for page, want := range [][]uuid.UUID{all[:2], all[2:4], all[4:], nil} {
				assert.Equal(t, want, list(store.EnvelopeFilter{Page: page + 1, Size: 2, CreatedBefore: narrow}))
			}
			for page, want := range [][]uuid.UUID{both[:1], both[1:], nil} {
				assert.Equal(t, want, list(store.EnvelopeFilter{Page: page + 1, Size: 1, Status: models.StatusInProgress, CreatedBefore: narrow}))
			}
		}
		assert.Empty(t, list(store.EnvelopeFilter{Page: 2, Size: 5}), "the last page was full")

		tenant, err := s.EnvelopeTenant(ctx, f.app.ID, b.ID)
		require.NoError(t, err)
		assert.Equal(t, "u", tenant)
		_, err = s.EnvelopeTenant(ctx, other.app.ID, b.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}

// must2 is the error of a call with a result that nobody needs.
func must2[T any](_ T, err error) error { return err }

// TestAChangeOfNothing writes nothing; one that is recorded, or changes one part
// alone, is saved.
func TestAChangeOfNothing(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(2, nil)
		f.awake()
		got, err := s.Change(ctx, f.app.ID, e.ID, func(*models.Envelope) error { return nil })
		require.NoError(t, err)
		assert.Equal(t, e.Version, got.Version)
		assert.True(t, f.awake(), "whoever waits looks once too often rather than too late")
		version := e.Version
		for _, c := range []struct {
			name   string
			change func(e *models.Envelope)
		}{
			{"event", func(e *models.Envelope) { require.NoError(t, e.Invited(f.act(), e.Signers[0].ID, false, "")) }},
			{"envelope", func(e *models.Envelope) { e.CreatedBy += "x" }},
			{"signer", func(e *models.Envelope) { e.Signers[1].UserAgent += "x" }},
			{"document", func(e *models.Envelope) { e.Documents[0].SealFacts += "x" }},
			{"field", func(e *models.Envelope) { e.Fields[1].Page++ }},
			{"address", func(e *models.Envelope) { e.Signers[0].Email = "other@example.com" }},
			{"phone", func(e *models.Envelope) { p := "+442079460958"; e.Signers[0].Phone = &p }},
			{"no phone", func(e *models.Envelope) { e.Signers[0].Phone = nil }},
			{"a value", func(e *models.Envelope) {
				e.Values = []models.FieldValue{{FieldID: e.Fields[0].ID, EnvelopeID: e.ID, SignerID: e.Signers[0].ID, Text: "v"}}
			}},
			{"a signature", func(e *models.Envelope) {
				e.Adopted = &models.SavedSignature{AppID: e.AppID, TenantID: "t", Email: "a@example.com", Image: []byte("png")}
			}},
			{"a new signer", func(e *models.Envelope) {
				e.Signers = append(e.Signers, &models.Signer{ID: newID(), EnvelopeID: e.ID, Position: 2, Name: "New", Email: "new@example.com"})
			}},
		} {
			changed, err := s.ChangeWithEvents(ctx, f.app.ID, e.ID, func(e *models.Envelope) error { c.change(e); return nil })
			require.NoError(t, err, c.name)
			version++
			assert.Equal(t, version, changed.Version, c.name)
			assert.Empty(t, changed.Events, c.name)
			assert.Empty(t, changed.Values, c.name)
			assert.Nil(t, changed.Adopted, c.name)
			stored, log := f.check(e.ID)
			assert.Equal(t, stored, changed.Envelope, c.name)
			assert.Len(t, changed.Log, len(log), c.name)
			assert.True(t, f.awake(), c.name)
		}
		values, err := s.Values(ctx, e)
		require.NoError(t, err)
		assert.Len(t, values, 1)
		found, _, err := s.Envelopes(ctx, store.EnvelopeFilter{App: f.app.ID, Search: "new@example.com", Page: 1, Size: 5})
		require.NoError(t, err)
		assert.Len(t, found, 1, "a signer who comes later is found")
		got, err = s.Change(ctx, f.app.ID, e.ID, func(e *models.Envelope) error { return e.Invited(f.act(), e.Signers[0].ID, false, "") })
		require.NoError(t, err)
		assert.Empty(t, got.Events)
		assert.True(t, f.awake())
	})
}

// TestValuesAreTheEnvelopes: of one envelope, and of one field.
func TestValuesAreTheEnvelopes(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
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
		require.Len(t, log, 3, "as it was when the envelope was loaded")
		for i := range log {
			assert.Equal(t, []any{e.ID, int64(i + 1)}, []any{log[i].EnvelopeID, log[i].Seq})
		}
	})
}
