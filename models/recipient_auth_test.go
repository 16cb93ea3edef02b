package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"countersign/models"
)

// TestAuthMethods checks that error messages list every method, and that a signer with an unknown method needs a code.
func TestAuthMethods(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "email_otp, sms_otp or none", models.AuthMethodNames)
	assert.Equal(t, "signer, approver, viewer, copy or in_person", models.RecipientKindNames)
	for method, want := range map[models.AuthMethod]struct{ valid, byPhone, code bool }{
		models.AuthEmailOTP: {valid: true, code: true},
		models.AuthSMSOTP:   {valid: true, byPhone: true, code: true},
		models.AuthNone:     {valid: true},
		"":                  {code: true},
		"pigeon":            {code: true},
	} {
		assert.Equal(t, want.valid, method.Valid(), method)
		assert.Equal(t, want.byPhone, method.ByPhone(), method)
		assert.Equal(t, want.code, (&models.Signer{AuthMethod: method}).NeedsCode(), method)
	}
}
