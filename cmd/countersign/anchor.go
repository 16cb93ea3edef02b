package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"countersign/activities"
	"countersign/config"
	"countersign/operate/audit"
	"countersign/seal/cms"
	"countersign/temporal"
)

// tsaLimit bounds one question to the time-stamp authority.
const tsaLimit = 30 * time.Second

func authority(cfg config.Config) *cms.Authority {
	return &cms.Authority{URL: cfg.TSAURL, Client: &http.Client{Timeout: tsaLimit}, Rand: rand.Reader}
}

// anchorer has the audit trail time-stamped; nil unless the settings ask for it.
func (p *parts) anchorer() activities.Anchorer {
	if !p.cfg.TSAAnchor {
		return nil
	}
	p.metrics.Anchor(p.lastAnchor)
	return audit.Anchorer{Store: p.store, Blobs: p.blobs, Authority: authority(p.cfg), Now: now}
}

func (p *parts) lastAnchor(ctx context.Context) (time.Time, error) {
	last, err := p.store.LastAnchor(ctx)
	if err != nil || last == nil {
		return time.Time{}, err
	}
	return last.At, nil
}

// scheduleAnchors has Temporal run it every day, or no longer.
func (p *parts) scheduleAnchors(ctx context.Context) error {
	if p.cfg.TSAAnchor {
		return temporal.KeepAnchoring(ctx, p.client)
	}
	if err := temporal.EndAnchoring(ctx, p.client); err != nil {
		p.log.WarnContext(ctx, "it is not known whether the audit trail is still anchored", "error", err)
	}
	return nil
}
