package store

import (
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// addDeliveries adds a webhook event with a delivery for each subscribed endpoint. It returns the outbox rows that
// start the deliveries.
func (s *WebhookRepository) addDeliveries(t *transaction, ev *models.WebhookEvent, webhooks []*models.Webhook) []models.OutboxRow {
	var ds []*models.Delivery
	for _, w := range webhooks {
		if w.SubscribesTo(ev.Name, ev.TenantID) {
			ds = append(ds, s.newDelivery(ev, w.ID))
		}
	}
	return s.insertDeliveries(t, ev, ds...)
}

func (s *WebhookRepository) newDelivery(ev *models.WebhookEvent, webhook uuid.UUID) *models.Delivery {
	return &models.Delivery{
		ID: s.newID(), AppID: ev.AppID, WebhookID: webhook, EventID: ev.ID, EnvelopeID: ev.EnvelopeID, Event: ev.Name,
		Status: models.DeliveryPending, CreatedAt: ev.CreatedAt,
	}
}

func (s *WebhookRepository) insertDeliveries(t *transaction, ev *models.WebhookEvent, ds ...*models.Delivery) []models.OutboxRow {
	t.insert("webhook_events", "", webhookEventColumns(encrypt(s.engine, ev)))
	t.insert("webhook_deliveries", "", mapSlice(ds, deliveryColumns)...)
	return mapSlice(ds, func(d *models.Delivery) models.OutboxRow {
		row := s.deliveryRow(d.CreatedAt, d)
		row.Refs.TenantID = ev.TenantID
		return row
	})
}

// deliveryRow returns the outbox row that starts a run of a delivery.
func (s *WebhookRepository) deliveryRow(at time.Time, d *models.Delivery) models.OutboxRow {
	refs := models.OutboxRefs{AppID: d.AppID, WebhookID: &d.WebhookID, Resend: d.Run}
	if d.EnvelopeID != uuid.Nil {
		refs.EnvelopeID = &d.EnvelopeID
	}
	return s.outboxRow(at, d.ID, models.OutboxDeliver, refs)
}

func deliveryColumns(d *models.Delivery) []column {
	return []column{
		{"id", &d.ID},
		{"app_id", &d.AppID},
		{"webhook_id", &d.WebhookID},
		{"event_id", &d.EventID},
		{"envelope_id", &d.EnvelopeID},
		{"event", &d.Event},
		{"status", &d.Status},
		{"created_at", &d.CreatedAt},
	}
}

// queueActiveWebhooks adds a query for the active endpoints of an app, together with the tenants that the app may
// access.
func queueActiveWebhooks(b *batch, out *[]*models.Webhook, app uuid.UUID) {
	selectRows(b, out, webhookRows, "app_id = $1 AND active ORDER BY created_at, id", app)
}

var webhookRows = selectionOf("webhooks", webhookColumns)
