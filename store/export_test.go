package store

import (
	"context"

	"countersign/models"
)

// ColumnsOf are the columns that are loaded and saved of the tables of an
// envelope, with the model of each.
func ColumnsOf() map[any][]string {
	return map[any][]string{
		&models.Envelope{}:       namesOf(envelopeColumns(&models.Envelope{})),
		&models.Signer{}:         namesOf(signerColumns(&models.Signer{})),
		&models.Document{}:       namesOf(documentColumns(&models.Document{})),
		&models.Field{}:          namesOf(fieldColumns(&models.Field{})),
		&models.FieldValue{}:     namesOf(valueColumns(&models.FieldValue{})),
		&models.Attachment{}:     namesOf(attachmentColumns(&models.Attachment{})),
		&models.SavedSignature{}: namesOf(savedSignatureColumns(&models.SavedSignature{})),
		&models.Event{}:          namesOf(eventColumns(&models.Event{})),
		&models.WebhookEvent{}:   namesOf(webhookEventColumns(&models.WebhookEvent{})),
	}
}

// Enter waits for a turn to write.
func (s *Store) Enter(ctx context.Context) error { return s.writers.enter(ctx) }

// Leave ends it.
func (s *Store) Leave() { s.writers.leave() }

// WritersWaiting is how many wait for their turn.
func (s *Store) WritersWaiting() int {
	s.writers.mu.Lock()
	defer s.writers.mu.Unlock()
	return len(s.writers.waiting)
}

// UUIDCodec is the codec of PostgreSQL's UUIDs.
type UUIDCodec = uuidCodec

// Compress and Decompress are those of columns that are encrypted.
var (
	Compress   = compress
	Decompress = decompress
)
