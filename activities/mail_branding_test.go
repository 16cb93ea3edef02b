package activities_test

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestMails_HaveTheTenantsBranding checks the color, footer, help link and attached logo of emails, and that emails
// without branding have no logo.
func TestMails_HaveTheTenantsBranding(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.completed("a@example.com")
		require.Nil(env.t, env.sealer.last.Logo)
		require.NoError(env.t, env.SendCopies(ctx, in))
		require.Empty(env.t, env.mails.mails[0].Inline)
		require.NotContains(env.t, env.mails.mails[0].HTML, "<img")

		var logo bytes.Buffer
		require.NoError(env.t, png.Encode(&logo, image.NewNRGBA(image.Rect(0, 0, 40, 20))))
		colour, footer, help := "#7a1f3d", "Acme Ltd", "https://acme.example/help"
		require.NoError(env.t, env.Store.ChangeBranding(ctx, env.app.ID, e.TenantID, models.Branding{
			Settings: models.Settings{PrimaryColor: &colour, Footer: &footer, SupportURL: &help}, Logo: logo.Bytes(),
		}, []string{"primaryColor", "footer", "supportUrl", "logo"}))
		_, in = env.completed("b@example.com")
		require.Equal(env.t, logo.Bytes(), env.sealer.last.Logo)
		require.Equal(env.t, colour, env.sealer.last.Color)
		require.NoError(env.t, env.SendCopies(ctx, in))
		mail := env.mails.mails[1]
		require.Len(env.t, mail.Inline, 1)
		require.Equal(env.t, logo.Bytes(), mail.Inline[0].Content)
		for _, part := range []string{"cid:" + mail.Inline[0].ID, colour, footer, help} {
			require.Contains(env.t, mail.HTML, part)
		}
		require.Contains(env.t, mail.Text, footer)
	})
}
