package store

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// recordEffects adds, from the recorded events alone, what others are to learn of
// them: webhook events with a delivery per subscribed endpoint, outbox rows for
// the workflows, the mails that went out, and the month's usage; it ends what a person
// who was replaced was given, and removes what a purged envelope holds.
func (s *EnvelopeRepository) recordEffects(t *transaction, e *models.Envelope, webhooks []*models.Webhook) error {
	var rows []models.OutboxRow
	purged := false
	for i := range e.Events {
		ev := &e.Events[i]
		if kind, ok := outboxKind(e, ev); ok {
			refs := models.OutboxRefs{AppID: e.AppID, TenantID: e.TenantID, Bulk: t.bulk}
			if ev.SignerID != uuid.Nil {
				refs.SignerID = &ev.SignerID
			}
			if s := e.Recipient(ev.SignerID); kind == models.OutboxReinvite && s != nil {
				if refs.LinkID = s.LinkID; refs.LinkID == nil {
					refs.LinkID = &ev.ID // of a copy: which notice it is
				}
			}
			rows = append(rows, s.outboxRow(ev.Timestamp, e.ID, kind, refs))
		}
		if ev.Name == models.EventSignerReplaced || ev.Name == models.EventSignerDelegated {
			withdrawAttachments(&t.batch, ev.SignerID)
			revokeEmbeddedSessions(&t.batch, ev.SignerID, ev.Timestamp)
		}
		if ev.Name == models.EventDocumentPurged && !purged {
			purgeContents(&t.batch, e.ID, ev.Timestamp) // once: an envelope's documents are purged together
			purged = true
		}
		switch {
		case ev.MailID == "":
		case ev.MailRefused != "":
			markMailFailed(&t.batch, ev.MailID, ev.Timestamp, ev.MailRefused)
		default:
			markMailSent(&t.batch, ev.MailID, ev.Timestamp)
		}
		if ev.Name == models.EventEnvelopeSent {
			if err := s.apps.countEnvelope(t, e.AppID, ev.Timestamp); err != nil {
				return err
			}
		}
	}
	deliveries, err := s.enqueueDeliveries(t, e, webhooks)
	if err != nil {
		return err
	}
	addOutbox(t, append(rows, deliveries...)...)
	return nil
}

// outboxKind is the kind of the outbox row that an event needs.
func outboxKind(e *models.Envelope, ev *models.Event) (models.OutboxKind, bool) {
	switch ev.Name { //nolint:exhaustive // all other events concern no workflow
	case models.EventEnvelopeSent:
		return models.OutboxStart, true
	case models.EventSignerSigned:
		return models.OutboxSigned, true
	case models.EventEnvelopeDeclined:
		return models.OutboxDeclined, true
	case models.EventEnvelopeVoided:
		return models.OutboxVoided, e.SentAt != nil // a draft has no workflow
	case models.EventLinkRenewed:
		return models.OutboxReinvite, true
	case models.EventSignerReplaced, models.EventSignerDelegated, models.EventCopyReplaced:
		s := e.Recipient(ev.SignerID)
		return models.OutboxReinvite, s != nil && s.Awaited()
	case models.EventEnvelopeUpdated:
		return models.OutboxRescheduled, true
	case models.EventCopyRequested:
		return models.OutboxCopies, true
	case models.EventSealingFailed:
		return models.OutboxSealingFailed, true
	case models.EventDocumentSealed:
		return models.OutboxTimestamp, ev.Detail["timestamp"] == "pending"
	case models.EventEnvelopeCompleted:
		return models.OutboxRetention, e.RetainedUntil() != nil
	}
	return "", false
}

// enqueueDeliveries adds the webhook events, which can be read whether or not
// somebody subscribed to them, and a delivery for each subscribed endpoint. It
// returns the outbox rows of the deliveries.
func (s *EnvelopeRepository) enqueueDeliveries(t *transaction, e *models.Envelope, webhooks []*models.Webhook) ([]models.OutboxRow, error) {
	var rows []models.OutboxRow
	for i := range e.Events {
		ev := &e.Events[i]
		if !ev.Name.IsWebhookEvent() {
			continue
		}
		body, err := e.WebhookPayload(ev, s.cfg.BaseURL, nil)
		if err != nil {
			return nil, err
		}
		posted := &models.WebhookEvent{
			ID: ev.ID, AppID: e.AppID, EnvelopeID: e.ID, TenantID: e.TenantID, Name: ev.Name, Body: body, CreatedAt: ev.Timestamp,
		}
		if slices.ContainsFunc(webhooks, func(w *models.Webhook) bool { return w.SubscribesTo(ev.Name, e.TenantID) && w.GetsValues(ev.Name) }) {
			values, err := s.valuesInside(t, e.ID)
			if err != nil {
				return nil, err
			}
			if posted.ValuesBody, err = e.WebhookPayload(ev, s.cfg.BaseURL, new(e.NamedValues(values))); err != nil {
				return nil, err
			}
		}
		rows = append(rows, s.webhooks.addDeliveries(t, posted, webhooks)...)
	}
	return rows, nil
}

// addDeliveries adds a webhook event with a delivery for each endpoint that
// subscribes to it, and returns the outbox rows that start them.
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
	return mapSlice(ds, func(d *models.Delivery) models.OutboxRow { return s.deliveryRow(d.CreatedAt, d) })
}

// deliveryRow is the outbox row that starts a run of a delivery.
func (s *WebhookRepository) deliveryRow(at time.Time, d *models.Delivery) models.OutboxRow {
	return s.outboxRow(at, d.ID, models.OutboxDeliver, models.OutboxRefs{AppID: d.AppID, WebhookID: &d.WebhookID, Resend: d.Run})
}

// queueActiveWebhooks adds the query for the endpoints of an app that want to be
// told of anything, with the tenants that it may act for.
func queueActiveWebhooks(b *batch, out *[]*models.Webhook, app uuid.UUID) {
	selectRows(b, out, webhookRows, "app_id = $1 AND active ORDER BY created_at, id", app)
}

func (s *engine) outboxRow(at time.Time, key uuid.UUID, kind models.OutboxKind, refs models.OutboxRefs) models.OutboxRow {
	return models.OutboxRow{ID: s.newID(), Key: key, Kind: kind, Refs: refs, NotBefore: at, CreatedAt: at}
}
