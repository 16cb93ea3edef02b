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

// DeliveryFilter selects deliveries for a list. Fields with a zero value do not restrict the list.
type DeliveryFilter struct {
	App      uuid.UUID
	Tenants  []string // nil for all tenants
	Status   models.DeliveryStatus
	Event    models.EventName
	Webhook  uuid.UUID
	Envelope uuid.UUID
	Page     int // starts at 1
	Size     int
	// After restricts the list to deliveries older than the one with this ID. If it is uuid.Nil, Page applies.
	After uuid.UUID
	Peek  bool // returns one more delivery than Size, to detect a further page
}

// Deliveries lists an app's deliveries, newest first, with the number of all matches, which are counted up to
// countLimit.
func (s *WebhookRepository) Deliveries(ctx context.Context, f DeliveryFilter) ([]models.Delivery, int64, error) {
	return listFromReplica(ctx, s.engine, func(e *engine) ([]models.Delivery, int64, error) {
		return (&WebhookRepository{engine: e}).deliveries(ctx, f)
	})
}

func (s *WebhookRepository) deliveries(ctx context.Context, f DeliveryFilter) ([]models.Delivery, int64, error) {
	db := s.db.WithContext(ctx)
	q := s.matchingDeliveries(db, f)
	total, err := countUpTo(db, q)
	if err != nil {
		return nil, 0, fmt.Errorf("count deliveries: %w", err)
	}
	out, err := find[models.Delivery](s.deliveriesPage(db, f))
	return out, total, wrap(err, "list deliveries")
}

func (s *WebhookRepository) deliveriesPage(db *gorm.DB, f DeliveryFilter) *gorm.DB {
	q, limit := s.matchingDeliveries(db, f).Order("id DESC"), f.Size
	if f.Peek {
		limit++
	}
	if f.After != uuid.Nil {
		return q.Where("id < ?", f.After).Limit(limit)
	}
	return q.Offset((f.Page - 1) * f.Size).Limit(limit)
}

func (s *WebhookRepository) matchingDeliveries(db *gorm.DB, f DeliveryFilter) *gorm.DB {
	q := ownDeliveries(db.Model(&models.Delivery{}), f.App, f.Tenants)
	q = whereNonZero(q, "status = ?", f.Status)
	q = whereNonZero(q, "event = ?", f.Event)
	q = whereNonZero(q, "webhook_id = ?", f.Webhook)
	return whereNonZero(q, "event_id IN (SELECT id FROM webhook_events WHERE envelope_id = ?)", f.Envelope) // uses two indexes
}

// ownDeliveries selects an app's deliveries for the given tenants, and its pings, which belong to no tenant. It looks
// up the event of each delivery, so that PostgreSQL reads a page in the order of the deliveries index.
func ownDeliveries(db *gorm.DB, app uuid.UUID, tenants []string) *gorm.DB {
	q := db.Where("app_id = ?", app)
	if len(tenants) == 0 {
		return q
	}
	return q.Where("EXISTS (SELECT 1 FROM webhook_events AS v WHERE v.id = event_id AND v.tenant_id IN ?)", append([]string{""}, tenants...))
}

// Delivery returns an app's delivery with its event and all attempts, oldest first, from a single snapshot.
func (s *WebhookRepository) Delivery(ctx context.Context, app *models.App, id uuid.UUID) (d *models.Delivery, ev *models.WebhookEvent, attempts []models.DeliveryAttempt, err error) {
	err = s.read(ctx, func(tx *gorm.DB) error {
		if d, err = one[models.Delivery](ownDeliveries(tx, app.ID, app.Tenants), "id = ?", id); err != nil {
			return err
		}
		if ev, err = one[models.WebhookEvent](tx, "id = ?", d.EventID); err != nil {
			return fmt.Errorf("load event: %w", err)
		}
		if attempts, err = find[models.DeliveryAttempt](tx.Where("delivery_id = ?", id).Order("number")); err != nil {
			return err
		}
		return errors.Join(decrypt(s.engine, ev), decryptAll(s.engine, pointers(attempts)))
	})
	return d, ev, attempts, wrap(err, "load delivery %s", id)
}

