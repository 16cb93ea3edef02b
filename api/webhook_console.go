package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

type consoleWebhookView struct {
	webhookView

	SignedWith     string     `json:"signedWith"` // "secret" or "client_secret"
	PreviousUntil  *time.Time `json:"previousSecretUntil"`
	FailingSince   *time.Time `json:"failingSince"`
	LastError      string     `json:"lastError"`
	DisabledAt     *time.Time `json:"disabledAt"`
	DisabledReason string     `json:"disabledReason"`
}

func viewConsoleWebhook(w *models.Webhook) consoleWebhookView {
	v := consoleWebhookView{
		webhookView: viewWebhook(w), SignedWith: "client_secret", PreviousUntil: utcPtr(w.PreviousUntil), FailingSince: utcPtr(w.FailingSince),
		LastError: w.LastError, DisabledAt: utcPtr(w.DisabledAt), DisabledReason: w.DisabledReason,
	}
	if w.Secret != nil {
		v.SignedWith = "secret"
	}
	return v
}

// endpointRequest returns the ID of the endpoint in the path, and the request body.
func (s *webhookHandler) endpointRequest(c *gin.Context, app caller) (uuid.UUID, *object, error) {
	id := checkedID(c, "id")
	if _, err := s.store.Webhook(c.Request.Context(), app.ID, id); err != nil {
		return id, nil, err
	}
	o, err := readObject(c, false)
	return id, o, err
}

// createConsoleWebhook registers an endpoint, in the same way as the API for applications.
func (s *webhookHandler) createConsoleWebhook(c *gin.Context, app caller, o *object) error {
	return s.registerWebhook(c, app, o, asJSON(http.StatusCreated, viewConsoleWebhook))
}

// updateWebhook changes the URL or the events of an endpoint. A missing or null member keeps its value.
func (s *webhookHandler) updateWebhook(c *gin.Context, app caller) error {
	id, o, err := s.endpointRequest(c, app)
	if err != nil {
		return err
	}
	change := models.WebhookChange{URL: o.optStr("url")}
	if change.URL != nil {
		s.webhookURL(o, *change.URL)
	}
	if o.get("events") != nil {
		change.Events = webhookEvents(o)
	}
	if err := o.err(); err != nil {
		return err
	}
	return s.changeWebhook(c, app, id, store.WebhookPatch{WebhookChange: change}, asJSON(http.StatusOK, viewConsoleWebhook))
}

// setWebhookActive returns a handler that pauses or resumes an endpoint.
func (s *webhookHandler) setWebhookActive(active bool) func(*gin.Context, caller) error {
	return func(c *gin.Context, app caller) error {
		return s.changeWebhook(c, app, checkedID(c, "id"), store.WebhookPatch{Active: &active}, asJSON(http.StatusOK, viewConsoleWebhook))
	}
}

func (s *webhookHandler) pingWebhook(c *gin.Context, app caller) error {
	return command(s.subject, c, func(st webhookStore) (*models.Delivery, error) {
		return st.PingWebhook(c.Request.Context(), app.ID, checkedID(c, "id"))
	}, asJSON(http.StatusAccepted, viewDelivery))
}

// The default and maximum number of hours for which deliveries are signed with both the old and the new secret of an
// endpoint.
const (
	defaultOverlap = 24
	maxOverlap     = 7 * 24
)

// rotateSecret replaces the secret of an endpoint. Null selects the client secret. Deliveries are also signed with the
// old secret for the number of hours in overlapHours.
func (s *webhookHandler) rotateSecret(c *gin.Context, app caller) error {
	id, o, err := s.endpointRequest(c, app)
	if err != nil {
		return err
	}
	if !o.has("secret") {
		o.bad("secret", "is required; null selects the client secret")
	}
	secret, overlap := webhookSecret(o), secretOverlap(o, defaultOverlap, maxOverlap)
	if err := o.err(); err != nil {
		return err
	}
	return s.changeWebhook(c, app, id, store.WebhookPatch{Secret: &secret, Overlap: overlap}, asJSON(http.StatusOK, viewConsoleWebhook))
}

// resendSince resends all deliveries to an endpoint that have failed since the given time.
func (s *webhookHandler) resendSince(c *gin.Context, app caller) error {
	id, o, err := s.endpointRequest(c, app)
	if err != nil {
		return err
	}
	var since time.Time
	if text := o.str("since"); o.get("since") == text {
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			o.bad("since", notATime)
		}
	}
	if err := o.err(); err != nil {
		return err
	}
	return command(s.subject, c, func(st webhookStore) (*store.ResendResult, error) {
		return st.ResendSince(c.Request.Context(), app.App, id, since)
	}, asJSON(http.StatusAccepted, func(n *store.ResendResult) gin.H { return gin.H{"resent": n.Resent, "remaining": n.Remaining} }))
}
