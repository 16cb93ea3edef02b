package activities

import (
	"context"
	"errors"
	"log/slog"

	"countersign/internal/pulse"
	"countersign/models"
	"countersign/operate/sweep"
	"countersign/store"
)

// CleanupRound is the result of one cleanup round.
type CleanupRound struct {
	Removed []RemovedRows `json:"removed"`
	// Created and Dropped name the table partitions that were created and dropped.
	Created []string `json:"made,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
	// More reports whether more rows remain to be removed.
	More bool `json:"more"`
}

// RemovedRows is the number of removed rows of one kind.
type RemovedRows struct {
	Kind string `json:"kind"` // a description for operators
	Rows int    `json:"rows"`
}

// count records the number of removed rows of a kind, if any, and whether more of these rows may remain.
func (r *CleanupRound) count(kind string, n int, more bool) {
	if n > 0 {
		r.Removed = append(r.Removed, RemovedRows{Kind: kind, Rows: n})
	}
	r.More = r.More || more
}

// roundBatches limits the number of batches of each kind in one round, so that no kind delays the others for long.
const roundBatches = 20

// Cleanup creates the partitions for the coming months, drops expired ones, and removes data after its retention period
// in small transactions. It removes a limited number of rows of each kind, and the attachments that no signature uses.
// It also compacts the envelope counts, requests the due digests, performs the due retention steps, and archives ended
// envelopes. If a step fails, the completed steps remain in effect. A file that cannot be deleted does not delay
// archiving.
func (a *Activities) Cleanup(ctx context.Context) (CleanupRound, error) {
	var out CleanupRound
	var err error
	if out.Created, out.Dropped, err = a.Store.MaintainPartitions(ctx); err != nil {
		return out, err
	}
	for _, rows := range store.AllExpiredRows {
		total, more := 0, false
		for batch, n := 0, store.CleanupBatch; n == store.CleanupBatch; batch++ {
			if batch == roundBatches {
				more = true
				break
			}
			if n, err = a.Store.RemoveExpired(ctx, rows); err != nil {
				return out, err
			}
			total += n
			pulse.Beat(ctx)
		}
		out.count(string(rows), total, more)
	}
	if err := a.Store.CompactAllCounts(ctx); err != nil {
		return out, err
	}
	unused, err := sweep.Unused(ctx, a.Store, a.Blobs, a.Now())
	out.count("unused attachments", unused, false)
	err = errors.Join(err, a.digestRound(ctx, &out), a.retentionRound(ctx, &out), a.removeReleased(ctx, &out), a.archiveRound(ctx, &out))
	return out, err
}

// archiveBatch limits the number of envelopes that one cleanup round archives, and the number of former archive files
// that it deletes.
const archiveBatch = 100

// removeReleased deletes former archive files that are no longer needed. A file that cannot be deleted does not delay
// the others.
func (a *Activities) removeReleased(ctx context.Context, round *CleanupRound) error {
	released, err := a.Store.ReleasedArchives(ctx, archiveBatch)
	if err != nil {
		return err
	}
	var failed error
	removed := 0
	for _, archive := range released {
		pulse.Beat(ctx)
		if err := a.Store.RemoveReleasedArchive(ctx, archive); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		removed++
	}
	round.count("files of former archives", removed, len(released) == archiveBatch)
	return failed
}

// archiveRound archives envelopes that ended long ago, one after the other. If an envelope cannot be archived, it stays
// in the database, and archiving is retried some days later.
func (a *Activities) archiveRound(ctx context.Context, round *CleanupRound) error {
	if a.ArchiveAfter <= 0 {
		return nil
	}
	due, err := a.Store.EnvelopesToArchive(ctx, a.Now().Add(-a.ArchiveAfter), archiveBatch)
	if err != nil {
		return err
	}
	moved, err := a.archiveAll(ctx, due)
	round.count("envelopes moved to archives", moved, len(due) == archiveBatch)
	return err
}

// archiveAll archives envelopes, and returns the number of archived envelopes.
func (a *Activities) archiveAll(ctx context.Context, due []store.EnvelopeRef) (moved int, err error) {
	for _, ref := range due {
		pulse.Beat(ctx)
		switch err := a.Store.Archive(ctx, ref); {
		case err == nil:
			moved++
		case errors.Is(err, store.ErrNotArchivable), errors.Is(err, models.ErrNotFound):
			slog.WarnContext(ctx, "envelope not archived", "envelope", ref.ID, "error", err)
			if err := a.Store.PostponeArchiving(ctx, ref.ID); err != nil {
				return moved, err
			}
		default:
			return moved, err
		}
	}
	return moved, nil
}