// Resend delivers an event again with the same event ID. A pending delivery is attempted immediately.
func (s *WebhookRepository) Resend(ctx context.Context, app *models.App, id uuid.UUID) (*models.Delivery, error) {
	d, err := inTransaction(ctx, s.engine, func(t *transaction) (*models.Delivery, error) {
		tx := t.gorm()
		d, err := one[models.Delivery](ownDeliveries(s.locked(tx), app.ID, app.Tenants), "id = ?", id)
		if err != nil {
			return nil, err
		}
		if d.SettledBefore(s.historyStart()) { // about to be removed
			return nil, models.ErrNotFound
		}
		w, err := first[models.Webhook](tx.Where("id = ?", d.WebhookID))
		if err != nil {
			return nil, err
		}
		if err := d.Resend(w); err != nil {
			return nil, err
		}
		has, err := hasBody(tx, d.EventID)
		if err != nil {
			return nil, err
		}
		if !has {
			return nil, errPayloadPurged
		}
		return d, s.requeueDeliveries(t, []*models.Delivery{d})
	})
	return d, wrap(err, "resend delivery %s", id)
}

// resendLimit is the maximum number of deliveries in one call of ResendSince.
const resendLimit = 1000

// ResendResult contains the number of resent deliveries, and the number of deliveries that remain to be resent.
type ResendResult struct {
	Resent    int
	Remaining int64
}

// ResendSince resends an endpoint's failed deliveries that were created since the given time, oldest first and up to
// 1,000 at a time.
func (s *WebhookRepository) ResendSince(ctx context.Context, app *models.App, webhook uuid.UUID, since time.Time) (*ResendResult, error) {
	out, err := inTransaction(ctx, s.engine, func(t *transaction) (*ResendResult, error) {
		tx := t.gorm()
		hook, err := one[models.Webhook](tx, "id = ? AND app_id = ?", webhook, app.ID)
		if err != nil {
			return nil, err
		}
		if err := hook.CanDeliver(); err != nil {
			return nil, err
		}
		const resendable = "webhook_id = ? AND status = ? AND created_at >= ? AND " + settledAt + " >= ? AND run < ? AND EXISTS (SELECT 1 FROM webhook_events AS v WHERE v.id = event_id AND " + withBody + ")"
		which := []any{webhook, models.DeliveryFailed, since.UTC(), s.historyStart(), models.MaxRuns}
		failed, err := find[*models.Delivery](ownDeliveries(s.locked(tx), app.ID, app.Tenants).Where(resendable, which...).Order("id").Limit(resendLimit))
		if err != nil {
			return nil, err
		}
		for _, d := range failed {
			if err := d.Resend(hook); err != nil {
				return nil, err
			}
		}
		if err := s.requeueDeliveries(t, failed); err != nil {
			return nil, err
		}
		remaining, err := count(ownDeliveries(tx.Model(&models.Delivery{}), app.ID, app.Tenants).Where(resendable, which...))
		return &ResendResult{Resent: len(failed), Remaining: remaining}, err
	})
	return out, wrap(err, "resend deliveries of webhook %s", webhook)
}

// requeueDeliveries saves deliveries to be resent, and requests their workflows.
func (s *WebhookRepository) requeueDeliveries(t *transaction, ds []*models.Delivery) error {
	now := s.now()
	ids := mapSlice(ds, func(d *models.Delivery) uuid.UUID { return d.ID })
	err := t.gorm().Model(&models.Delivery{}).Where("id IN ?", ids).Updates(map[string]any{
		"status": models.DeliveryPending, "run": gorm.Expr("run + 1"), "run_attempts": 0, "failed_at": nil, "delivered_at": nil,
	}).Error
	if err != nil {
		return err
	}
	addOutbox(t, mapSlice(ds, func(d *models.Delivery) models.OutboxRow { return s.deliveryRow(now, d) })...)
	return nil
}

// PingWebhook sends a ping event to an endpoint. The event does not belong to an envelope.
func (s *WebhookRepository) PingWebhook(ctx context.Context, app, webhook uuid.UUID) (*models.Delivery, error) {
	d, err := inTransaction(ctx, s.engine, func(t *transaction) (*models.Delivery, error) {
		hook, err := one[models.Webhook](t.gorm(), "id = ? AND app_id = ?", webhook, app)
		if err != nil {
			return nil, err
		}
		if err := hook.CanDeliver(); err != nil {
			return nil, err
		}
		now := s.now()
		ev := &models.WebhookEvent{ID: s.newID(), AppID: app, Name: models.EventPing, CreatedAt: now}
		if ev.Body, err = models.PingPayload(ev.ID, webhook, now); err != nil {
			return nil, err
		}
		d := s.newDelivery(ev, webhook)
		addOutbox(t, s.insertDeliveries(t, ev, d)...)
		return d, nil
	})
	return d, wrap(err, "ping webhook %s", webhook)
}

