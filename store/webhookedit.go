package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// UpdateWebhook changes an endpoint. Deliveries on their way go to the new address.
func (s *Store) UpdateWebhook(ctx context.Context, app, id uuid.UUID, c models.WebhookChange) (*models.Webhook, error) {
	w := &models.Webhook{}
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return found(err)
		}
		w.Change(c)
		return tx.Model(w).Select("url", "events", "failing_since", "last_error").Updates(w).Error
	})
	if err != nil {
		return nil, fmt.Errorf("update webhook %s: %w", id, err)
	}
	return w, nil
}

// DeliveryContext is what people call the things that deliveries speak of.
type DeliveryContext struct {
	URLs     map[uuid.UUID]string // of endpoints that are not deleted
	Subjects map[uuid.UUID]string // of envelopes that have one
}

// DeliveryContext names the endpoints and envelopes of an app's deliveries.
func (s *Store) DeliveryContext(ctx context.Context, app uuid.UUID, ds []models.Delivery) (DeliveryContext, error) {
	out := DeliveryContext{URLs: make(map[uuid.UUID]string), Subjects: make(map[uuid.UUID]string)}
	var hookIDs, envelopeIDs []uuid.UUID
	for i := range ds {
		hookIDs = append(hookIDs, ds[i].WebhookID)
		envelopeIDs = append(envelopeIDs, ds[i].EnvelopeID)
	}
	db := s.db.WithContext(ctx)
	var hooks []models.Webhook
	if err := db.Select("id", "url").Where("app_id = ? AND id IN ?", app, hookIDs).Find(&hooks).Error; err != nil {
		return out, fmt.Errorf("name endpoints of deliveries: %w", err)
	}
	var envelopes []models.Envelope
	if err := db.Select("id", "subject").Where("app_id = ? AND id IN ?", app, envelopeIDs).Find(&envelopes).Error; err != nil {
		return out, fmt.Errorf("name envelopes of deliveries: %w", err)
	}
	for i := range hooks {
		out.URLs[hooks[i].ID] = hooks[i].URL
	}
	for i := range envelopes {
		if envelopes[i].Subject != nil {
			out.Subjects[envelopes[i].ID] = *envelopes[i].Subject
		}
	}
	return out, nil
}
