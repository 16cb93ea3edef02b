package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/store"
	"countersign/webhook"
)

// webhookURL checks the address of an endpoint.
func (s *Server) webhookURL(o *object, url string) {
	if err := webhook.CheckURL(url, s.AllowPrivateHooks); err != nil {
		o.bad("url", "%s", err.Error())
	}
}

// webhookEvents reads the events that an endpoint subscribes to, each once.
func webhookEvents(o *object) []models.EventName {
	var events []models.EventName
	seen := make(map[models.EventName]bool)
	for i, v := range o.list("events", 1, 100) {
		name, _ := v.(string)
		n := models.EventName(name)
		if !n.Told() {
			o.bad(indexed("events", i), "is not a webhook event")
		} else if !seen[n] {
			seen[n] = true
			events = append(events, n)
		}
	}
	return events
}

// createConsoleWebhook registers an endpoint, as the app itself would.
func (s *Server) createConsoleWebhook(c *gin.Context, app caller) error {
	w, err := s.registerWebhook(c, app, func(w *models.Webhook) any { return viewConsoleWebhook(w) })
	if err != nil {
		return err
	}
	s.note(c, "webhook created", "webhook", w.ID, "by", app.actor())
	return nil
}

// updateWebhook changes the address or the events of an endpoint; what is absent
// or null stays.
func (s *Server) updateWebhook(c *gin.Context, app caller) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	if _, err := s.Store.Webhook(c.Request.Context(), app.ID, id); err != nil {
		return err
	}
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	change := store.WebhookChange{URL: o.optStr("url")}
	if change.URL != nil {
		s.webhookURL(o, *change.URL)
	}
	if o.get("events") != nil {
		change.Events = webhookEvents(o)
	}
	if err := o.err(); err != nil {
		return err
	}
	w, err := s.Store.UpdateWebhook(c.Request.Context(), app.ID, id, change)
	if err != nil {
		return err
	}
	s.note(c, "webhook changed", "webhook", id, "by", app.actor())
	c.JSON(http.StatusOK, viewConsoleWebhook(w))
	return nil
}

// deleteConsoleWebhook removes an endpoint, as the app itself would.
func (s *Server) deleteConsoleWebhook(c *gin.Context, app caller) error {
	if err := s.deleteWebhook(c, app); err != nil {
		return err
	}
	s.note(c, "webhook deleted", "webhook", c.Param("id"), "by", app.actor())
	return nil
}
