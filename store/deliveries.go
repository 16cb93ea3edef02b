package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// DeliveryFilter selects deliveries for a list. Zero values select all.
type DeliveryFilter struct {
	App      uuid.UUID
	Status   models.DeliveryStatus
	Event    models.EventName
	Webhook  uuid.UUID
	Envelope uuid.UUID
	Page     int // from 1
	Size     int
}

// Deliveries lists an app's deliveries, newest first, with the number of all
// that match, counted up to countLimit.
func (s *Store) Deliveries(ctx context.Context, f DeliveryFilter) (list []models.Delivery, total int64, err error) {
	err = s.fromReplica(ctx, func(s *Store) error {
		list, total, err = s.deliveries(ctx, f)
		return err
	})
	return list, total, err
}

func (s *Store) deliveries(ctx context.Context, f DeliveryFilter) ([]models.Delivery, int64, error) {
	db := s.db.WithContext(ctx)
	q := db.Model(&models.Delivery{}).Where("app_id = ?", f.App)
	if f.Status != "" {
		q = q.Where("status = ?", f.Status)
	}
	if f.Event != "" {
		q = q.Where("event = ?", f.Event)
	}
	if f.Webhook != uuid.Nil {
		q = q.Where("webhook_id = ?", f.Webhook)
	}
	if f.Envelope != uuid.Nil {
		q = q.Where("envelope_id = ?", f.Envelope)
	}
	total, err := countUpTo(db, q)
	if err != nil {
		return nil, 0, fmt.Errorf("count deliveries: %w", err)
	}
	out := []models.Delivery{}
	if err := q.Order("id DESC").Offset((f.Page - 1) * f.Size).Limit(f.Size).Find(&out).Error; err != nil {
		return nil, 0, fmt.Errorf("list deliveries: %w", err)
	}
	return out, total, nil
}

// Delivery loads an app's delivery with its event and every attempt, oldest
// first, as they are at one moment.
func (s *Store) Delivery(ctx context.Context, app, id uuid.UUID) (*models.Delivery, *models.WebhookEvent, []models.DeliveryAttempt, error) {
	d, ev, attempts := &models.Delivery{}, &models.WebhookEvent{}, []models.DeliveryAttempt{}
	err := s.read(ctx, func(tx *gorm.DB) error {
		if err := tx.Take(d, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return mapNotFound(err)
		}
		if err := tx.Take(ev, "id = ?", d.EventID).Error; err != nil {
			return fmt.Errorf("its event: %w", mapNotFound(err))
		}
		if err := tx.Where("delivery_id = ?", id).Order("number").Find(&attempts).Error; err != nil {
			return err
		}
		return errors.Join(decrypt(s, ev), decryptAll(s, pointers(attempts)))
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("load delivery %s: %w", id, err)
	}
	return d, ev, attempts, nil
}

// Resend puts a settled delivery on its way again, under the same event id.
func (s *Store) Resend(ctx context.Context, app, id uuid.UUID) (*models.Delivery, error) {
	d := &models.Delivery{}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.result = d
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		if err := s.locked(tx).Take(d, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return mapNotFound(err)
		}
		if d.SettledBefore(s.historyStart()) { // it is about to be removed
			return models.ErrNotFound
		}
		var webhooks []models.Webhook
		if err := tx.Where("id = ?", d.WebhookID).Find(&webhooks).Error; err != nil {
			return err
		}
		var w *models.Webhook
		if len(webhooks) > 0 {
			w = &webhooks[0]
		}
		if err := d.Resend(w); err != nil {
			return err
		}
		has, err := hasBody(tx, d.EventID)
		if err != nil {
			return err
		}
		if !has {
			return ErrPayloadPurged
		}
		return s.requeueDeliveries(t, tx, []*models.Delivery{d})
	})
	if err != nil {
		return nil, fmt.Errorf("resend delivery %s: %w", id, err)
	}
	s.signalWake()
	return d, nil
}

// resendLimit bounds one call of ResendSince.
const resendLimit = 1000

// ResendResult is how many deliveries were put on their way again, and how many more
// there are.
type ResendResult struct {
	Resent    int
	Remaining int64
}

// ResendSince puts all failed deliveries of an endpoint that were made since a
// time on their way again, oldest first and at most 1,000 at once.
func (s *Store) ResendSince(ctx context.Context, app, webhook uuid.UUID, since time.Time) (*ResendResult, error) {
	out := &ResendResult{}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.result = out
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		var hook models.Webhook
		if err := tx.Take(&hook, "id = ? AND app_id = ?", webhook, app).Error; err != nil {
			return mapNotFound(err)
		}
		if err := hook.CanDeliver(); err != nil {
			return err
		}
		const resendable = "webhook_id = ? AND status = ? AND created_at >= ? AND " + settledAt + " >= ? AND run < ? AND EXISTS (SELECT 1 FROM webhook_events AS v WHERE v.id = event_id AND " + kept + ")"
		which := []any{webhook, models.DeliveryFailed, since.UTC(), s.historyStart(), models.MaxRuns}
		var failed []*models.Delivery
		if err := s.locked(tx).Where(resendable, which...).Order("id").Limit(resendLimit).Find(&failed).Error; err != nil {
			return err
		}
		out.Resent = len(failed)
		for _, d := range failed {
			if err := d.Resend(&hook); err != nil {
				return err
			}
		}
		if err := s.requeueDeliveries(t, tx, failed); err != nil {
			return err
		}
		return tx.Model(&models.Delivery{}).Where(resendable, which...).Count(&out.Remaining).Error
	})
	if err != nil {
		return nil, fmt.Errorf("resend deliveries of webhook %s: %w", webhook, err)
	}
	s.signalWake()
	return out, nil
}

