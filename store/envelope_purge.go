package store

import (
	"slices"

	"countersign/models"
)

// purgeContents deletes the contents of a purged envelope from the database. These are the entered values and the
// webhook bodies.
func purgeContents(b *batch, e *models.Envelope, ev *models.Event) {
	first := slices.IndexFunc(e.Events, func(other models.Event) bool { return other.Name == models.EventDocumentPurged })
	if first < 0 || ev != &e.Events[first] { // the documents of an envelope are purged together
		return
	}
	purgeDeliveries(b, e.ID, ev.Timestamp)
	b.exec("DELETE FROM field_values WHERE envelope_id = $1", e.ID)
}
