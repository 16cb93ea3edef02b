package main

import (
	"context"
	"strings"

	"countersign/config"
	"countersign/internal/clamd"
	"countersign/internal/password"
	"countersign/models"
)

// guards looks at what keeps others out, where it is set up.
func (x *doctor) guards(ctx context.Context, cfg config.Config) {
	if cfg.ClamdURL != "" {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		s, err := clamd.Parse(cfg.ClamdURL)
		if err == nil {
			err = s.Ping(ctx)
		}
		if err != nil {
			x.fail("scanner", err, "See that clamd runs at COUNTERSIGN_CLAMD_URL; no upload is taken until it answers.")
		} else {
			x.ok("scanner", "answers")
		}
	}
	if cfg.LeakedPasswords != "" {
		if _, err := password.Leaked(cfg.LeakedPasswords, ""); err != nil {
			x.fail("leaked_passwords", err, "See that COUNTERSIGN_LEAKED_PASSWORDS can be read here, and is in order of hash; no password can be chosen until then.")
		} else {
			x.ok("leaked_passwords", "can be searched")
		}
	}
	if strings.HasPrefix(cfg.BaseURL, "https://") && !cfg.DeclineNeedsCode {
		x.add("decline", warned, "whoever has a signing link can decline for all, without the signer's code", "Set COUNTERSIGN_DECLINE_NEEDS_CODE=true, unless clients of yours decline without a code.")
	}
	if strings.HasPrefix(cfg.BaseURL, "https://") && cfg.ConsoleTOTP != models.SecondFactorRequired {
		x.add("second_factor", warned, "console users get in by their password alone", "Set COUNTERSIGN_CONSOLE_TOTP=required.")
	}
}
