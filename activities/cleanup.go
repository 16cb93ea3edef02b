package activities

import (
	"context"

	"countersign/operate/sweep"
	"countersign/store"
)

// CleanupRound is what one round of the cleanup has removed.
type CleanupRound struct {
	Removed []RemovedRows `json:"removed"`
	// Partitions are parts of tables that were made for the months to come, or dropped.
	Made    []string `json:"made,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
	// More says that there is more to be removed.
	More bool `json:"more"`
}

// RemovedRows is how many rows of a kind were removed.
type RemovedRows struct {
	Kind string `json:"kind"` // as operators read it
	Rows int    `json:"rows"`
}

// roundBatches bounds the batches of each kind in one round, so that none waits long
// for the others.
const roundBatches = 20

// Cleanup makes the partitions of the months to come, drops those that are over, and removes, in small transactions, what is older than it is to be kept: a
// bounded number of rows of each kind, and files that nobody has signed with. It also
// adds up the counts of envelopes, and moves ended ones to archives. What was done up to an error stays done.
func (a *Activities) Cleanup(ctx context.Context) (CleanupRound, error) {
	var out CleanupRound
	var err error
	if out.Made, out.Dropped, err = a.Store.MaintainPartitions(ctx); err != nil {
		return out, err
	}
	for _, rows := range store.AllExpiredRows {
		removed := RemovedRows{Kind: string(rows)}
		for batch, n := 0, store.CleanupBatch; n == store.CleanupBatch; batch++ {
			if batch == roundBatches {
				out.More = true
				break
			}
			if n, err = a.Store.RemoveExpired(ctx, rows); err != nil {
				return out, err
			}
			removed.Rows += n
		}
		if removed.Rows > 0 {
			out.Removed = append(out.Removed, removed)
		}
	}
	if err := a.Store.CompactAllCounts(ctx); err != nil {
		return out, err
	}
	unused, err := sweep.Unused(ctx, a.Store, a.Blobs, a.Now())
	if unused > 0 {
		out.Removed = append(out.Removed, RemovedRows{Kind: "unused attachments", Rows: unused})
	}
	if err != nil {
		return out, err
	}
	err = a.archiveRound(ctx, &out)
	return out, err
}
