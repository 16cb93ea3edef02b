package api

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/models"
)

func TestPlainTexts_AreStringsNumbersAndBooleans(t *testing.T) {
	t.Parallel()
	o := objectOf(t, `{"values":{"a":true,"b":1.50,"c":"x","d":null,"e":false}}`)
	require.Equal(t, map[string]string{"a": "true", "b": "1.50", "c": "x", "d": "", "e": "false"}, o.plainTexts("values"))
	require.Empty(t, o.p)
	o = objectOf(t, `{"values":{"a":[]}}`)
	require.Nil(t, o.plainTexts("values"))
	require.Contains(t, o.p, "values")
	for n, ok := range map[int]bool{models.MaxFields: true, models.MaxFields + 1: false} {
		members := make(map[string]any, n)
		for i := range n {
			members[fmt.Sprint("f", i)] = "x"
		}
		o := &object{m: map[string]any{"values": members}, p: models.Problems{}}
		require.Equal(t, ok, len(o.plainTexts("values")) == n)
		require.Equal(t, ok, len(o.p) == 0)
	}
}

func TestCheckAuth_WithoutASender_IsRejected(t *testing.T) {
	t.Parallel()
	s := &templateHandler{}
	s.shared = &shared{}
	e := &models.Envelope{Signers: []*models.Signer{{Role: "a", AuthMethod: models.AuthEmailOTP}}}
	require.NoError(t, s.checkAuth(e))
	e.Signers = append(e.Signers, &models.Signer{Role: "tenant", AuthMethod: models.AuthSMSOTP})
	err := s.checkAuth(e)
	require.Equal(t, "validation_error", codeOf(t, err))
	require.ErrorContains(t, err, "includes the role tenant, whose authMethod sms_otp is unavailable")
}
