package store

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// On PostgreSQL, webhook events, deliveries and their attempts have a partition for each month, based on the time in
// their IDs. An expired month can be dropped immediately, whereas deleting its rows would take hours. The partition
// "past" contains rows from before the first month, and "default" contains rows that belong to no other partition. On
// SQLite, the rows are deleted individually.

// partitionedTable is a table with a partition for each month.
type partitionedTable struct{ name, key string } // key is the ID that contains the time of a row

var (
	eventTable    = partitionedTable{"webhook_events", "id"}
	deliveryTable = partitionedTable{"webhook_deliveries", "id"}
	attemptTable  = partitionedTable{"delivery_attempts", "delivery_id"} // the attempt is in the same month as the delivery
)

const (
	// monthsAhead is the number of months after the current one for which partitions are created.
	monthsAhead = 2
	// maxRetainedRows is the maximum number of rows to move when a month's partition is dropped. If there are more,
	// the partition is not dropped, and its other rows are deleted individually.
	maxRetainedRows = 10_000
	// partitionLock is the advisory lock that lets only one process at a time create and drop partitions.
	partitionLock = 7_518_019
	// lockWait is the maximum time to wait for a table lock. Later queries queue behind this lock request.
	lockWait = "1s"
)

// partition is a table partition for the IDs in the half-open interval [from, to).
type partition struct {
	name     string
	from, to uuid.UUID
}

// MaintainPartitions creates the partitions for the current and the following months, and drops those that end before
// the history period. It returns the names of the created and dropped partitions.
func (s *WebhookRepository) MaintainPartitions(ctx context.Context) (made, dropped []string, err error) {
	if !s.postgres {
		return nil, nil, nil
	}
	if made, err = s.createPartitions(ctx); err != nil {
		return made, nil, fmt.Errorf("create partitions: %w", err)
	}
	if dropped, err = s.dropPartitions(ctx); err != nil {
		return made, dropped, fmt.Errorf("drop partitions: %w", err)
	}
	return made, dropped, nil
}

// monthOf returns the beginning of the month that contains the given time, and the beginning of the following month.
func monthOf(at time.Time) (from, to time.Time) {
	from = PeriodStart(at)
	return from, from.AddDate(0, 1, 0)
}

func (t partitionedTable) month(at time.Time) partition {
	from, to := monthOf(at)
	return partition{t.name + from.Format("_2006_01"), firstID(from), firstID(to)}
}

// boundPattern matches the bounds of a partition in the format of PostgreSQL.
var boundPattern = regexp.MustCompile(`FROM \((MINVALUE|'([0-9a-f-]+)')\) TO \('([0-9a-f-]+)'\)`)

// partitions returns the partitions of a table in the order of their IDs, without the default partition.
func (s *WebhookRepository) partitions(db *gorm.DB, t partitionedTable) ([]partition, error) {
	var rows []struct{ Name, Bounds string }
	// SQL: the query reads the PostgreSQL catalog.
	err := db.Raw(`SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = to_regclass(?) ORDER BY CASE WHEN c.relname LIKE '%\_past' THEN 0 ELSE 1 END, c.relname`, t.name).Scan(&rows).Error
	if err != nil {
		return nil, err
	}
	var out []partition
	for _, r := range rows {
		bounds := boundPattern.FindStringSubmatch(r.Bounds)
		if bounds == nil { // the default partition
			continue
		}
		p := partition{name: r.Name}
		if bounds[2] != "" {
			if p.from, err = uuid.Parse(bounds[2]); err != nil {
				return nil, fmt.Errorf("read the bounds of partition %s: %w", r.Name, err)
			}
		}
		if p.to, err = uuid.Parse(bounds[3]); err != nil {
			return nil, fmt.Errorf("read the bounds of partition %s: %w", r.Name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// inPartition reports whether an ID belongs to one of the partitions.
func inPartition(all []partition, id uuid.UUID) bool {
	return slices.ContainsFunc(all, func(p partition) bool { return before(id, p.to) && !before(id, p.from) })
}

// partitionChange runs fn in a transaction that can lock the tables. Meanwhile, no other process creates or drops
// partitions.
func (s *WebhookRepository) partitionChange(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.tx(ctx, func(tx *gorm.DB) error {
		if err := execAll(tx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", partitionLock), "SET LOCAL lock_timeout = '"+lockWait+"'"); err != nil {
			return err
		}
		return fn(tx)
	})
}

func execAll(tx *gorm.DB, statements ...string) error {
	for _, sql := range statements {
		// SQL: the statements change PostgreSQL tables.
		if err := tx.Exec(sql).Error; err != nil {
			return err
		}
	}
	return nil
}

// createPartitions creates the missing partitions, each in its own transaction.
func (s *WebhookRepository) createPartitions(ctx context.Context) (made []string, err error) {
	first, _ := monthOf(s.now())
	for _, t := range []partitionedTable{eventTable, deliveryTable, attemptTable} {
		there, err := s.partitions(s.db.WithContext(ctx), t)
		if err != nil {
			return made, err
		}
		for n := range monthsAhead + 1 {
			p := t.month(first.AddDate(0, n, 0))
			if inPartition(there, p.from) {
				continue
			}
			done, err := s.createPartition(ctx, t, p)
			if err != nil {
				return made, fmt.Errorf("%s: %w", p.name, err)
			}
			if done {
				made = append(made, p.name)
			}
		}
	}
	return made, nil
}

// createPartition creates a month's partition, and moves that month's rows to it from the default partition. It
// returns false if another process has already created it.
func (s *WebhookRepository) createPartition(ctx context.Context, t partitionedTable, p partition) (made bool, err error) {
	err = s.partitionChange(ctx, func(tx *gorm.DB) error {
		there, err := s.partitions(tx, t)
		if err != nil || inPartition(there, p.from) {
			return err
		}
		made = true
		rest := t.name + "_default"
		return execAll(tx,
			"LOCK TABLE "+rest+" IN ACCESS EXCLUSIVE MODE", // prevents concurrent insertions for that month
			"CREATE TABLE "+p.name+" (LIKE "+rest+" INCLUDING ALL)",
			fmt.Sprintf("WITH moved AS (DELETE FROM %s WHERE %s >= '%s' AND %s < '%s' RETURNING *) INSERT INTO %s SELECT * FROM moved", rest, t.key, p.from, t.key, p.to, p.name),
			fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')", t.name, p.name, p.from, p.to))
	})
	return made && err == nil, err
}

// PartitionsUntil returns the end of the period for which partitions exist. It returns the zero time if there is no
// partition for the current month.
func (s *WebhookRepository) PartitionsUntil(ctx context.Context) (until time.Time, err error) {
	if !s.postgres {
		return time.Time{}, nil
	}
	for _, t := range []partitionedTable{eventTable, deliveryTable, attemptTable} {
		there, err := s.partitions(s.db.WithContext(ctx), t)
		if err != nil {
			return time.Time{}, fmt.Errorf("find partitions of %s: %w", t.name, err)
		}
		end := s.now()
		for inPartition(there, firstID(end)) {
			_, end = monthOf(end)
		}
		if until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return until, nil
}

// HasPartitions reports whether the database's tables are partitioned.
func (s *WebhookRepository) HasPartitions() bool { return s.postgres }
