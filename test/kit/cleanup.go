package kit

import (
	"context"

	"countersign/store"
)

// RemoveExpired removes all expired rows and compacts the envelope counts. The service's own cleanup works in batches,
// and also drops partitions.
func RemoveExpired(ctx context.Context, s *store.Store) error {
	for _, rows := range store.AllExpiredRows {
		for n := store.CleanupBatch; n == store.CleanupBatch; {
			var err error
			if n, err = s.RemoveExpired(ctx, rows); err != nil {
				return err
			}
		}
	}
	return s.CompactAllCounts(ctx)
}
