package store

import (
	"slices"

	"github.com/google/uuid"

	"countersign/models"
)

// effect updates a subject's tables for an event, by adding statements to a batch. It is called for each event in
// order.
type effect func(b *batch, e *models.Envelope, ev *models.Event)

func replacesSigner(ev *models.Event) bool {
	return ev.Name == models.EventSignerReplaced || ev.Name == models.EventSignerDelegated
}

// recordEffects adds the effects of the recorded events: webhook events with a delivery for each subscribed endpoint,
// outbox rows for workflows, the month's usage, and the effects that the subjects have registered.
func (s *EnvelopeRepository) recordEffects(t *transaction, e *models.Envelope, webhooks []*models.Webhook) error {
	var rows []models.OutboxRow
	for i := range e.Events {
		ev := &e.Events[i]
		if kind, ok := outboxKind(e, ev); ok {
			refs := models.OutboxRefs{AppID: e.AppID, TenantID: e.TenantID, Bulk: t.bulk}
			if ev.SignerID != uuid.Nil {
				refs.SignerID = &ev.SignerID
			}
			refs.Reminder = ev.Name == models.EventReminderRequested
			if s := e.Recipient(ev.SignerID); kind == models.OutboxReinvite && s != nil {
				if refs.LinkID = s.LinkID; refs.LinkID == nil {
					refs.LinkID = &ev.ID // for a copy recipient, identifies the notice
				}
			}
			row := s.outboxRow(ev.Timestamp, e.ID, kind, refs)
			switch {
			case kind == models.OutboxCopies:
				t.insert("mails", "", requestedMail(&row, ev.SignerID, models.MailCompleted))
			case refs.Reminder:
				t.insert("mails", "", requestedMail(&row, ev.SignerID, models.MailReminder))
			}
			rows = append(rows, row)
		}
		for _, add := range s.effects {
			add(&t.batch, e, ev)
		}
		s.notifications.addNotification(t, e, ev)
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

// outboxKind returns the kind of the outbox row that an event requires, or false if it requires none.
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
	case models.EventLinkRenewed, models.EventReminderRequested:
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
	}
	return "", false
}

// enqueueDeliveries adds the webhook events, which can also be read without a subscription, and a delivery for each
// subscribed endpoint. It returns the outbox rows for the deliveries.
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
		if slices.ContainsFunc(webhooks, func(w *models.Webhook) bool { return w.SubscribesTo(ev.Name, e.TenantID) && w.ReceivesValues(ev.Name) }) {
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
