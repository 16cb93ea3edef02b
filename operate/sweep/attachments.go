package sweep

import (
	"context"
	"time"

	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// Unused removes the attachments that nobody has signed with for a day, row first: one
// that is signed with in that moment stays. What was done up to an error stays done.
func Unused(ctx context.Context, s *store.Store, blobs blob.Store, now time.Time) (n int, err error) {
	for {
		rows, err := s.UnusedAttachments(ctx, now.Add(-models.UnusedAttachmentAge), batchSize)
		if err != nil {
			return n, err
		}
		for _, a := range rows {
			removed, err := s.RemoveAttachment(ctx, a.ID)
			if err == nil && removed {
				n++
				err = blobs.Delete(ctx, a.BlobKey)
			}
			if err != nil {
				return n, err
			}
		}
		if len(rows) < batchSize {
			return n, nil
		}
	}
}