// DeliveryContext contains the display names of objects that deliveries refer to.
type DeliveryContext struct {
	URLs     map[uuid.UUID]string // URLs of endpoints that are not deleted
	Subjects map[uuid.UUID]string // subjects of envelopes that have a subject
}

// DeliveryContext returns the display names of the endpoints and envelopes of an app's deliveries.
func (s *WebhookRepository) DeliveryContext(ctx context.Context, app uuid.UUID, ds []models.Delivery) (DeliveryContext, error) {
	out := DeliveryContext{URLs: make(map[uuid.UUID]string), Subjects: make(map[uuid.UUID]string)}
	hookIDs := mapSlice(ds, func(d models.Delivery) uuid.UUID { return d.WebhookID })
	envelopeIDs := mapSlice(ds, func(d models.Delivery) uuid.UUID { return d.EnvelopeID })
	db := s.db.WithContext(ctx)
	webhooks, err := find[*models.Webhook](db.Select("id", "url").Where("app_id = ? AND id IN ?", app, hookIDs))
	if err != nil {
		return out, fmt.Errorf("load endpoints of deliveries: %w", err)
	}
	envelopes, err := find[*models.Envelope](db.Select("id", "subject").Where("app_id = ? AND id IN ? AND subject IS NOT NULL", app, envelopeIDs))
	if err != nil {
		return out, fmt.Errorf("load envelopes of deliveries: %w", err)
	}
	for _, w := range webhooks {
		out.URLs[w.ID] = w.URL
	}
	for _, e := range envelopes {
		out.Subjects[e.ID] = *e.Subject
	}
	return out, nil
}

// DeliveryJob contains all data for one attempt of a delivery.
type DeliveryJob struct {
	Delivery models.Delivery
	Event    models.WebhookEvent
	URL      string
	// Secrets contains the secrets with which the delivery is signed, newest first. While a secret is being replaced
	// there are several, because receivers may know only the oldest.
	Secrets      [][]byte
	FailingSince *time.Time
}

// DeliveryJob returns the data for an attempt of a pending delivery. It returns models.ErrNotFound if there is nothing
// left to send because the delivery is settled, its endpoint was deleted or disabled, or its body was purged.
func (s *WebhookRepository) DeliveryJob(ctx context.Context, id uuid.UUID) (*DeliveryJob, error) {
	db := s.db.WithContext(ctx)
	d, err := one[models.Delivery](db, "id = ? AND status = ?", id, models.DeliveryPending)
	if err != nil {
		return nil, fmt.Errorf("load delivery %s: %w", id, err)
	}
	w, err := one[models.Webhook](db, "id = ? AND active", d.WebhookID)
	if err != nil {
		return nil, fmt.Errorf("load webhook of delivery %s: %w", id, err)
	}
	ev, err := one[models.WebhookEvent](db, "id = ?", d.EventID)
	if err == nil {
		err = decrypt(s.engine, ev)
	}
	if err != nil {
		return nil, fmt.Errorf("load event of delivery %s: %w", id, err)
	}
	if len(ev.Body) == 0 { // it was resent while it was being purged
		return nil, fmt.Errorf("event of delivery %s has no body: %w", id, models.ErrNotFound)
	}
	ev.Body, ev.ValuesBody = ev.BodyFor(w), nil
	secrets, err := s.webhookSecrets(db, w)
	if err != nil {
		return nil, fmt.Errorf("load secrets of delivery %s: %w", id, err)
	}
	return &DeliveryJob{Delivery: *d, Event: *ev, URL: w.URL, Secrets: secrets, FailingSince: w.FailingSince}, nil
}

// webhookSecrets returns the secrets with which an endpoint's deliveries are signed, newest first. They are the
// endpoint's own secret, or by default the app's client secrets. During a rotation they include the previous secret.
func (s *WebhookRepository) webhookSecrets(db *gorm.DB, w *models.Webhook) ([][]byte, error) {
	var out [][]byte
	var err error
	if w.Secret != nil {
		out = make([][]byte, 1)
		out[0], err = s.vault.Decrypt(w.Secret, labelWebhookSecret)
	} else {
		out, err = s.apps.clientSecrets(db, w.AppID)
	}
	if err != nil || !w.PreviousSigns(s.now()) {
		return out, err
	}
	old, err := s.vault.Decrypt(w.PreviousSecret, labelWebhookSecret)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(secret []byte) bool { return string(secret) == string(old) })
	return append(out, old), nil
}

