package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"countersign/internal/tracing"
	"countersign/models"
)

// outboxHorizon is the maximum time by which a row is postponed. A row that is due later than that was written before
// the clock was set back, and is treated as due now.
const outboxHorizon = 5 * time.Minute

// addOutbox adds rows with the current trace context, and wakes the dispatcher after the commit.
func addOutbox(t *transaction, rows ...models.OutboxRow) {
	if len(rows) == 0 {
		return
	}
	t.afterCommit = append(t.afterCommit, t.engine.signalWake)
	for _, r := range pointers(rows) {
		completeOutboxRow(t, r)
	}
	t.insert("outbox", "", mapSlice(pointers(rows), outboxColumns)...)
}

func completeOutboxRow(t *transaction, r *models.OutboxRow) {
	r.FairnessKey, r.Refs.Trace = r.Refs.FairnessKey(), tracing.Traceparent(t.ctx)
}

// claimedSQLite and claimedPostgres select the rows to claim. These are due rows that are the oldest for their key. The
// lanes alternate, so that a long lane does not delay the others. On PostgreSQL, the query visits the lanes in index
// order, and claims an equal number of rows from the beginning of each lane. It skips rows that another process is
// claiming.
const (
	outboxDue       = `(not_before <= @now OR not_before > @horizon) AND NOT EXISTS (SELECT 1 FROM outbox AS p WHERE p.key = o.key AND p.seq < o.seq)`
	claimedSQLite   = `SELECT seq FROM outbox AS o WHERE ` + outboxDue + ` ORDER BY row_number() OVER (PARTITION BY lane ORDER BY seq), seq LIMIT @n`
	claimedPostgres = `WITH RECURSIVE lanes (lane) AS (
			(SELECT lane FROM outbox ORDER BY lane LIMIT 1)
			UNION ALL
			SELECT (SELECT lane FROM outbox WHERE lane > l.lane ORDER BY lane LIMIT 1) FROM lanes AS l WHERE l.lane IS NOT NULL
		)
		SELECT seq FROM lanes CROSS JOIN LATERAL (
			SELECT seq FROM outbox AS o WHERE o.lane = lanes.lane AND ` + outboxDue + `
			ORDER BY seq LIMIT (SELECT greatest(1, @n / (count(*) - 1)) FROM lanes) FOR UPDATE SKIP LOCKED
		) AS heads
		ORDER BY seq LIMIT @n`
)

// ClaimOutbox claims up to n due rows, and hides them from other processes for the duration of the lease. It claims
// only the oldest row of each key. If rows of several lanes are waiting, it can return fewer rows than n, but the
// result is never empty while any row is due.
func (s *engine) ClaimOutbox(ctx context.Context, n int, lease time.Duration) ([]models.OutboxRow, error) {
	claimed := claimedSQLite
	if s.postgres {
		claimed = claimedPostgres
	}
	now := s.now()
	// SQL: the statement updates and returns the rows of a subquery with SKIP LOCKED.
	rows, err := find[models.OutboxRow](s.db.WithContext(ctx).Raw(`UPDATE outbox SET not_before = @lease, attempts = attempts + 1 WHERE seq IN (`+claimed+`) RETURNING *`,
		map[string]any{"now": now, "horizon": now.Add(outboxHorizon), "lease": now.Add(lease), "n": n}))
	return rows, wrap(err, "claim outbox rows")
}

// FinishOutbox deletes a delivered row.
func (s *engine) FinishOutbox(ctx context.Context, seq int64) error {
	return wrap(s.db.WithContext(ctx).Delete(&models.OutboxRow{}, "seq = ?", seq).Error, "finish outbox row %d", seq)
}

// RetryOutbox releases a row for another delivery attempt after the given wait, which is limited to five minutes.
func (s *engine) RetryOutbox(ctx context.Context, seq int64, wait time.Duration) error {
	err := s.db.WithContext(ctx).Model(&models.OutboxRow{}).Where("seq = ?", seq).Update("not_before", s.now().Add(min(wait, outboxHorizon))).Error
	return wrap(err, "release outbox row %d", seq)
}

// notQueued is the end of an SQL condition. The condition is true if no outbox row has the value of the preceding
// column as its key.
const notQueued = " NOT IN (SELECT key FROM outbox)"

// OutboxDepth returns the number of rows in the outbox, and the age of the oldest row.
func (s *engine) OutboxDepth(ctx context.Context) (n int64, age time.Duration, err error) {
	db := s.db.WithContext(ctx)
	if n, err = count(db.Model(&models.OutboxRow{})); err != nil {
		return 0, 0, fmt.Errorf("count outbox rows: %w", err)
	}
	oldest, err := first[models.OutboxRow](db.Order("seq"))
	if oldest != nil {
		age = s.now().Sub(oldest.CreatedAt)
	}
	return n, age, wrap(err, "find oldest outbox row")
}

func outboxColumns(r *models.OutboxRow) []column {
	return []column{
		{"id", &r.ID},
		{"key", &r.Key},
		{"lane", &r.FairnessKey},
		{"kind", &r.Kind},
		{"refs", inJSON{value: &r.Refs}},
		{"not_before", &r.NotBefore},
		{"created_at", &r.CreatedAt},
	}
}

func (s *engine) outboxRow(at time.Time, key uuid.UUID, kind models.OutboxKind, refs models.OutboxRefs) models.OutboxRow {
	return models.OutboxRow{ID: s.newID(), Key: key, Kind: kind, Refs: refs, NotBefore: at, CreatedAt: at}
}

// requestedMail returns the columns of the record for an email that an outbox row requests. Until the email is
// settled, reconciliation restarts the email's workflow if Temporal has lost it.
func requestedMail(row *models.OutboxRow, recipient uuid.UUID, kind models.MailKind) []column {
	m := models.Mail{ID: models.RequestedMailID(row.ID), EnvelopeID: row.Key, SignerID: recipient, Kind: kind, RequestID: &row.ID, CreatedAt: row.CreatedAt}
	return []column{
		{"id", &m.ID},
		{"envelope_id", &m.EnvelopeID},
		{"signer_id", &m.SignerID},
		{"kind", &m.Kind},
		{"request_id", &m.RequestID},
		{"created_at", &m.CreatedAt},
	}
}
