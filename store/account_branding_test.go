package store_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestBranding_BelongsToOneTenant checks that changing or clearing a tenant's branding affects neither the tenant's
// other settings nor the branding of other tenants.
func TestBranding_BelongsToOneTenant(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		ctx := t.Context()
		app, _, _ := newUsers(t, s)
		logo, days := []byte("a PNG"), 7
		for _, tenant := range []string{"t", "other"} {
			require.NoError(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, TenantID: tenant, RetentionDays: &days}))
			b := models.Branding{Settings: models.Settings{SenderName: new("Acme"), Footer: new("not named")}, Logo: logo}
			require.NoError(t, s.ChangeBranding(ctx, app.ID, tenant, b, []string{"senderName", "logo"}))
		}
		branded := func(tenant string) models.Branding {
			b, err := s.Branding(ctx, app.ID, tenant)
			require.NoError(t, err)
			return b
		}
		got := branded("t")
		require.Equal(t, []any{"Acme", logo, fmt.Sprintf("%x", sha256.Sum256(logo))}, []any{*got.SenderName, got.Logo, *got.LogoSHA256})
		require.Nil(t, got.Footer)

		require.NoError(t, s.ChangeBranding(ctx, app.ID, "t", models.Branding{}, []string{"logo"}))
		got = branded("t")
		require.Equal(t, "Acme", *got.SenderName)
		require.Nil(t, got.Logo)
		require.Nil(t, got.LogoSHA256)
		require.NoError(t, s.ClearBranding(ctx, app.ID, "t"))
		got = branded("t")
		require.Nil(t, got.SenderName)
		require.Equal(t, days, *got.RetentionDays)
		kept := branded("other")
		require.Equal(t, []any{"Acme", logo}, []any{*kept.SenderName, kept.Logo})
	})
}
