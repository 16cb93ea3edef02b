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

// tsaLimit limits one request to the time-stamp authority.
const tsaLimit = 30 * time.Second

func timestampAuthority(cfg config.Config) *cms.Authority {
	return &cms.Authority{URL: cfg.TSAURL, Client: &http.Client{Timeout: tsaLimit}, Rand: rand.Reader}
}

// anchorer returns the service that time-stamps the audit trail; nil unless the settings enable it.
func (a *app) anchorer() activities.Anchorer {
	if !a.cfg.TSAAnchor {
		return nil
	}
	a.metrics.Anchor(a.lastAnchor)
	return audit.Anchorer{Store: a.store, Blobs: a.blobs, Authority: timestampAuthority(a.cfg), Now: now}
}

func (a *app) lastAnchor(ctx context.Context) (time.Time, error) {
	last, err := a.store.LastAnchor(ctx)
	if err != nil || last == nil {
		return time.Time{}, err
	}
	return last.At, nil
}

// ensureSchedules creates the Temporal schedules.
func (a *app) ensureSchedules(ctx context.Context) error {
	if err := temporal.EnsureCleanupSchedule(ctx, a.client); err != nil {
		return err
	}
	if err := temporal.EnsureReconcileSchedule(ctx, a.client); err != nil {
		return err
	}
	if a.cfg.TSAAnchor {
		return temporal.EnsureAnchorSchedule(ctx, a.client)
	}
	if err := temporal.DeleteAnchorSchedule(ctx, a.client); err != nil {
		if temporal.Retryable(err) {
			return err
		}
		a.log.WarnContext(ctx, "it is not known whether the audit trail is still anchored", "error", err)
	}
	return nil
}
