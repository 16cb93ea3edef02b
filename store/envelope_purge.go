package store

import (
	"slices"

	"countersign/models"
)

// purgeContents removes what a purged envelope holds beside its files: the values that signers entered, and the bodies of its webhooks.
func purgeContents(b *batch, e *models.Envelope, ev *models.Event) {
	first := slices.IndexFunc(e.Events, func(other models.Event) bool { return other.Name == models.EventDocumentPurged })
	if first < 0 || ev != &e.Events[first] { // the documents of an envelope are purged together
		return
	}
	purgeDeliveries(b, e.ID, ev.Timestamp)
	b.exec("DELETE FROM field_values WHERE envelope_id = $1", e.ID)
}
