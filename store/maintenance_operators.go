package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// MaintenanceRepository finds work for schedules and operators across all apps.
type MaintenanceRepository struct {
	*engine

	webhooks *WebhookRepository
	archives *ArchiveRepository
	bulk     *BulkRepository
}

// AllEnvelopes lists up to n envelopes of all apps in ID order, starting after the given ID. If statuses are given, it
// lists only envelopes with one of them. It is for operators, and must not be used to process an app's requests.
func (s *MaintenanceRepository) AllEnvelopes(ctx context.Context, after uuid.UUID, n int, statuses ...models.Status) ([]EnvelopeRef, error) {
	q := s.db.WithContext(ctx).Model(&models.Envelope{}).Where("id > ?", after)
	if len(statuses) > 0 {
		q = q.Where("status IN ?", statuses)
	}
	out, err := find[EnvelopeRef](q.Select("id, app_id").Order("id").Limit(n))
	return out, wrap(err, "list all envelopes")
}

// EnvelopesDueForTimestamp lists up to n envelopes of all apps in ID order, starting after the given ID. The sealed
// documents of these envelopes have no document time-stamp, or one that expires before the given time.
// EnvelopesDueForTimestamp must not be used to process an app's requests.
func (s *MaintenanceRepository) EnvelopesDueForTimestamp(ctx context.Context, before time.Time, after uuid.UUID, n int) ([]EnvelopeRef, error) {
	out, err := find[EnvelopeRef](s.db.WithContext(ctx).Model(&models.Envelope{}).Where(`id > ? AND status = ? AND EXISTS (SELECT 1 FROM documents AS d
		WHERE d.envelope_id = envelopes.id AND d.kind = ? AND d.purge_status = ? AND (d.timestamped_until IS NULL OR d.timestamped_until < ?))`,
		after, models.StatusCompleted, models.DocumentSealed, models.PurgeActive, before.UTC()).
		Select("id, app_id").Order("id").Limit(n))
	return out, wrap(err, "list documents without a time-stamp")
}

// FindEnvelope finds an envelope of any app. It must not be used to process an app's requests.
func (s *MaintenanceRepository) FindEnvelope(ctx context.Context, id uuid.UUID) (EnvelopeRef, error) {
	var out EnvelopeRef
	err := s.db.WithContext(ctx).Model(&models.Envelope{}).Select("id, app_id").Where("id = ?", id).Take(&out).Error
	return out, wrap(mapNotFound(err), "find envelope %s", id)
}

// Unsealed is a fully signed envelope whose documents cannot be sealed.
type Unsealed struct {
	ID               uuid.UUID
	AppID            uuid.UUID
	SealingProblem   models.SealingProblem
	SealingProblemAt time.Time
}

func unsealedQuery(db *gorm.DB) *gorm.DB {
	return db.Model(&models.Envelope{}).Where("sealing_problem IS NOT NULL AND status = ?", models.StatusSealing)
}

// UnsealedEnvelopes lists up to n fully signed envelopes whose documents cannot be sealed, oldest problem first.
func (s *MaintenanceRepository) UnsealedEnvelopes(ctx context.Context, n int) ([]Unsealed, error) {
	var rows []Unsealed
	err := unsealedQuery(s.db.WithContext(ctx)).Select("id, app_id, sealing_problem, sealing_problem_at").
		Order("sealing_problem_at, id").Limit(n).Scan(&rows).Error
	return rows, wrap(err, "list envelopes that cannot be sealed")
}

// CountUnsealed returns the number of fully signed envelopes whose documents cannot be sealed.
func (s *MaintenanceRepository) CountUnsealed(ctx context.Context) (int64, error) {
	n, err := count(unsealedQuery(s.db.WithContext(ctx)))
	return n, wrap(err, "count envelopes that cannot be sealed")
}

// OpenWithDeadline is an open envelope with a deadline.
type OpenWithDeadline struct {
	ID        uuid.UUID
	AppID     uuid.UUID
	TenantID  string
	ExpiresAt time.Time
}

// DueEnvelopes lists up to n open envelopes of all apps whose deadline is before the given time, in order of deadline.
func (s *MaintenanceRepository) DueEnvelopes(ctx context.Context, before time.Time, n int) ([]OpenWithDeadline, error) {
	var rows []OpenWithDeadline
	err := s.db.WithContext(ctx).Model(&models.Envelope{}).Where("status IN ('sent', 'in_progress') AND expires_at < ?", before.UTC()).
		Select("id, app_id, tenant_id, expires_at").Order("expires_at, id").Limit(n).Scan(&rows).Error
	return rows, wrap(err, "list envelopes by deadline")
}

// DB returns the connection pool. It must be used only for metrics.
func (s *MaintenanceRepository) DB() (*sql.DB, error) {
	conn, err := s.db.DB()
	return conn, wrap(err, "get database connection pool")
}

// WeakDurability returns the PostgreSQL settings with which a crash can lose acknowledged commits.
func (s *MaintenanceRepository) WeakDurability(ctx context.Context) ([]string, error) {
	if !s.postgres {
		return nil, nil
	}
	var weak []string
	// SQL: the query reads PostgreSQL settings.
	err := s.db.WithContext(ctx).Raw(`SELECT name || ' = ' || setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'off' ORDER BY name`).Scan(&weak).Error
	return weak, wrap(err, "read the server's settings")
}

// ClockSkew returns how far the database's clock is ahead of this process's clock, and the duration of the query,
// which is the maximum error. For SQLite, which uses the process's clock, it returns zeros.
func (s *MaintenanceRepository) ClockSkew(ctx context.Context) (ahead, within time.Duration, err error) {
	if !s.postgres {
		return 0, 0, nil
	}
	var theirs time.Time
	before := s.now()
	// SQL: the query calls a PostgreSQL function.
	if err := s.db.WithContext(ctx).Raw("SELECT clock_timestamp()").Scan(&theirs).Error; err != nil {
		return 0, 0, fmt.Errorf("query database clock: %w", err)
	}
	within = s.now().Sub(before)
	return theirs.Sub(before.Add(within / 2)), within, nil
}
