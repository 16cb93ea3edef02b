package store

import (
	"slices"

	"github.com/google/uuid"

	"countersign/models"
)

// removeFields adds the removal of the fields that a draft does not have any more.
func removeFields(b *batch, e *models.Envelope, was *loadedState) {
	kept := make(map[uuid.UUID]bool, len(e.Fields))
	for _, f := range e.Fields {
		kept[f.ID] = true
	}
	var gone []uuid.UUID
	for id := range was.fields {
		if !kept[id] {
			gone = append(gone, id)
		}
	}
	for page := range slices.Chunk(gone, insertPage) {
		in, args := inList(page)
		b.exec("DELETE FROM fields WHERE id "+in, args...)
	}
}
