package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"countersign/config"
	"countersign/seal/cms"
	"countersign/seal/trust"
	"countersign/store"
)

// trust reports which certificates, record keys and sealers this service trusts when it verifies documents, and whether
// it trusts time-stamps from the configured authority.
func (x *doctor) trust(ctx context.Context, cfg config.Config, s *store.Store) {
	others, err := settingsTrust(cfg)
	if err != nil {
		x.fail("trust", err, "Correct the setting named above; docs/learn/verify.md describes the trust settings.")
		return
	}
	if s == nil {
		x.skip("not checked: the database is not up to date", "trust")
		return
	}
	own, err := s.SealCertificates(ctx)
	if err != nil {
		x.fail("trust", err, "Check the database.")
		return
	}
	keys, err := s.Trust(ctx)
	if err != nil {
		x.fail("trust", err, "Check the database.")
		return
	}
	revoked := 0
	for _, c := range own {
		if c.Revoked != nil {
			revoked++
		}
	}
	for _, k := range keys.RecordKeys {
		if k.Revoked != nil {
			revoked++
		}
	}
	detail := fmt.Sprintf("verification trusts %d sealing certificate(s) and %d record key(s) of this installation, %d of them revoked, and %d other sealer(s)",
		len(own), len(keys.RecordKeys), revoked, len(others.Sealers))
	if len(own)+len(others.Sealers) == 0 {
		x.add("trust", warned, detail, "A worker records its certificate when it starts; until then, every verdict is \"untrusted\".")
	} else {
		x.ok("trust", detail)
	}
	x.stampers(ctx, cfg, others)
}

// stampers checks whether time-stamps from the configured authority are trusted.
func (x *doctor) stampers(ctx context.Context, cfg config.Config, others trust.Policy) {
	if cfg.TSAURL == "" {
		return
	}
	if others.Stampers == nil {
		x.add("tsa_trust", warned, "no time-stamp authority is trusted: verification reports times as not confirmed",
			"Set COUNTERSIGN_TRUST_TSA to the root certificate of the authority at COUNTERSIGN_TSA_URL.")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	sum := sha256.Sum256([]byte("countersign"))
	token, err := newTimestampAuthority(cfg).Stamp(ctx, sum[:])
	if err != nil {
		x.skip("not checked: the authority does not respond", "tsa_trust")
		return
	}
	t, err := cms.ParseToken(token)
	if err != nil {
		x.fail("tsa_trust", err, "The authority at COUNTERSIGN_TSA_URL does not return a time-stamp.")
		return
	}
	stamp := others.Evaluate(trust.Seal{Stamps: []trust.Stamp{{Certificates: t.Chain(), Time: t.Time}}}, now()).Stamps[0]
	if stamp.Status != trust.Trusted {
		x.add("tsa_trust", failed, fmt.Sprintf("with COUNTERSIGN_TRUST_TSA, the time-stamps of %s are not trusted (%s)", stamp.Name, stamp.Code),
			"Add the certificate of the time-stamp authority's issuer to COUNTERSIGN_TRUST_TSA; until then, the time-stamps are \"untrusted\".")
		return
	}
	x.ok("tsa_trust", fmt.Sprintf("%s is trusted, until %s", stamp.Name, stamp.To.UTC().Format(time.DateOnly)))
}
