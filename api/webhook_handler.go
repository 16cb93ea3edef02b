package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// webhookHandler serves webhook endpoints, their deliveries, and events.
type webhookHandler struct {
	subject[webhookStore]

	allowPrivate bool            // allow endpoints at private addresses
	streamLimit  time.Duration   // maximum duration of an event stream
	stopping     <-chan struct{} // event streams end when this channel is closed
	streams      openStreams
}

type webhookStore interface {
	CreateWebhook(ctx context.Context, app uuid.UUID, url string, events []models.EventName, secret string, include ...models.WebhookInclude) (*models.Webhook, error)
	DeleteWebhook(ctx context.Context, app, id uuid.UUID) error
	Deliveries(ctx context.Context, f store.DeliveryFilter) ([]models.Delivery, int64, error)
	Delivery(ctx context.Context, app *models.App, id uuid.UUID) (d *models.Delivery, ev *models.WebhookEvent, attempts []models.DeliveryAttempt, err error)
	DeliveryContext(ctx context.Context, app uuid.UUID, ds []models.Delivery) (store.DeliveryContext, error)
	Events(ctx context.Context, q store.EventQuery) (*store.EventPage, error)
	PatchWebhook(ctx context.Context, app, id uuid.UUID, c store.WebhookPatch) (*models.Webhook, error)
	PingWebhook(ctx context.Context, app, webhook uuid.UUID) (*models.Delivery, error)
	Resend(ctx context.Context, app *models.App, id uuid.UUID) (*models.Delivery, error)
	ResendSince(ctx context.Context, app *models.App, webhook uuid.UUID, since time.Time) (*store.ResendResult, error)
	Webhook(ctx context.Context, app, id uuid.UUID) (*models.Webhook, error)
	Webhooks(ctx context.Context, app uuid.UUID) ([]models.Webhook, error)
}
