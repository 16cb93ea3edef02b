// Package totp generates the secrets of time-based one-time passwords and verifies the passwords (RFC 6238). It uses
// the parameters of authenticator apps: SHA-1, six digits and a period of 30 seconds.
package totp

import (
	"fmt"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

const (
	period     = 30 // seconds
	secretSize = 20 // bytes, as RFC 4226 §4 recommends
	// skew is the permitted deviation of a device's clock in either direction, in steps (RFC 6238 §6).
	skew = 1
)

// Secret is the secret shared by a device and the service.
type Secret struct {
	Text string // in base32, for manual entry
	URI  string // otpauth://totp/…, for a QR code
}

// New generates a secret for an account.
func New(issuer, account string) (Secret, error) {
	k, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: account, Period: period, SecretSize: secretSize})
	if err != nil {
		return Secret{}, fmt.Errorf("create secret for one-time passwords: %w", err)
	}
	return Secret{Text: k.Secret(), URI: k.URL()}, nil
}

// Match returns the time step for which code is the password. A step must be used only once (§5.2), so the caller
// stores the last used step and accepts only later ones.
func Match(secret, code string, at time.Time) (step int64, ok bool) {
	opts := hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}
	now := at.Unix() / period
	for step := now - skew; step <= now+skew; step++ {
		if good, err := hotp.ValidateCustom(code, uint64(step), secret, opts); err == nil && good { //nolint:gosec // after 1970
			return step, true
		}
	}
	return 0, false
}
