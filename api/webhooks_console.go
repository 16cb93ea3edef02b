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

func changedWebhook(w *models.Webhook) (*store.StoredResponse, error) {
	return inJSON(http.StatusOK, viewConsoleWebhook(w))
}

func (s *Server) inspectWebhooks(c *gin.Context, app caller) error {
	hooks, err := s.Store.Webhooks(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, views(hooks, viewConsoleWebhook))
	return nil
}

// endpointRequest reads which endpoint of the app a request is about, and its body.
func (s *Server) endpointRequest(c *gin.Context, app caller) (uuid.UUID, *object, error) {
	id, err := pathID(c, "id")
	if err != nil {
		return id, nil, err
	}
	if _, err := s.Store.Webhook(c.Request.Context(), app.ID, id); err != nil {
		return id, nil, err
	}
	o, err := readObject(c, maxJSON, false)
	return id, o, err
}

// createConsoleWebhook registers an endpoint, as the app itself would.
func (s *Server) createConsoleWebhook(c *gin.Context, app caller) error {
	w, err := s.registerWebhook(c, app, func(w *models.Webhook) any { return viewConsoleWebhook(w) })
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "webhook created", "webhook", w.ID, "by", app.actor())
	return nil
}

// updateWebhook changes the address or the events of an endpoint; what is absent
// or null stays.
func (s *Server) updateWebhook(c *gin.Context, app caller) error {
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
	w, err := s.Store.PatchWebhook(c.Request.Context(), app.ID, id, store.WebhookPatch{WebhookChange: change})
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "webhook changed", "webhook", id, "by", app.actor())
	c.JSON(http.StatusOK, viewConsoleWebhook(w))
	return nil
}

// deleteConsoleWebhook removes an endpoint, as the app itself would.
func (s *Server) deleteConsoleWebhook(c *gin.Context, app caller) error {
	if err := s.deleteWebhook(c, app); err != nil {
		return err
	}
	s.logSecurityEvent(c, "webhook deleted", "webhook", c.Param("id"), "by", app.actor())
	return nil
}

func (s *Server) pauseWebhook(c *gin.Context, app caller) error {
	return s.setWebhookActive(c, app, false)
}

func (s *Server) resumeWebhook(c *gin.Context, app caller) error {
	return s.setWebhookActive(c, app, true)
}

func (s *Server) setWebhookActive(c *gin.Context, app caller, active bool) error {
	return commandByID(s, c, func(st *store.Store, id uuid.UUID) (*models.Webhook, error) {
		return st.PatchWebhook(c.Request.Context(), app.ID, id, store.WebhookPatch{Active: &active})
	}, changedWebhook)
}

func (s *Server) pingWebhook(c *gin.Context, app caller) error {
	return commandByID(s, c, func(st *store.Store, id uuid.UUID) (*models.Delivery, error) {
		return st.PingWebhook(c.Request.Context(), app.ID, id)
	}, acceptedDelivery)
}

// maxOverlap bounds how long two secrets of an endpoint sign, in hours.
const maxOverlap = 7 * 24

// rotateSecret gives the endpoint a new secret; null makes the client secret
// sign. The old one signs beside it for overlapHours (24 unless given).
func (s *Server) rotateSecret(c *gin.Context, app caller) error {
	id, o, err := s.endpointRequest(c, app)
	if err != nil {
		return err
	}
	if !o.has("secret") {
		o.bad("secret", "is required; null makes the client secret sign")
	}
	secret, overlap := webhookSecret(o), secretOverlap(o)
	if err := o.err(); err != nil {
		return err
	}
	_, err = command(s, c, func(st *store.Store) (*models.Webhook, error) {
		return st.PatchWebhook(c.Request.Context(), app.ID, id, store.WebhookPatch{Secret: &secret, Overlap: overlap})
	}, changedWebhook)
	return err
}

// secretOverlap reads for how long the secret that is replaced still signs.
func secretOverlap(o *object) time.Duration {
	hours := 24
	if n := o.optInt("overlapHours"); n != nil {
		hours = *n
	}
	if hours < 0 || hours > maxOverlap {
		o.bad("overlapHours", "must be between 0 and %d", maxOverlap)
	}
	return time.Duration(hours) * time.Hour
}

// resendSince sends again all that failed at an endpoint since a time.
func (s *Server) resendSince(c *gin.Context, app caller) error {
	id, o, err := s.endpointRequest(c, app)
	if err != nil {
		return err
	}
	var since time.Time
	if text := o.str("since"); o.get("since") == text {
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			o.bad("since", "must be a time such as 2026-11-21T07:00:00Z")
		}
	}
	if err := o.err(); err != nil {
		return err
	}
	_, err = command(s, c, func(st *store.Store) (*store.ResendResult, error) {
		return st.ResendSince(c.Request.Context(), app.ID, id, since)
	}, func(n *store.ResendResult) (*store.StoredResponse, error) {
		return inJSON(http.StatusAccepted, gin.H{"resent": n.Resent, "remaining": n.Remaining})
	})
	return err
}
