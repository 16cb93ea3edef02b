package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestApps_AreValidated checks that apps are validated when they are created and changed, and that a rejected change
// has no effect.
func TestApps_AreValidated(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		long := strings.Repeat("x", 256)
		for want, c := range map[string]struct {
			name    string
			plan    models.Plan
			tenants []string
		}{
			"validation_error name":       {"", models.PlanFree, nil},
			"validation_error plan":       {"A", "gold", nil},
			"validation_error tenants[1]": {"A", models.PlanFree, []string{"t", long}},
		} {
			_, _, err := s.CreateApp(ctx, c.name, c.plan, c.tenants)
			assert.Equal(t, want, rejectionOf(t, err))
		}
		app, _, err := s.CreateApp(ctx, "A", models.PlanFree, []string{"t"})
		require.NoError(t, err)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanPro, nil)
		require.NoError(t, err)
		empty, gold, address := "", models.Plan("gold"), "nobody"
		for want, c := range map[string]store.AppChange{
			"validation_error name": {Name: &empty}, "validation_error plan": {Plan: &gold}, "validation_error contact": {Contact: &address},
			"validation_error tenants[0]": {Tenants: &[]string{long}},
		} {
			_, err := s.UpdateApp(ctx, app.ID, c)
			assert.Equal(t, want, rejectionOf(t, err))
		}
		unchanged, err := s.App(ctx, app.ID)
		require.NoError(t, err)
		assert.Equal(t, app, unchanged)
		assert.Equal(t, clock.Now(), unchanged.CreatedAt.UTC())

		name, contact, plan := "B", "ops@example.com", models.PlanEnterprise
		for _, c := range []store.AppChange{{Name: &name}, {Contact: &contact}, {Plan: &plan}, {Tenants: &[]string{"u", "v"}}} {
			_, err = s.UpdateApp(ctx, app.ID, c)
			require.NoError(t, err)
		}
		changed, err := s.App(ctx, app.ID)
		require.NoError(t, err)
		assert.Equal(t, []any{"B", "ops@example.com", models.PlanEnterprise, []string{"u", "v"}}, []any{changed.Name, changed.Contact, changed.Plan, changed.Tenants})
		assert.Equal(t, app.ClientID, changed.ClientID)
		changed, err = s.UpdateApp(ctx, app.ID, store.AppChange{Contact: &empty, Tenants: &[]string{}})
		require.NoError(t, err)
		assert.Equal(t, []any{"", []string{}, "B"}, []any{changed.Contact, changed.Tenants, changed.Name})
		same, err := s.App(ctx, other.ID)
		require.NoError(t, err)
		assert.Equal(t, other, same, "no part of the app was changed")

		for _, id := range []uuid.UUID{app.ID, app.ClientID} {
			found, err := s.AppByAnyID(ctx, id)
			require.NoError(t, err)
			assert.Equal(t, app.ID, found.ID)
		}
		unknown := uuid.New()
		_, err1 := s.AppByAnyID(ctx, unknown)
		_, err2 := s.App(ctx, unknown)
		_, err3 := s.UpdateApp(ctx, unknown, store.AppChange{Name: &name})
		_, err4 := s.AddSecret(ctx, unknown, time.Hour)
		_, err5 := s.App(ctx, app.ClientID)
		_, err6 := s.CreateWebhook(ctx, unknown, "https://example.com", models.WebhookEvents, "")
		for i, err := range []error{err1, err2, err3, err4, err5, err6, s.EndClientSecret(ctx, unknown, unknown)} {
			require.ErrorIs(t, err, models.ErrNotFound, i)
		}
		assert.Equal(t, models.DefaultPlans().Limits(models.PlanPro), s.PlanLimits(models.PlanPro))
	})
}

// TestClientSecrets checks that a secret authenticates only its own app and only until it expires, and that the latest
// secret cannot be ended.
func TestClientSecrets(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		app, first, err := s.CreateApp(ctx, "A", models.PlanFree, nil)
		require.NoError(t, err)
		other, others, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		good := func(app *models.App, secret string) bool {
			got, err := s.Authenticate(ctx, app.ClientID.String(), secret)
			if err != nil {
				require.ErrorIs(t, err, models.ErrNotFound)
				return false
			}
			require.Equal(t, app.ID, got.ID)
			return true
		}
		list := func(app *models.App) []models.ClientSecret {
			all, err := s.ClientSecrets(ctx, app.ID)
			require.NoError(t, err)
			return all
		}
		assert.False(t, good(app, others))
		clock.Add(time.Minute)
		second, err := s.AddSecret(ctx, app.ID, time.Hour)
		require.NoError(t, err)
		assert.Equal(t, []bool{true, true, true}, []bool{good(app, first), good(app, second), good(other, others)})
		require.Len(t, list(app), 2)
		assert.Equal(t, clock.Now(), list(app)[0].CreatedAt.UTC(), "the newest secret comes first")
		assert.Nil(t, list(app)[0].ExpiresAt)
		assert.Equal(t, clock.Now().Add(time.Hour), list(app)[1].ExpiresAt.UTC())
		require.Len(t, list(other), 1)
		assert.Nil(t, list(other)[0].ExpiresAt, "the other app's secret does not change")

		// Adding a secret does not extend the lifetime of earlier ones.
		clock.Add(30 * time.Minute)
		third, err := s.AddSecret(ctx, app.ID, time.Hour)
		require.NoError(t, err)
		clock.Add(30*time.Minute - time.Microsecond)
		assert.Equal(t, []bool{true, true, true}, []bool{good(app, first), good(app, second), good(app, third)})
		require.Len(t, list(app), 3)
		clock.Add(time.Microsecond)
		assert.Equal(t, []bool{false, true, true}, []bool{good(app, first), good(app, second), good(app, third)})
		require.Len(t, list(app), 2)
		hook, err := s.CreateWebhook(ctx, app.ID, "https://example.com", models.WebhookEvents, "")
		require.NoError(t, err)
		d, err := s.PingWebhook(ctx, app.ID, hook.ID)
		require.NoError(t, err)
		job, err := s.DeliveryJob(ctx, d.ID)
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte(third), []byte(second)}, job.Secrets, "the valid secrets, newest first")

		newest, older := list(app)[0].ID, list(app)[1].ID
		assert.Equal(t, "secret_newest", rejectionOf(t, s.EndClientSecret(ctx, app.ID, newest)))
		require.NoError(t, s.EndClientSecret(ctx, app.ID, older))
		require.ErrorIs(t, s.EndClientSecret(ctx, app.ID, older), models.ErrNotFound, "the secret has expired")
		require.ErrorIs(t, s.EndClientSecret(ctx, app.ID, list(other)[0].ID), models.ErrNotFound)
		assert.Equal(t, []bool{false, true, true}, []bool{good(app, second), good(app, third), good(other, others)})
		job, err = s.DeliveryJob(ctx, d.ID)
		require.NoError(t, err)
		assert.Equal(t, [][]byte{[]byte(third)}, job.Secrets)
	})
}

