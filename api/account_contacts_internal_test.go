package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestPhoneNumbers_AreNormalized checks that plausible phone numbers are converted to E.164, and that all other numbers
// remain unchanged.
func TestPhoneNumbers_AreNormalized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`"+45 12 34 56 78"`: "+4512345678", `"12345"`: "12345", `"+1"`: "+1", `""`: "", `"  "`: "", "null": ""} {
		got := phone(objectOf(t, `{"phone":`+text+`}`))
		if want == "" {
			require.Nil(t, got, text)
			continue
		}
		require.Equal(t, want, *got, text)
	}
	s := &envelopeHandler{subject: subject[envelopeStore]{shared: &shared{}}}
	o := objectOf(t, `{"name":" A\u200b ","email":" a@b.c ","authMethod":"sms_otp","routingOrder":3}`)
	in := s.signerInput(o)
	require.Equal(t, []any{"a@b.c", models.AuthSMSOTP, 3}, []any{in.Email, in.AuthMethod, in.RoutingOrder})
	require.Contains(t, o.p, "authMethod", "no text messages are sent here")
	o = objectOf(t, `{"name":"A","email":"a@b.c"}`)
	in = s.signerInput(o)
	require.Equal(t, []any{models.AuthEmailOTP, 1}, []any{in.AuthMethod, in.RoutingOrder})
	require.Empty(t, o.p)
}
