package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestListEnvelopes_Filters checks each filter individually, and checks that consecutive pages list the envelopes of
// the request's app and tenant, newest first.
func TestListEnvelopes_Filters(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
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
		require.NoError(t, errOf(s.BeginMail(ctx, models.Mail{ID: "m1", EnvelopeID: b.ID, SignerID: newID(), Kind: models.MailInvitation})))
		require.NoError(t, s.MailFailed(ctx, "m1", "no such user"))
		require.NoError(t, errOf(s.BeginMail(ctx, models.Mail{ID: "m2", EnvelopeID: a.ID, SignerID: newID(), Kind: models.MailInvitation})))
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
		for _, narrow := range []time.Time{{}, clock.Now().Add(time.Hour)} { // with stored and with counted totals
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

// TestLists_ByTimeOfChange checks the filters and cursors for clients that maintain a copy of the envelopes.
func TestLists_ByTimeOfChange(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		foreign := newFixture(t, s, clock)
		var made []*models.Envelope
		for range 4 {
			clock.Add(time.Second)
			made = append(made, f.prepared())
		}
		clock.Add(time.Second)
		theirs := foreign.prepared() // the newest envelope
		void(t, s, made[1])
		made[1] = must(s.Envelope(ctx, f.app.ID, made[1].ID))
		list := func(filter store.EnvelopeFilter) (out []int) {
			filter.App, filter.Page = f.app.ID, max(filter.Page, 1)
			if filter.Size == 0 {
				filter.Size = 9
			}
			found, total, err := s.Envelopes(ctx, filter)
			require.NoError(t, err)
			if filter.After == nil && filter.Page == 1 && len(found) < filter.Size {
				assert.EqualValues(t, len(found), total, "%+v", filter)
			}
			for _, e := range found {
				out = append(out, slices.IndexFunc(made, func(m *models.Envelope) bool { return m.ID == e.ID }))
			}
			return out
		}
		place := func(i int) *store.ListPosition { return &store.ListPosition{ID: made[i].ID, At: made[i].UpdatedAt} }
		created := func(e *models.Envelope) *store.ListPosition { return &store.ListPosition{ID: e.ID, At: e.CreatedAt} }
		newest := slices.SortedFunc(slices.Values([]int{0, 1, 2, 3}), func(a, b int) int { return slices.Compare(made[b].ID[:], made[a].ID[:]) })
		for name, c := range map[string]struct {
			filter store.EnvelopeFilter
			want   []int
		}{
			"by change":                {store.EnvelopeFilter{ByUpdate: true}, []int{0, 2, 3, 1}},
			"behind a place":           {store.EnvelopeFilter{ByUpdate: true, After: place(2)}, []int{3, 1}},
			"behind one, a page later": {store.EnvelopeFilter{ByUpdate: true, After: place(0), Page: 3, Size: 2}, []int{2, 3}},
			"one more":                 {store.EnvelopeFilter{ByUpdate: true, After: place(0), Size: 2, Peek: true}, []int{2, 3, 1}},
			"a second page":            {store.EnvelopeFilter{ByUpdate: true, Page: 2, Size: 3}, []int{1}},
			"since":                    {store.EnvelopeFilter{ByUpdate: true, UpdatedSince: made[3].UpdatedAt}, []int{3, 1}},
			"since, and drafts":        {store.EnvelopeFilter{ByUpdate: true, UpdatedSince: made[2].UpdatedAt.Add(time.Microsecond), Status: models.StatusDraft}, []int{3}},
			"newest first":             {store.EnvelopeFilter{Size: 2, Peek: true}, newest[:3]},
			"older than one":           {store.EnvelopeFilter{After: place(newest[1])}, newest[2:]},
			"address":                  {store.EnvelopeFilter{SignerEmail: "Ada@First.example", ByUpdate: true}, []int{0, 2, 3, 1}},
			"domain":                   {store.EnvelopeFilter{SignerEmail: "second.example", ByUpdate: true, Size: 1}, []int{0}},
			"part of an address":       {store.EnvelopeFilter{SignerEmail: "ada"}, nil},
			"text":                     {store.EnvelopeFilter{Text: "of the", Status: models.StatusVoided}, []int{1}},
			"no such text":             {store.EnvelopeFilter{Text: "of%the"}, nil},
			"no such external id":      {store.EnvelopeFilter{ExternalID: "x"}, nil},
			"not given up":             {store.EnvelopeFilter{Undelivered: true}, nil},
			"made from a time on":      {store.EnvelopeFilter{CreatedAfter: made[1].CreatedAt}, []int{3, 2, 1}},
			"made before a time":       {store.EnvelopeFilter{CreatedBefore: made[3].CreatedAt, Size: 2}, []int{2, 1}},
			"before, a page later":     {store.EnvelopeFilter{CreatedBefore: made[3].CreatedAt, Size: 2, Page: 2}, []int{0}},
			"made between, behind one": {store.EnvelopeFilter{CreatedAfter: made[1].CreatedAt, CreatedBefore: made[3].CreatedAt.Add(1), After: created(made[3])}, []int{2, 1}},
			"behind another app's":     {store.EnvelopeFilter{CreatedAfter: made[1].CreatedAt, After: created(theirs)}, []int{3, 2, 1}},
			"made later":               {store.EnvelopeFilter{CreatedAfter: clock.Now().Add(time.Hour)}, nil},
			"made earlier":             {store.EnvelopeFilter{CreatedBefore: clock.Now().Add(-time.Hour)}, nil},
			"changed later":            {store.EnvelopeFilter{UpdatedSince: clock.Now().Add(time.Hour)}, nil},
		} {
			assert.Equal(t, c.want, list(c.filter), name)
		}
	})
}
