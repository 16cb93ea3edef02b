package store

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// tell writes, from the recorded events alone, what others are to learn of
// them: webhook events with a delivery per subscribed endpoint, outbox rows for
// the workflows, the mails that went out, and the month's usage.
func (s *Store) tell(tx *gorm.DB, e *models.Envelope, hooks []*models.Webhook) error {
	var rows []models.OutboxRow
	for i := range e.Events {
		ev := &e.Events[i]
		if kind, ok := outboxKind(e, ev); ok {
			refs := models.OutboxRefs{AppID: e.AppID, TenantID: e.TenantID}
			if ev.SignerID != uuid.Nil {
				refs.SignerID = &ev.SignerID
			}
			rows = append(rows, s.outboxRow(ev.Timestamp, e.ID, kind, refs))
		}
		if ev.MailID != "" {
			if err := mailSent(tx, ev.MailID, ev.Timestamp); err != nil {
				return err
			}
		}
		if ev.Name == models.EventEnvelopeSent {
			if err := s.countEnvelope(tx, e.AppID, ev.Timestamp); err != nil {
				return err
			}
		}
	}
	deliveries, err := s.notify(tx, e, hooks)
	if err != nil {
		return err
	}
	rows = append(rows, deliveries...)
	if len(rows) == 0 {
		return nil
	}
	if err := addOutbox(tx, rows); err != nil {
		return fmt.Errorf("insert outbox rows: %w", err)
	}
	return nil
}

// outboxKind is what the envelope's workflow is told of an event.
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
		return models.OutboxInvite, true
	case models.EventSealingFailed:
		return models.OutboxUnsealed, true
	case models.EventDocumentSealed:
		return models.OutboxStamp, ev.Detail["timestamp"] == "pending"
	case models.EventEnvelopeCompleted:
		return models.OutboxRetain, e.RetainedUntil() != nil
	}
	return "", false
}

// notify writes the webhook events and a delivery for each subscribed endpoint.
func (s *Store) notify(tx *gorm.DB, e *models.Envelope, hooks []*models.Webhook) ([]models.OutboxRow, error) {
	var told []*models.Event
	for i := range e.Events {
		if e.Events[i].Name.Told() {
			told = append(told, &e.Events[i])
		}
	}
	if len(told) == 0 || len(hooks) == 0 {
		return nil, nil
	}
	var (
		events     []models.WebhookEvent
		deliveries []models.Delivery
		rows       []models.OutboxRow
	)
	for _, ev := range told {
		wanted := false
		for i := range hooks {
			if !hooks[i].Wants(ev.Name) {
				continue
			}
			wanted = true
			d := models.Delivery{
				ID: s.newID(), AppID: e.AppID, WebhookID: hooks[i].ID, EventID: ev.ID, EnvelopeID: e.ID, Event: ev.Name,
				Status: models.DeliveryPending, CreatedAt: ev.Timestamp,
			}
			deliveries = append(deliveries, d)
			rows = append(rows, s.outboxRow(ev.Timestamp, d.ID, models.OutboxDeliver,
				models.OutboxRefs{AppID: e.AppID, WebhookID: &d.WebhookID}))
		}
		if !wanted {
			continue
		}
		body, err := e.Notice(ev, s.baseURL)
		if err != nil {
			return nil, err
		}
		events = append(events, models.WebhookEvent{
			ID: ev.ID, AppID: e.AppID, EnvelopeID: e.ID, Name: ev.Name, Body: body, CreatedAt: ev.Timestamp,
		})
	}
	if len(deliveries) == 0 {
		return nil, nil
	}
	if err := tx.CreateInBatches(sealedAll(s, pointers(events)), 100).Error; err != nil {
		return nil, fmt.Errorf("insert webhook events: %w", err)
	}
	if err := tx.CreateInBatches(deliveries, 100).Error; err != nil {
		return nil, fmt.Errorf("insert deliveries: %w", err)
	}
	return rows, nil
}

// activeHooks are the endpoints of an app that want to be told of anything.
func activeHooks(tx *gorm.DB, app uuid.UUID) ([]*models.Webhook, error) {
	var hooks []*models.Webhook
	if err := tx.Where("app_id = ? AND active", app).Order("created_at, id").Find(&hooks).Error; err != nil {
		return nil, fmt.Errorf("load webhooks: %w", err)
	}
	return hooks, nil
}

func (s *Store) outboxRow(at time.Time, key uuid.UUID, kind models.OutboxKind, refs models.OutboxRefs) models.OutboxRow {
	return models.OutboxRow{ID: s.newID(), Key: key, Kind: kind, Refs: refs, NotBefore: at, CreatedAt: at}
}

// countEnvelope counts a sent envelope against the app's plan, and refuses it
// if the plan allows no more.
func (s *Store) countEnvelope(tx *gorm.DB, app uuid.UUID, at time.Time) error {
	var a models.App
	if err := tx.Take(&a, "id = ?", app).Error; err != nil {
		return fmt.Errorf("load app: %w", found(err))
	}
	if !a.Plan.Known() {
		return fmt.Errorf("app %s has unknown plan %q", app, a.Plan)
	}
	limits := s.plans.Limits(a.Plan)
	var used int
	err := tx.Raw(`INSERT INTO usage (app_id, period_start, envelopes) VALUES (?, ?, 1)
		ON CONFLICT (app_id, period_start) DO UPDATE SET envelopes = usage.envelopes + 1 RETURNING envelopes`,
		app, PeriodStart(at).Format(time.DateOnly)).Scan(&used).Error
	if err != nil {
		return fmt.Errorf("count envelope: %w", err)
	}
	if limits.EnvelopesPerMonth > 0 && used > limits.EnvelopesPerMonth && !limits.Overage {
		return models.Refuse(models.KindPayment, "plan_limit_reached",
			"The %s plan allows %d envelopes a month, and all of them have been sent.", a.Plan, limits.EnvelopesPerMonth)
	}
	return nil
}

// PeriodStart is the beginning of the usage period that t lies in: the calendar month, UTC.
func PeriodStart(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}
