package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// EnvelopesUsed returns the number of envelopes that an app has sent in the current period.
func (s *AppRepository) EnvelopesUsed(ctx context.Context, app uuid.UUID) (int, error) {
	return s.usage(ctx, app, "envelopes")
}

// EnvelopesReserved returns the number of envelopes that an app's bulk sends have reserved in the current period but
// not sent yet.
func (s *AppRepository) EnvelopesReserved(ctx context.Context, app uuid.UUID) (int, error) {
	return s.usage(ctx, app, "reserved")
}

func (s *AppRepository) usage(ctx context.Context, app uuid.UUID, column string) (int, error) {
	var n int
	err := s.db.WithContext(ctx).Table("usage").Select("COALESCE(SUM("+column+"), 0)").
		Where("app_id = ? AND period_start = ?", app, PeriodStart(s.now()).Format(time.DateOnly)).Scan(&n).Error
	return n, wrap(err, "load usage")
}

// countEnvelope counts a sent envelope against the app's plan, and rejects it if the limit is reached. An envelope
// that a bulk send reserved counts in the period of the reservation.
func (s *AppRepository) countEnvelope(t *transaction, app uuid.UUID, at time.Time) error {
	if t.reservedIn != "" {
		t.execOne("UPDATE usage SET envelopes = envelopes + 1, reserved = reserved - 1 WHERE app_id = $1 AND period_start = $2", app, t.reservedIn)
		return nil
	}
	var plan models.Plan
	var used int
	t.query(func(r row) error { return r.Scan(&plan) }, "SELECT plan FROM apps WHERE id = $1", app)
	t.query(func(r row) error { return r.Scan(&used) }, `INSERT INTO usage (app_id, period_start, envelopes) VALUES ($1, $2, 1)
		ON CONFLICT (app_id, period_start) DO UPDATE SET envelopes = usage.envelopes + 1 RETURNING envelopes + reserved`,
		app, PeriodStart(at).Format(time.DateOnly))
	if err := t.send(); err != nil {
		return fmt.Errorf("count envelope: %w", err)
	}
	if !plan.Valid() {
		return fmt.Errorf("app %s has unknown plan %q", app, plan)
	}
	limits := s.cfg.Plans.Limits(plan)
	if limits.EnvelopesPerMonth > 0 && used > limits.EnvelopesPerMonth && !limits.Overage {
		return models.Reject(models.KindPayment, "plan_limit_reached",
			"The %s plan allows %d envelopes per month, and all of them have been sent.", plan, limits.EnvelopesPerMonth)
	}
	return nil
}

// reserveEnvelopes reserves envelopes that will be sent later, and returns the period of the reservation, or "" if the
// plan has no limit. It returns an error if fewer envelopes remain in the plan.
func (s *AppRepository) reserveEnvelopes(t *transaction, app uuid.UUID, n int) (period string, err error) {
	var plan models.Plan
	t.query(func(r row) error { return r.Scan(&plan) }, "SELECT plan FROM apps WHERE id = $1", app)
	if err := t.send(); err != nil {
		return "", fmt.Errorf("reserve envelopes: %w", err)
	}
	if !plan.Valid() {
		return "", fmt.Errorf("app %s has unknown plan %q", app, plan)
	}
	limits := s.cfg.Plans.Limits(plan)
	if limits.EnvelopesPerMonth <= 0 || limits.Overage {
		return "", nil
	}
	period = PeriodStart(s.now()).Format(time.DateOnly)
	var used int
	t.query(func(r row) error { return r.Scan(&used) }, `INSERT INTO usage (app_id, period_start, envelopes, reserved) VALUES ($1, $2, 0, $3)
		ON CONFLICT (app_id, period_start) DO UPDATE SET reserved = usage.reserved + excluded.reserved RETURNING envelopes + reserved`, app, period, n)
	if err := t.send(); err != nil {
		return "", fmt.Errorf("reserve envelopes: %w", err)
	}
	if used > limits.EnvelopesPerMonth {
		return "", models.Reject(models.KindPayment, "plan_limit_reached",
			"The %s plan allows %d envelopes per month; %d are left, but this request requires %d.", plan, limits.EnvelopesPerMonth, max(0, limits.EnvelopesPerMonth-used+n), n)
	}
	return period, nil
}

// releaseEnvelopes releases envelopes that were reserved in a period and will not be sent. An empty period means that
// none were reserved.
func releaseEnvelopes(b *batch, app uuid.UUID, period string, n int) {
	if period != "" && n > 0 {
		b.execOne("UPDATE usage SET reserved = reserved - $3 WHERE app_id = $1 AND period_start = $2", app, period, n)
	}
}

// PeriodStart returns the beginning of the usage period that contains t, which is the calendar month in UTC.
func PeriodStart(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}
