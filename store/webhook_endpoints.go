package store

import (
	"context"
	"crypto/subtle"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

const labelWebhookSecret = "webhook-secret"

// WebhookRepository stores endpoints, their events, and the deliveries of the events.
type WebhookRepository struct {
	*engine

	apps *AppRepository
}

func (s *WebhookRepository) register() {
	encryptSecrets(s.engine, "webhooks", "secret", labelWebhookSecret)
	encryptSecrets(s.engine, "webhooks", "previous_secret", labelWebhookSecret)
	encryptRows(s.engine, func(v *models.WebhookEvent) encryptedRow {
		return encryptedRow{"webhook_events", v.ID.String(), []encryptedColumn{
			{name: "body", data: &v.Body, compressed: true}, {name: "values_body", data: &v.ValuesBody, compressed: true},
		}}
	})
	encryptRows(s.engine, func(v *models.DeliveryAttempt) encryptedRow { // an endpoint's response may repeat the request
		return encryptedRow{"delivery_attempts", v.ID.String(), []encryptedColumn{{name: "body", data: &v.Body}}}
	})
	rewrapRows[models.WebhookEvent](s.engine, "id", nil)
	rewrapRows[models.DeliveryAttempt](s.engine, "id", nil)
}

// CreateWebhook registers an endpoint. If secret is empty, the endpoint's deliveries are signed with the app's client
// secret.
func (s *WebhookRepository) CreateWebhook(
	ctx context.Context, app uuid.UUID, url string, events []models.EventName, secret string, include ...models.WebhookInclude,
) (*models.Webhook, error) {
	w := &models.Webhook{ID: s.newID(), AppID: app, URL: url, Events: events, Include: include, Active: true, CreatedAt: s.now()}
	if secret != "" {
		w.Secret = s.vault.Encrypt([]byte(secret), labelWebhookSecret)
	}
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(&models.App{}, "id = ?", app).Error; err != nil { // serializes concurrent calls
			return mapNotFound(err)
		}
		n, err := count(tx.Model(&models.Webhook{}).Where("app_id = ?", app))
		if err != nil {
			return err
		}
		if err := models.CheckWebhookLimit(n); err != nil {
			return err
		}
		return tx.Create(w).Error
	})
	return w, wrap(err, "create webhook")
}

// Webhooks lists an app's endpoints, oldest first.
func (s *WebhookRepository) Webhooks(ctx context.Context, app uuid.UUID) ([]models.Webhook, error) {
	out, err := find[models.Webhook](s.db.WithContext(ctx).Where("app_id = ?", app).Order("created_at, id"))
	return out, wrap(err, "list webhooks")
}

// DeleteWebhook deletes an endpoint and fails its pending deliveries.
func (s *WebhookRepository) DeleteWebhook(ctx context.Context, app, id uuid.UUID) error {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		result := tx.Where("id = ? AND app_id = ?", id, app).Delete(&models.Webhook{})
		if err := requireRows(result, models.ErrNotFound); err != nil {
			return err
		}
		return s.failPending(tx, id)
	})
	return wrap(err, "delete webhook %s", id)
}

// Webhook loads an app's endpoint.
func (s *WebhookRepository) Webhook(ctx context.Context, app, id uuid.UUID) (*models.Webhook, error) {
	w, err := one[models.Webhook](s.db.WithContext(ctx), "id = ? AND app_id = ?", id, app)
	return w, wrap(err, "load webhook %s", id)
}

// WebhookPatch describes changes that PatchWebhook makes to an endpoint in a single transaction. Nil fields are left
// unchanged.
type WebhookPatch struct {
	models.WebhookChange

	Active  *bool
	Secret  *string // empty to sign with the client secret
	Overlap time.Duration
}

// PatchWebhook changes an endpoint in a single transaction. Pending deliveries are sent to the new address. A paused
// endpoint receives no deliveries. Resuming also resets the failures of an endpoint that the service disabled. After a
// secret is replaced, deliveries are signed with both secrets for the duration Overlap.
func (s *WebhookRepository) PatchWebhook(ctx context.Context, app, id uuid.UUID, c WebhookPatch) (*models.Webhook, error) {
	w := &models.Webhook{}
	err := s.tx(ctx, func(tx *gorm.DB) error {
		if err := s.locked(tx).Take(w, "id = ? AND app_id = ?", id, app).Error; err != nil {
			return mapNotFound(err)
		}
		w.Change(c.WebhookChange)
		if c.Secret != nil {
			if err := s.rotateSecret(tx, w, *c.Secret, c.Overlap); err != nil {
				return err
			}
		}
		if c.Active != nil {
			w.SetActive(*c.Active)
		}
		err := tx.Model(w).Select("url", "events", "include", "active", "secret", "previous_secret", "previous_until", "failing_since", "last_error",
			"disabled_at", "disabled_reason").Updates(w).Error
		if err != nil || c.Active == nil || *c.Active {
			return err
		}
		return s.failPending(tx, id)
	})
	return w, wrap(err, "patch webhook %s", id)
}

// rotateSecret replaces the secret. A retried request sets the current secret again, which leaves the previous secret
// valid. With a shorter overlap, the previous secret becomes invalid earlier.
func (s *WebhookRepository) rotateSecret(tx *gorm.DB, w *models.Webhook, secret string, overlap time.Duration) error {
	until := s.now().Add(overlap)
	if s.signsWith(w, secret) {
		if w.PreviousSigns(until) {
			w.PreviousUntil = &until
		}
		return nil
	}
	old := w.Secret
	if old == nil {
		plain, err := s.apps.clientSecrets(tx, w.AppID)
		if err != nil {
			return err
		}
		old = s.vault.Encrypt(plain[len(plain)-1], labelWebhookSecret)
	}
	var fresh []byte
	if secret != "" {
		fresh = s.vault.Encrypt([]byte(secret), labelWebhookSecret)
	}
	w.RotateSecret(fresh, old, until)
	return nil
}

// signsWith reports whether the endpoint's deliveries are already signed with the given secret. The client secret is
// "". A secret that cannot be decrypted is considered different.
func (s *WebhookRepository) signsWith(w *models.Webhook, secret string) bool {
	if w.Secret == nil || secret == "" {
		return w.Secret == nil && secret == ""
	}
	plain, err := s.vault.Decrypt(w.Secret, labelWebhookSecret)
	return err == nil && subtle.ConstantTimeCompare(plain, []byte(secret)) == 1
}

func webhookColumns(w *models.Webhook) []column {
	return []column{
		{"id", &w.ID},
		{"app_id", &w.AppID},
		{"url", &w.URL},
		{"events", inJSON{value: &w.Events}},
		{"include", inJSON{value: &w.Include}},
		{"active", &w.Active},
		{"created_at", &w.CreatedAt},
		{"(SELECT tenants FROM apps WHERE apps.id = webhooks.app_id)", inJSON{value: &w.Tenants}},
	}
}
