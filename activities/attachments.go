package activities

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/seal"
	"countersign/store"
)

func attachmentsPrefix(envelope uuid.UUID) string {
	return "envelopes/" + envelope.String() + "/attachments/"
}

// openFiles holds attachments that are open for reading.
type openFiles struct {
	files  []seal.AttachedFile
	closed []func() error
}

func (o *openFiles) close() {
	for _, closeFile := range o.closed {
		_ = closeFile() // read-only file
	}
}

// openAttachments opens the attachments of a document's fields, in the order of the fields.
func (a *Activities) openAttachments(ctx context.Context, e *models.Envelope, d *models.Document) (*openFiles, error) {
	out := &openFiles{}
	var known []*models.Attachment
	for _, f := range e.Fields {
		if f.Type != models.FieldAttachment || f.DocumentID != d.ID {
			continue
		}
		if known == nil {
			var err error
			if known, err = a.Store.Attachments(ctx, e.ID); err != nil {
				return nil, err
			}
		}
		for _, given := range known {
			if given.FieldID != f.ID || !given.Used {
				continue
			}
			content, err := a.openUpload(ctx, store.AttachmentRecord(given))
			if err != nil {
				out.close()
				return nil, fmt.Errorf("attachment %s: %w", given.ID, err)
			}
			out.closed = append(out.closed, content.Close)
			out.files = append(out.files, seal.AttachedFile{
				ID: given.ID.String(), FieldID: f.ID.String(), SignerID: f.SignerID.String(), Name: given.Name, MimeType: given.MimeType,
				SHA256: given.SHA256, Size: given.Size, Content: content,
			})
		}
	}
	return out, nil
}
