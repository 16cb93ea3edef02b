package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// envelopeCountChange records that the number of envelopes with a status increased or decreased by one. Changes are
// only inserted, never updated, so that envelopes of the same tenant do not wait for each other. A reader adds up the
// changes, and compacts them into envelope_counts if there are many.
type envelopeCountChange struct {
	Seq      int64 // assigned by the database
	AppID    uuid.UUID
	TenantID string
	Status   models.Status
	Change   int
}

// recordStatusChange records the change of an envelope's status. The previous status is "" for a new envelope.
func recordStatusChange(b *batch, e *models.Envelope, from models.Status) {
	if from == e.Status {
		return
	}
	changes := []envelopeCountChange{{AppID: e.AppID, TenantID: e.TenantID, Status: e.Status, Change: 1}}
	if from != "" {
		changes = append(changes, envelopeCountChange{AppID: e.AppID, TenantID: e.TenantID, Status: from, Change: -1})
	}
	b.insert("envelope_count_changes", "", mapSlice(pointers(changes), func(c *envelopeCountChange) []column {
		return []column{{"app_id", &c.AppID}, {"tenant_id", &c.TenantID}, {"status", &c.Status}, {"change", &c.Change}}
	})...)
}

// compactThreshold is the number of changes at which a reader compacts the changes.
const compactThreshold = 200

// count returns the number of an app's envelopes. An empty tenant means all tenants, and no status means all statuses.
func (s *EnvelopeListRepository) count(ctx context.Context, app uuid.UUID, tenant string, statuses []models.Status) (int64, error) {
	where, args := "app_id = ?", []any{app}
	if tenant != "" {
		where, args = where+" AND tenant_id = ?", append(args, tenant)
	}
	if len(statuses) == 0 {
		where, args = where+" AND status <> ?", append(args, models.StatusDeleted)
	} else {
		where, args = where+" AND status IN ?", append(args, statuses)
	}
	var sum struct{ N, Changes int64 }
	// SQL: a single statement reads one snapshot of both tables, so each change is counted exactly once.
	err := s.db.WithContext(ctx).Raw(`SELECT COALESCE(SUM(n), 0) AS n, COALESCE(SUM(c), 0) AS changes FROM (
			SELECT n, 0 AS c FROM envelope_counts WHERE `+where+`
			UNION ALL SELECT change AS n, 1 AS c FROM envelope_count_changes WHERE `+where+`) AS parts`,
		append(args, args...)...).Scan(&sum).Error
	if err != nil {
		return 0, fmt.Errorf("count envelopes: %w", err)
	}
	if sum.Changes >= compactThreshold {
		writer := s
		if s.primary != nil {
			writer = &EnvelopeListRepository{s.primary}
		}
		if _, err := writer.CompactCounts(ctx); err != nil {
			return 0, err
		}
	}
	return sum.N, nil
}

// maxTenants is the maximum number of tenants that are listed for an app.
const maxTenants = 1000

// Tenants lists an app's tenants that have envelopes, in order.
func (s *EnvelopeListRepository) Tenants(ctx context.Context, app uuid.UUID) (tenants []string, err error) {
	of := func(table string) *gorm.DB { return s.db.Table(table).Select("tenant_id").Where("app_id = ?", app) }
	err = s.db.WithContext(ctx).Table("(? UNION ?) AS tenants", of("envelope_counts"), of("envelope_count_changes")).
		Order("tenant_id").Limit(maxTenants).Pluck("tenant_id", &tenants).Error
	return tenants, wrap(err, "list tenants")
}

// compactBatch is the maximum number of changes in one transaction of CompactCounts.
const compactBatch = 5000

// CompactCounts adds a batch of changes to the counts, and returns the number of processed changes. Several processes
// can compact different changes concurrently.
func (s *EnvelopeListRepository) CompactCounts(ctx context.Context) (int, error) {
	skip := ""
	if s.postgres {
		skip = "FOR UPDATE SKIP LOCKED"
	}
	n := 0
	err := s.tx(ctx, func(tx *gorm.DB) error {
		var changes []envelopeCountChange
		// SQL: the statement deletes and returns the rows of a subquery with SKIP LOCKED.
		err := tx.Raw(`DELETE FROM envelope_count_changes WHERE seq IN (
				SELECT seq FROM envelope_count_changes ORDER BY seq LIMIT ? `+skip+`) RETURNING *`, compactBatch).Scan(&changes).Error
		if err != nil {
			return err
		}
		n = len(changes)
		type of struct {
			app    uuid.UUID
			tenant string
			status models.Status
		}
		sums := make(map[of]int)
		for _, c := range changes {
			sums[of{c.AppID, c.TenantID, c.Status}] += c.Change
		}
		// Acquiring locks in a consistent order prevents deadlocks between processes.
		order := slices.SortedFunc(maps.Keys(sums), func(a, b of) int {
			return cmp.Or(bytes.Compare(a.app[:], b.app[:]), cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.status, b.status))
		})
		for _, k := range order {
			// SQL: ON CONFLICT adds to an existing row.
			err := tx.Exec(`INSERT INTO envelope_counts (app_id, tenant_id, status, n) VALUES (?, ?, ?, ?)
				ON CONFLICT (app_id, tenant_id, status) DO UPDATE SET n = envelope_counts.n + excluded.n`,
				k.app, k.tenant, k.status, sums[k]).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, wrap(err, "compact envelope counts")
}

// CompactAllCounts adds all changes to the counts.
func (s *EnvelopeListRepository) CompactAllCounts(ctx context.Context) error {
	for n := compactBatch; n == compactBatch; {
		var err error
		if n, err = s.CompactCounts(ctx); err != nil {
			return err
		}
	}
	return nil
}
