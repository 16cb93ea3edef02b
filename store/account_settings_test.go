package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

func TestSettingsLayers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		seven, thirty, name := 7, 30, "Legal"
		require.NoError(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, DefaultExpiryDays: &thirty, SenderName: &name}))
		require.NoError(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, TenantID: "t", DefaultExpiryDays: &seven}))
		own, eff, err := s.Settings(t.Context(), app.ID, "t")
		require.NoError(t, err)
		require.Nil(t, own.SenderName)
		require.Equal(t, 7, *eff.DefaultExpiryDays)
		require.Equal(t, "Legal", *eff.SenderName)
		_, other, err := s.Settings(t.Context(), app.ID, "u")
		require.NoError(t, err)
		require.Equal(t, 30, *other.DefaultExpiryDays)
		require.NoError(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, TenantID: "t"}))
		_, eff, err = s.Settings(t.Context(), app.ID, "t")
		require.NoError(t, err)
		require.Equal(t, 30, *eff.DefaultExpiryDays)
		bad := 0
		require.Error(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, DefaultExpiryDays: &bad}))
	})
}

// TestSettings_BelongToAppAndTenant checks that settings apply to a single app and tenant, and that a change affects
// only the settings that it names.
func TestSettings_BelongToAppAndTenant(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		app, _, err := s.CreateApp(ctx, "A", models.PlanFree, nil)
		require.NoError(t, err)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		name, reply, days, foreign := "Legal", "legal@example.com", 7, "Foreign"
		require.NoError(t, s.SaveSettings(ctx, models.Settings{AppID: other.ID, SenderName: &foreign}))
		require.NoError(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, TenantID: "u", SenderName: &foreign}))
		require.NoError(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, TenantID: "t", SenderName: &name, ReplyTo: &reply}))
		own, effective, err := s.Settings(ctx, app.ID, "t")
		require.NoError(t, err)
		assert.Equal(t, []any{"Legal", "legal@example.com", clock.Now()}, []any{*own.SenderName, *own.ReplyTo, own.UpdatedAt.UTC()})
		assert.Equal(t, own.SenderName, effective.SenderName)
		general, _, err := s.Settings(ctx, app.ID, "")
		require.NoError(t, err)
		assert.Nil(t, general.SenderName)

		clock.Add(time.Minute)
		require.NoError(t, s.ChangeSettings(ctx, models.Settings{AppID: app.ID, TenantID: "t", RetentionDays: &days}, []string{"RetentionDays", "SenderName"}))
		own, _, err = s.Settings(ctx, app.ID, "t")
		require.NoError(t, err)
		assert.Nil(t, own.SenderName, "the setting was reset")
		assert.Equal(t, []any{7, "legal@example.com", clock.Now()}, []any{*own.RetentionDays, *own.ReplyTo, own.UpdatedAt.UTC()})
		zero := 0
		assert.Equal(t, "validation_error defaultExpiryDays", rejectionOf(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, DefaultExpiryDays: &zero})))
		assert.Equal(t, "validation_error tenantId", rejectionOf(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, TenantID: "a\nb"})))
	})
}
