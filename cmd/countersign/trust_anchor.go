package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"countersign/activities"
	"countersign/config"
	"countersign/operate/audit"
	"countersign/seal/cms"
	"countersign/temporal"
)

// tsaLimit is the time limit for each request to the time-stamp authority.
const tsaLimit = 30 * time.Second

func newTimestampAuthority(cfg config.Config) *cms.Authority {
	return &cms.Authority{URL: cfg.TSAURL, Client: &http.Client{Timeout: tsaLimit}, Rand: rand.Reader}
}

// newAnchorer returns the service that time-stamps the audit trail, or nil if the settings do not enable it.
func (a *app) newAnchorer() activities.Anchorer {
	if !a.cfg.TSAAnchor {
		return nil
	}
	a.metrics.Anchor(a.lastAnchor)
	return audit.Anchorer{Store: a.store, Blobs: a.blobs, Authority: newTimestampAuthority(a.cfg), Now: now}
}

func (a *app) lastAnchor(ctx context.Context) (time.Time, error) {
	last, err := a.store.LastAnchor(ctx)
	if err != nil || last == nil {
		return time.Time{}, err
	}
	return last.At, nil
}

func (a *app) ensureSchedules(ctx context.Context) error {
	if err := temporal.EnsureReconcileSchedule(ctx, a.client); err != nil {
		return err
	}
	if err := temporal.EnsureCleanupSchedule(ctx, a.client); err != nil {
		return err
	}
	if a.cfg.TSAAnchor {
		return temporal.EnsureAnchorSchedule(ctx, a.client)
	}
	if err := temporal.DeleteAnchorSchedule(ctx, a.client); err != nil {
		if temporal.Retryable(err) {
			return err
		}
		a.log.WarnContext(ctx, "cannot determine whether the audit trail is still anchored", "error", err)
	}
	return nil
}

// scheduleInterval is the interval at which a worker checks that the schedules exist.
const scheduleInterval = 30 * time.Second

// keepSchedules runs until ctx ends. It recreates the search attributes and schedules if Temporal has lost its data.
// Without the reconcile schedule, lost workflows would never be restarted.
func (a *app) keepSchedules(ctx context.Context) {
	ticker := time.NewTicker(scheduleInterval)
	defer ticker.Stop()
	missing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// Temporal may be busy after a restart, so allow the creation to take until the next check.
		try, cancel := context.WithTimeout(ctx, scheduleInterval)
		there, _, err := temporal.ScheduleState(try, a.client, temporal.ScheduleReconcile)
		missing = missing || err == nil && !there
		if err == nil && missing {
			a.log.WarnContext(ctx, "the schedules are missing from Temporal and will be re-created")
			err = errors.Join(temporal.EnsureSearchAttributes(try, a.client, a.cfg.TemporalNamespace), a.ensureSchedules(try))
			missing = err != nil // some schedules may still be missing
		}
		cancel()
		if err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "the schedules cannot be listed; retrying", "error", err)
		}
	}
}
