package audit

import (
	"context"
	"errors"
	"io/fs"

	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// attachments compares the files uploaded by signers with their records and with the chain. Each signed file must have
// exactly one event, and each event must have a file record.
func (v Verifier) attachments(ctx context.Context, r *Report, e *models.Envelope, events []models.Event) error {
	known, err := v.Store.Attachments(ctx, e.ID)
	if err != nil {
		return err
	}
	reported := make(map[string]string)
	for i := range events {
		if ev := &events[i]; ev.Name == models.EventAttachmentAdded {
			id, _ := ev.Detail["attachmentId"].(string)
			reported[id], _ = ev.Detail["sha256"].(string)
		}
	}
	for _, a := range known {
		if !a.Used {
			continue
		}
		if reported[a.ID.String()] != a.SHA256 {
			r.add("no event contains attachment %s with its recorded hash", a.ID)
		}
		delete(reported, a.ID.String())
		if a.PurgedAt != nil {
			continue
		}
		f, err := blob.OpenRecorded(ctx, v.Blobs, store.AttachmentRecord(a))
		switch {
		case err == nil:
			r.Attachments++
			_ = f.Close() // read-only file
		case errors.Is(err, fs.ErrNotExist):
			r.add("the file of attachment %s is missing", a.ID)
		default:
			if err := r.addUnreadable(err, "attachment", a.ID); err != nil {
				return err
			}
		}
	}
	for id := range reported {
		r.add("an event names attachment %s, which has no record", id)
	}
	return nil
}
