package store

import (
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// ErrPayloadPurged refuses to send again what is not kept any more.
var ErrPayloadPurged = models.Refuse(models.KindGone, "payload_purged",
	"What this delivery sent was deleted at the end of the envelope's retention.")

// kept is true of a webhook event whose body was not removed: an event always has one.
const kept = "length(body) > 0"

// purgeContents removes what a purged envelope holds beside its files: what signers
// entered, what webhooks were sent, and what endpoints answered, for that may repeat
// it. Deliveries stay, with their states and their attempts; those that were still on
// their way have failed.
func purgeContents(b *batch, envelope uuid.UUID, at time.Time) {
	const events = "SELECT id FROM webhook_events WHERE envelope_id = $1"
	const deliveries = "SELECT id FROM webhook_deliveries WHERE event_id IN (" + events + ")"
	b.exec("UPDATE webhook_deliveries SET status = $2, failed_at = $3 WHERE event_id IN ("+events+") AND status = $4",
		envelope, models.DeliveryFailed, at, models.DeliveryPending)
	b.exec("UPDATE delivery_attempts SET body = NULL WHERE delivery_id IN ("+deliveries+") AND body IS NOT NULL", envelope)
	b.exec("UPDATE webhook_events SET body = '', values_body = NULL WHERE envelope_id = $1 AND "+kept, envelope)
	b.exec("DELETE FROM field_values WHERE envelope_id = $1", envelope)
}

// hasBody reports whether a webhook event still has what was sent.
func hasBody(tx *gorm.DB, event uuid.UUID) (bool, error) {
	n, err := count(tx.Model(&models.WebhookEvent{}).Where("id = ? AND "+kept, event))
	return n > 0, err
}