// requeueDeliveries saves deliveries that are on their way again, and has them started.
func (s *Store) requeueDeliveries(t *transaction, tx *gorm.DB, ds []*models.Delivery) error {
	now := s.now()
	ids := make([]uuid.UUID, 0, len(ds))
	rows := make([]models.OutboxRow, 0, len(ds))
	for _, d := range ds {
		ids = append(ids, d.ID)
		rows = append(rows, s.outboxRow(now, d.ID, models.OutboxDeliver,
			models.OutboxRefs{AppID: d.AppID, WebhookID: &d.WebhookID, Resend: d.Run}))
	}
	err := tx.Model(&models.Delivery{}).Where("id IN ?", ids).Updates(map[string]any{
		"status": models.DeliveryPending, "run": gorm.Expr("run + 1"), "run_attempts": 0, "failed_at": nil, "delivered_at": nil,
	}).Error
	if err != nil {
		return err
	}
	addOutbox(t, rows...)
	return nil
}

// PingWebhook sends the endpoint an event of its own, which concerns no envelope.
func (s *Store) PingWebhook(ctx context.Context, app, webhook uuid.UUID) (*models.Delivery, error) {
	d := &models.Delivery{}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.result = d
		tx, err := t.gorm()
		if err != nil {
			return err
		}
		var hook models.Webhook
		if err := tx.Take(&hook, "id = ? AND app_id = ?", webhook, app).Error; err != nil {
			return mapNotFound(err)
		}
		if err := hook.CanDeliver(); err != nil {
			return err
		}
		now := s.now()
		ev := &models.WebhookEvent{ID: s.newID(), AppID: app, Name: models.EventPing, CreatedAt: now}
		if ev.Body, err = models.PingPayload(ev.ID, webhook, now); err != nil {
			return err
		}
		*d = models.Delivery{
			ID: s.newID(), AppID: app, WebhookID: webhook, EventID: ev.ID, Event: ev.Name, Status: models.DeliveryPending, CreatedAt: now,
		}
		addOutbox(t, s.addDeliveries(t, ev, d)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ping webhook %s: %w", webhook, err)
	}
	s.signalWake()
	return d, nil
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
	var webhooks []models.Webhook
	if err := db.Select("id", "url").Where("app_id = ? AND id IN ?", app, hookIDs).Find(&webhooks).Error; err != nil {
		return out, fmt.Errorf("name endpoints of deliveries: %w", err)
	}
	var envelopes []models.Envelope
	if err := db.Select("id", "subject").Where("app_id = ? AND id IN ?", app, envelopeIDs).Find(&envelopes).Error; err != nil {
		return out, fmt.Errorf("name envelopes of deliveries: %w", err)
	}
	for i := range webhooks {
		out.URLs[webhooks[i].ID] = webhooks[i].URL
	}
	for i := range envelopes {
		if envelopes[i].Subject != nil {
			out.Subjects[envelopes[i].ID] = *envelopes[i].Subject
		}
	}
	return out, nil
}

// DeliveryJob is what a try at a delivery needs.
type DeliveryJob struct {
	Delivery models.Delivery
	Event    models.WebhookEvent
	URL      string
	// Secrets sign it, the newest first. While a secret is replaced there are
	// several: receivers may still know the oldest alone.
	Secrets      [][]byte
	FailingSince *time.Time
}

// DeliveryJob loads a pending delivery. It returns models.ErrNotFound if the
// delivery is settled or its endpoint is gone: there is nothing to do.
func (s *Store) DeliveryJob(ctx context.Context, id uuid.UUID) (*DeliveryJob, error) {
	db := s.db.WithContext(ctx)
	j := &DeliveryJob{}
	if err := db.Take(&j.Delivery, "id = ? AND status = ?", id, models.DeliveryPending).Error; err != nil {
		return nil, fmt.Errorf("load delivery %s: %w", id, mapNotFound(err))
	}
	var w models.Webhook
	if err := db.Take(&w, "id = ? AND active", j.Delivery.WebhookID).Error; err != nil {
		return nil, fmt.Errorf("load webhook of delivery %s: %w", id, mapNotFound(err))
	}
	if err := db.Take(&j.Event, "id = ?", j.Delivery.EventID).Error; err != nil {
		return nil, fmt.Errorf("load event of delivery %s: %w", id, mapNotFound(err))
	}
	err := decrypt(s, &j.Event)
	if err != nil {
		return nil, fmt.Errorf("load event of delivery %s: %w", id, err)
	}
	j.Event.Body, j.Event.ValuesBody = j.Event.BodyFor(&w), nil
	j.URL, j.FailingSince = w.URL, w.FailingSince
	if j.Secrets, err = s.webhookSecrets(ctx, db, &w); err != nil {
		return nil, fmt.Errorf("secrets of delivery %s: %w", id, err)
	}
	return j, nil
}

