package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/webhook"
)

type webhookView struct {
	ID        uuid.UUID          `json:"id"`
	URL       string             `json:"url"`
	Events    []models.EventName `json:"events"`
	Active    bool               `json:"active"`
	CreatedAt time.Time          `json:"createdAt"`
}

func viewWebhook(w *models.Webhook) webhookView {
	return webhookView{ID: w.ID, URL: w.URL, Events: w.Events, Active: w.Active, CreatedAt: w.CreatedAt.UTC()}
}

func (s *Server) listWebhooks(c *gin.Context, app caller) error {
	hooks, err := s.Store.Webhooks(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	out := make([]webhookView, 0, len(hooks))
	for i := range hooks {
		out = append(out, viewWebhook(&hooks[i]))
	}
	c.JSON(http.StatusOK, out)
	return nil
}

const maxSecret = 256

func (s *Server) createWebhook(c *gin.Context, app caller) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	url := o.str("url")
	if url != "" {
		if err := webhook.CheckURL(url, s.AllowPrivateHooks); err != nil {
			o.bad("url", "%s", err.Error())
		}
	}
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
	secret := webhookSecret(o)
	if err := o.err(); err != nil {
		return err
	}
	promiseMade(c, http.StatusCreated, func(w *models.Webhook) any { return viewWebhook(w) })
	w, err := s.Store.CreateWebhook(c.Request.Context(), app.ID, url, events, secret)
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, viewWebhook(w))
	return nil
}

// webhookSecret reads an optional secret; "" if there is none.
func webhookSecret(o *object) string {
	secret := o.optStr("secret")
	if secret == nil {
		return ""
	}
	if *secret == "" || len(*secret) > maxSecret {
		o.bad("secret", "must have between 1 and %d bytes", maxSecret)
	}
	return *secret
}

func (s *Server) deleteWebhook(c *gin.Context, app caller) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	if err := s.Store.DeleteWebhook(c.Request.Context(), app.ID, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

func isNotFound(err error) bool { return errors.Is(err, models.ErrNotFound) }
