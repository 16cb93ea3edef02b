package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// EnvelopesUsed is the number of envelopes that an app has sent in the current period.
func (s *Store) EnvelopesUsed(ctx context.Context, app uuid.UUID) (int, error) {
	var n int
	err := s.db.WithContext(ctx).Raw(`SELECT COALESCE(SUM(envelopes), 0) FROM usage WHERE app_id = ? AND period_start = ?`,
		app, PeriodStart(s.now()).Format(time.DateOnly)).Scan(&n).Error
	if err != nil {
		return 0, fmt.Errorf("load usage: %w", err)
	}
	return n, nil
}

// countEnvelope counts a sent envelope against the app's plan, and refuses it
// if the plan allows no more.
func (s *Store) countEnvelope(t *transaction, app uuid.UUID, at time.Time) error {
	var plan models.Plan
	var used int
	t.query(func(r row) error { return r.Scan(&plan) }, "SELECT plan FROM apps WHERE id = $1", app)
	t.query(func(r row) error { return r.Scan(&used) }, `INSERT INTO usage (app_id, period_start, envelopes) VALUES ($1, $2, 1)
		ON CONFLICT (app_id, period_start) DO UPDATE SET envelopes = usage.envelopes + 1 RETURNING envelopes`,
		app, PeriodStart(at).Format(time.DateOnly))
	if err := t.send(); err != nil {
		return fmt.Errorf("count envelope: %w", err)
	}
	if !plan.Valid() {
		return fmt.Errorf("app %s has unknown plan %q", app, plan)
	}
	limits := s.plans.Limits(plan)
	if limits.EnvelopesPerMonth > 0 && used > limits.EnvelopesPerMonth && !limits.Overage {
		return models.Refuse(models.KindPayment, "plan_limit_reached",
			"The %s plan allows %d envelopes a month, and all of them have been sent.", plan, limits.EnvelopesPerMonth)
	}
	return nil
}

// PeriodStart is the beginning of the usage period that contains t: the calendar month, UTC.
func PeriodStart(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}