// webhookSecrets are what an endpoint's deliveries are signed with, the newest
// first: its own secret or else the app's client secrets, and until the end of a
// rotation the one before.
func (s *Store) webhookSecrets(ctx context.Context, db *gorm.DB, w *models.Webhook) ([][]byte, error) {
	var out [][]byte
	if w.Secret != nil {
		own, err := s.vault.Decrypt(w.Secret, labelWebhookSecret)
		if err != nil {
			return nil, err
		}
		out = append(out, own)
	} else {
		shared, err := s.clientSecrets(ctx, db, w.AppID)
		if err != nil {
			return nil, err
		}
		out = shared
	}
	if !w.PreviousSigns(s.now()) {
		return out, nil
	}
	old, err := s.vault.Decrypt(w.PreviousSecret, labelWebhookSecret)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(secret []byte) bool { return string(secret) == string(old) })
	return append(out, old), nil
}

// RecordAttempt keeps an attempt at a delivery and settles the delivery by it. It
// returns why the endpoint was switched off by it, "" if it was not.
func (s *Store) RecordAttempt(ctx context.Context, a models.DeliveryAttempt, o models.DeliveryOutcome) (disabled string, err error) {
	a.ID = s.newID()
	err = s.tx(ctx, func(tx *gorm.DB) error {
		// Before the delivery: who switches the endpoint off goes on to its other deliveries.
		if !o.Delivered {
			if err := s.locked(tx).Select("id").Where("id = ?", o.WebhookID).Find(&[]models.Webhook{}).Error; err != nil {
				return err
			}
		}
		var d models.Delivery
		if err := s.locked(tx).Take(&d, "id = ?", a.DeliveryID).Error; err != nil {
			return mapNotFound(err)
		}
		if d.Status != models.DeliveryPending { // it was settled during the attempt, perhaps by a purge
			has, err := hasBody(tx, d.EventID)
			if err != nil {
				return err
			}
			if !has {
				a.Body = nil // it may repeat what was purged
			}
		}
		d.Record(&a, o)
		if err := tx.Model(&d).Select("attempts", "run_attempts", "status", "delivered_at", "failed_at").Updates(&d).Error; err != nil {
			return err
		}
		if err := tx.Create(encrypt(s, &a)).Error; err != nil {
			return err
		}
		disabled, err = s.updateEndpointHealth(tx, &a, o)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("record attempt at delivery %s: %w", a.DeliveryID, err)
	}
	return disabled, nil
}

// updateEndpointHealth saves what an attempt tells of the endpoint, which is locked
// if the attempt failed. It writes only what changes: endpoints that do well are not
// locked by their deliveries.
func (s *Store) updateEndpointHealth(tx *gorm.DB, a *models.DeliveryAttempt, o models.DeliveryOutcome) (disabled string, err error) {
	var webhooks []models.Webhook
	if err := tx.Where("id = ?", o.WebhookID).Find(&webhooks).Error; err != nil || len(webhooks) == 0 {
		return "", err
	}
	w, was := &webhooks[0], webhooks[0]
	disabled = w.UpdateHealth(a, o)
	columns := []string{"last_error"}
	if w.FailingSince != was.FailingSince {
		columns = append(columns, "failing_since")
	}
	if disabled == "" {
		if len(columns) == 1 && w.LastError == was.LastError {
			return "", nil
		}
		return "", tx.Model(w).Select(columns).Updates(w).Error
	}
	if err := tx.Model(w).Select(append(columns, "active", "disabled_at", "disabled_reason")).Updates(w).Error; err != nil {
		return "", err
	}
	return disabled, s.failPending(tx, w.ID)
}

// failPending fails what is on its way to an endpoint: the workflows find it
// settled and end.
func (s *Store) failPending(tx *gorm.DB, webhook uuid.UUID) error {
	return tx.Model(&models.Delivery{}).Where("webhook_id = ? AND status = ?", webhook, models.DeliveryPending).
		Updates(map[string]any{"status": models.DeliveryFailed, "failed_at": s.now()}).Error
}

// AbandonDelivery marks a delivery as failed unless it is settled.
func (s *Store) AbandonDelivery(ctx context.Context, id uuid.UUID) error {
	err := s.db.WithContext(ctx).Model(&models.Delivery{}).Where("id = ? AND status = ?", id, models.DeliveryPending).
		Updates(map[string]any{"status": models.DeliveryFailed, "failed_at": s.now()}).Error
	if err != nil {
		return fmt.Errorf("abandon delivery %s: %w", id, err)
	}
	return nil
}
