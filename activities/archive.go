package activities

import (
	"context"
	"errors"
	"log/slog"

	"countersign/models"
	"countersign/store"
)

// archiveBatch bounds the envelopes that one round of the cleanup moves to archives, and
// the files of former archives that it removes.
const archiveBatch = 100

// archiveRound moves envelopes that ended long ago to archives, one after the other, and
// removes files of archives that are not needed any more. An envelope that cannot be
// archived stays where it is, and is tried again some days later.
func (a *Activities) archiveRound(ctx context.Context, round *CleanupRound) error {
	released, err := a.Store.ReleasedArchives(ctx, archiveBatch)
	if err != nil {
		return err
	}
	for _, archive := range released {
		if err := a.Store.RemoveReleasedArchive(ctx, archive); err != nil {
			return err
		}
	}
	round.count("files of former archives", len(released))
	if len(released) == archiveBatch {
		round.More = true
	}
	if a.ArchiveAfter <= 0 {
		return nil
	}
	due, err := a.Store.EnvelopesToArchive(ctx, a.Now().Add(-a.ArchiveAfter), archiveBatch)
	if err != nil {
		return err
	}
	moved, err := a.archiveAll(ctx, due)
	round.count("envelopes to archives", moved)
	if len(due) == archiveBatch {
		round.More = true
	}
	return err
}

// archiveAll moves envelopes to archives, and returns how many it has moved.
func (a *Activities) archiveAll(ctx context.Context, due []store.EnvelopeRef) (moved int, err error) {
	for _, ref := range due {
		switch err := a.Store.Archive(ctx, ref); {
		case err == nil:
			moved++
		case errors.Is(err, store.ErrNotArchivable), errors.Is(err, models.ErrNotFound):
			slog.WarnContext(ctx, "an envelope is not archived", "envelope", ref.ID, "error", err)
			if err := a.Store.PostponeArchiving(ctx, ref.ID); err != nil {
				return moved, err
			}
		default:
			return moved, err
		}
	}
	return moved, nil
}

// count notes how many of a kind were removed, if any.
func (r *CleanupRound) count(kind string, n int) {
	if n > 0 {
		r.Removed = append(r.Removed, RemovedRows{Kind: kind, Rows: n})
	}
}
