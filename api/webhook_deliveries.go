package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

// undeliveredView represents a delivery that was not accepted by its endpoint.
type undeliveredView struct {
	ID         uuid.UUID             `json:"id"`
	WebhookID  uuid.UUID             `json:"webhookId"`
	EventID    uuid.UUID             `json:"eventId"`
	EnvelopeID *uuid.UUID            `json:"envelopeId"` // null for a ping
	Event      models.EventName      `json:"event"`
	Status     models.DeliveryStatus `json:"status"`
	Attempts   int                   `json:"attempts"`
	Resends    int                   `json:"resends"`
	CreatedAt  time.Time             `json:"createdAt"`
	FailedAt   *time.Time            `json:"failedAt"`

	// The URL of the webhook and the subject of the envelope. Each is omitted if its webhook or envelope was deleted or
	// not loaded.
	WebhookURL      string `json:"webhookUrl,omitempty"`
	EnvelopeSubject string `json:"envelopeSubject,omitempty"`
}

type deliveryView struct {
	undeliveredView

	DeliveredAt *time.Time `json:"deliveredAt"`
}

func viewDelivery(d *models.Delivery) deliveryView {
	return deliveryView{undeliveredView{
		ID: d.ID, WebhookID: d.WebhookID, EventID: d.EventID, EnvelopeID: nilIfZero(d.EnvelopeID), Event: d.Event, Status: d.Status, Attempts: d.Attempts,
		Resends: d.Run, CreatedAt: d.CreatedAt.UTC(), FailedAt: utcPtr(d.FailedAt),
	}, utcPtr(d.DeliveredAt)}
}

// viewDeliveryIn is like viewDelivery, but adds the URL of the webhook and the subject of the envelope.
func viewDeliveryIn(names store.DeliveryContext) func(*models.Delivery) deliveryView {
	return func(d *models.Delivery) deliveryView {
		v := viewDelivery(d)
		v.WebhookURL, v.EnvelopeSubject = names.URLs[d.WebhookID], names.Subjects[d.EnvelopeID]
		return v
	}
}

type attemptView struct {
	Number    int       `json:"number"`
	At        time.Time `json:"at"`
	Status    *int      `json:"status"` // null if there was no response
	LatencyMS int64     `json:"latencyMs"`
	Error     string    `json:"error"`
	Body      string    `json:"body"`
}

func viewAttempt(a *models.DeliveryAttempt) attemptView {
	return attemptView{a.Number, a.At.UTC(), nilIfZero(a.Status), a.LatencyMS, a.Error, printable(a.Body)}
}

func (s *webhookHandler) listDeliveries(c *gin.Context, app caller) error {
	p := models.Problems{}
	f := store.DeliveryFilter{
		App: app.ID, Tenants: app.Tenants, Status: models.DeliveryStatus(c.Query("status")), Event: models.EventName(c.Query("event")),
		Webhook: queryID(c, p, "webhookId"), Envelope: queryID(c, p, "envelopeId"),
	}
	const list = "deliveries"
	f.Page, f.Size = pageQuery(c, p)
	f.After, f.Peek = cursorQuery(c, p, app, list).ID, true
	switch f.Status {
	case models.DeliveryPending, models.DeliveryDelivered, models.DeliveryFailed:
	default:
		if _, present := c.GetQuery("status"); present {
			p.Add("status", "must be pending, delivered or failed")
		}
	}
	if _, present := c.GetQuery("event"); present && !f.Event.IsWebhookEvent() && f.Event != models.EventPing {
		p.Add("event", "is not a webhook event")
	}
	if err := p.Err(); err != nil {
		return err
	}
	found, total, err := s.store.Deliveries(c.Request.Context(), f)
	if err != nil {
		return err
	}
	found, next := cutPage(found, f.Size, app, list, func(d models.Delivery) listPosition { return listPosition{ID: d.ID} })
	names, err := s.store.DeliveryContext(c.Request.Context(), app.ID, found)
	if err != nil {
		return err
	}
	return respondPage(c, views(found, viewDeliveryIn(names)), total, f.Page, f.Size, next)
}

func (s *webhookHandler) getDelivery(c *gin.Context, app caller) error {
	d, ev, attempts, err := s.store.Delivery(c.Request.Context(), app.App, checkedID(c, "id"))
	if err != nil {
		return err
	}
	names, err := s.store.DeliveryContext(c.Request.Context(), app.ID, []models.Delivery{*d})
	if err != nil {
		return err
	}
	out := struct {
		deliveryView

		Payload     json.RawMessage `json:"payload"`
		AttemptList []attemptView   `json:"attemptLog"`
	}{viewDeliveryIn(names)(d), ev.Body, views(attempts, viewAttempt)}
	if len(ev.Body) == 0 { // purged together with its envelope
		out.Payload = nil
	}
	return respond(c, http.StatusOK, out)
}

func (s *webhookHandler) resendDelivery(c *gin.Context, app caller) error {
	return command(s.subject, c, func(st webhookStore) (*models.Delivery, error) {
		return st.Resend(c.Request.Context(), app.App, checkedID(c, "id"))
	}, asJSON(http.StatusAccepted, viewDelivery))
}

// printable returns the beginning of an endpoint's response as text, with tabs and line breaks but no other hidden
// characters.
func printable(body []byte) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && plaintext.Hidden(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, string(body))
}