// TestPlans_AreCounted checks that an app can send as many envelopes a month as its plan permits, and none if its plan
// is unknown.
func TestPlans_AreCounted(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		clock, url := kit.NewClock(), kit.MigratedURL(t, kind)
		plans := models.DefaultPlans()
		plans.Enterprise.EnvelopesPerMonth = 1 // with overage
		s, err := store.Open(t.Context(), store.Config{URL: url, PasswordCost: kit.PasswordCost, Vault: kit.Vault(t), Now: clock.Now, NewID: newID, Plans: plans})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		ctx := t.Context()
		f := newFixture(t, s, clock)
		free, _, err := s.CreateApp(ctx, "Free", models.PlanFree, nil)
		require.NoError(t, err)
		limit := s.PlanLimits(models.PlanFree).EnvelopesPerMonth
		require.Positive(t, limit)
		used := func(app *models.App) int {
			n, err := s.EnvelopesUsed(ctx, app.ID)
			require.NoError(t, err)
			return n
		}
		enterprise := f.app
		for range limit + 1 {
			f.sent(1, nil)
		}
		f.app = free
		for n := range limit {
			assert.Equal(t, n, used(free))
			f.sent(1, nil)
		}
		assert.Equal(t, []int{limit, limit + 1}, []int{used(free), used(enterprise)})
		send := func() error {
			e, err := models.NewEnvelope(f.act(), models.Envelope{AppID: free.ID, TenantID: "t", CreatedBy: "me"})
			require.NoError(t, err)
			e.Events = append(e.Events, models.Event{ID: uuid.New(), EnvelopeID: e.ID, Name: models.EventEnvelopeSent, Timestamp: clock.Now(), Actor: "system"})
			return s.Create(ctx, e)
		}
		assert.Equal(t, "plan_limit_reached", rejectionOf(t, send()))
		assert.Equal(t, limit, used(free), "rejected envelopes are not counted")
		clock.Add(31 * 24 * time.Hour)
		assert.Zero(t, used(free), "another month")
		require.NoError(t, send())
		assert.Equal(t, 1, used(free))
		_, err = openRaw(t, kind, url).ExecContext(ctx, "UPDATE apps SET plan = 'gold' WHERE id = '"+free.ID.String()+"'")
		require.NoError(t, err)
		require.ErrorContains(t, send(), `unknown plan "gold"`)
	})
}

// TestPeriodStart_IsUTCMonth checks that a period starts at the beginning of a calendar month in UTC.
func TestPeriodStart_IsUTCMonth(t *testing.T) {
	t.Parallel()
	west := time.FixedZone("west", -5*3600)
	assert.Equal(t, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), store.PeriodStart(time.Date(2026, 11, 30, 20, 0, 0, 0, west)))
	assert.Equal(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), store.PeriodStart(time.Date(2026, 11, 30, 18, 59, 0, 0, west)))
}

// TestSignInApp checks that a first sign-in selects the named app, or the only app if none is named.
func TestSignInApp(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		require.ErrorIs(t, errOf(s.SignInApp(ctx, uuid.Nil)), models.ErrNotFound, "there is no app")
		first, _, err := s.CreateApp(ctx, "First", models.PlanEnterprise, nil)
		require.NoError(t, err)
		assert.Equal(t, first.ID, must(s.SignInApp(ctx, uuid.Nil)).ID)
		require.ErrorIs(t, errOf(s.SignInApp(ctx, newID())), models.ErrNotFound)
		second, _, err := s.CreateApp(ctx, "Second", models.PlanEnterprise, nil)
		require.NoError(t, err)
		require.ErrorIs(t, errOf(s.SignInApp(ctx, uuid.Nil)), models.ErrNotFound, "there are several apps")
		for _, app := range []*models.App{first, second} {
			found := must(s.SignInApp(ctx, app.ClientID))
			assert.Equal(t, []any{app.ID, app.Name}, []any{found.ID, found.Name})
		}
	})
}