// RecordAttempt stores a delivery attempt and updates the delivery. It returns the reason if the attempt disables the
// endpoint, and otherwise "".
func (s *WebhookRepository) RecordAttempt(ctx context.Context, a models.DeliveryAttempt, o models.DeliveryOutcome) (disabled string, err error) {
	a.ID = s.newID()
	err = s.tx(ctx, func(tx *gorm.DB) error {
		w, err := first[models.Webhook](tx.Where("id = ?", o.WebhookID))
		if err != nil {
			return err
		}
		// The endpoint of a delivery is locked only if this attempt or an earlier one failed. The endpoint is then
		// locked before the delivery. Disabling an endpoint uses the same order.
		unwell := w != nil && (!o.Delivered || w.FailingSince != nil || w.LastError != "")
		if unwell {
			if err := s.locked(tx).Select("id").Where("id = ?", o.WebhookID).Find(&[]models.Webhook{}).Error; err != nil {
				return err
			}
		}
		d, err := one[models.Delivery](s.locked(tx), "id = ?", a.DeliveryID)
		if err != nil {
			return err
		}
		if d.Status != models.DeliveryPending { // settled during the attempt, for example by a purge
			has, err := hasBody(tx, d.EventID)
			if err != nil {
				return err
			}
			if !has {
				a.Body = nil // the response may repeat purged data
			}
		}
		d.Record(&a, o)
		if err := tx.Model(d).Select("attempts", "run_attempts", "status", "delivered_at", "failed_at").Updates(d).Error; err != nil {
			return err
		}
		if err := tx.Create(encrypt(s.engine, &a)).Error; err != nil {
			return err
		}
		if unwell {
			disabled, err = s.updateEndpointHealth(tx, &a, o)
		}
		return err
	})
	return disabled, wrap(err, "record attempt at delivery %s", a.DeliveryID)
}

// updateEndpointHealth saves the effect of an attempt on the locked endpoint. It writes only if something changed.
func (s *WebhookRepository) updateEndpointHealth(tx *gorm.DB, a *models.DeliveryAttempt, o models.DeliveryOutcome) (disabled string, err error) {
	w, err := first[models.Webhook](tx.Where("id = ?", o.WebhookID))
	if err != nil || w == nil {
		return "", err
	}
	was := *w
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

// failPending marks an endpoint's pending deliveries as failed, which ends their workflows.
func (s *WebhookRepository) failPending(tx *gorm.DB, webhook uuid.UUID) error {
	return s.failDeliveries(tx.Where("webhook_id = ?", webhook))
}

// failDeliveries marks the selected deliveries as failed, except those that are already settled.
func (s *WebhookRepository) failDeliveries(which *gorm.DB) error {
	return which.Model(&models.Delivery{}).Where("status = ?", models.DeliveryPending).
		Updates(map[string]any{"status": models.DeliveryFailed, "failed_at": s.now()}).Error
}

// AbandonDelivery marks a delivery as failed, unless it is settled or the given run is no longer its latest.
func (s *WebhookRepository) AbandonDelivery(ctx context.Context, id uuid.UUID, run int) error {
	return wrap(s.failDeliveries(s.db.WithContext(ctx).Where("id = ? AND run = ?", id, run)), "abandon delivery %s", id)
}

// settledAt is the SQL expression for the time at which a delivery was settled.
const settledAt = "coalesce(delivered_at, failed_at, created_at)"

// purgeDeliveries removes the bodies of an envelope's events and of the responses to them, which may repeat the
// events. Deliveries keep their statuses and attempts. Pending deliveries fail.
func purgeDeliveries(b *batch, envelope uuid.UUID, at time.Time) {
	const events = "SELECT id FROM webhook_events WHERE envelope_id = $1"
	const deliveries = "SELECT id FROM webhook_deliveries WHERE event_id IN (" + events + ")"
	b.exec("UPDATE webhook_deliveries SET status = $2, failed_at = $3 WHERE event_id IN ("+events+") AND status = $4",
		envelope, models.DeliveryFailed, at, models.DeliveryPending)
	b.exec("UPDATE delivery_attempts SET body = NULL WHERE delivery_id IN ("+deliveries+") AND body IS NOT NULL", envelope)
	b.exec("UPDATE webhook_events SET body = '', values_body = NULL WHERE envelope_id = $1 AND "+withBody, envelope)
}
