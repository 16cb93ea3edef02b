package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
	"countersign/webhook"
)

type webhookView struct {
	ID        uuid.UUID          `json:"id"`
	URL       string             `json:"url"`
	Events    []models.EventName `json:"events"`
	Active    bool               `json:"active"`
	CreatedAt time.Time          `json:"createdAt"`
	// Include is present only if bodies for the endpoint contain additional data.
	Include []models.WebhookInclude `json:"include,omitempty"`
}

func viewWebhook(w *models.Webhook) webhookView {
	return webhookView{ID: w.ID, URL: w.URL, Events: w.Events, Active: w.Active, CreatedAt: w.CreatedAt.UTC(), Include: w.Include}
}

// listWebhooks returns a handler that lists all endpoints of the app. The handler converts each endpoint with view, and
// writes the list with respond.
func listWebhooks[V any](s *webhookHandler, view func(*models.Webhook) V, respond func(*gin.Context, []V) error) func(*gin.Context, caller) error {
	return func(c *gin.Context, app caller) error {
		hooks, err := s.store.Webhooks(c.Request.Context(), app.ID)
		if err != nil {
			return err
		}
		return respond(c, views(hooks, view))
	}
}

func (s *webhookHandler) createWebhook(c *gin.Context, app caller, o *object) error {
	return s.registerWebhook(c, app, o, asJSON(http.StatusCreated, viewWebhook))
}

// registerWebhook registers the endpoint described by o, and responds with the result of view.
func (s *webhookHandler) registerWebhook(c *gin.Context, app caller, o *object, view func(*models.Webhook) (*store.StoredResponse, error)) error {
	url := o.str("url")
	if !o.badUnder("url") {
		s.webhookURL(o, url)
	}
	events, secret, include := webhookEvents(o), webhookSecret(o), webhookInclude(o)
	if err := o.err(); err != nil {
		return err
	}
	made, err := execute(s.subject, c, func(st webhookStore) (*models.Webhook, error) {
		return st.CreateWebhook(c.Request.Context(), app.ID, url, events, secret, include...)
	}, view)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "webhook created", "webhook", made.ID, "by", app.actor())
	return nil
}

func (s *webhookHandler) getWebhook(c *gin.Context, app caller) error {
	w, err := s.store.Webhook(c.Request.Context(), app.ID, checkedID(c, "id"))
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, viewWebhook(w))
}

// patchWebhook changes an endpoint. A missing member keeps its value, and a null secret selects the client secret.
func (s *webhookHandler) patchWebhook(c *gin.Context, app caller) error {
	id, o, err := s.endpointRequest(c, app)
	if err != nil {
		return err
	}
	change := store.WebhookPatch{}
	if o.has("url") {
		url := o.str("url")
		s.webhookURL(o, url)
		change.URL = &url
	}
	if o.has("events") {
		change.Events = webhookEvents(o)
	}
	if o.has("include") {
		change.Include = webhookInclude(o)
	}
	if o.get("active") != nil {
		change.Active = new(o.flag("active", true))
	}
	if o.has("secret") {
		change.Secret = new(webhookSecret(o))
	}
	change.Overlap = secretOverlap(o, defaultOverlap, maxOverlap)
	if err := o.err(); err != nil {
		return err
	}
	return s.changeWebhook(c, app, id, change, asJSON(http.StatusOK, viewWebhook))
}

// changeWebhook changes an endpoint, and responds with the result of view.
func (s *webhookHandler) changeWebhook(c *gin.Context, app caller, id uuid.UUID, change store.WebhookPatch, view func(*models.Webhook) (*store.StoredResponse, error)) error {
	err := command(s.subject, c, func(st webhookStore) (*models.Webhook, error) {
		return st.PatchWebhook(c.Request.Context(), app.ID, id, change)
	}, view)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "webhook changed", "webhook", id, "by", app.actor())
	return nil
}

func (s *webhookHandler) deleteWebhook(c *gin.Context, app caller) error {
	id := checkedID(c, "id")
	if err := s.store.DeleteWebhook(c.Request.Context(), app.ID, id); err != nil {
		return err
	}
	s.logSecurityEvent(c, "webhook deleted", "webhook", id, "by", app.actor())
	return respondNoContent(c)
}

// webhookURL validates the URL of an endpoint.
func (s *webhookHandler) webhookURL(o *object, url string) {
	if err := webhook.CheckURL(url, s.allowPrivate); err != nil {
		o.bad("url", "%s", err.Error())
	}
}

// webhookEvents reads the events that an endpoint subscribes to, without duplicates.
func webhookEvents(o *object) []models.EventName {
	var events []models.EventName
	seen := make(map[models.EventName]bool)
	for i, v := range o.list("events", 1, 100) {
		name, _ := v.(string)
		n := models.EventName(name)
		if !n.IsWebhookEvent() {
			o.bad(indexedPath("events", i), "is not a webhook event")
		} else if !seen[n] {
			seen[n] = true
			events = append(events, n)
		}
	}
	return events
}

// webhookInclude reads the list of optional data to include in bodies for an endpoint, without duplicates. If the
// request lists none, the result is empty but not nil.
func webhookInclude(o *object) []models.WebhookInclude {
	out := []models.WebhookInclude{}
	for i, v := range o.list("include", 0, 10) {
		text, _ := v.(string)
		switch what := models.WebhookInclude(text); {
		case !what.Valid():
			o.bad(indexedPath("include", i), "must be \"values\", the only data that can be included")
		case !slices.Contains(out, what):
			out = append(out, what)
		}
	}
	return out
}

// maxSecret is the maximum length of a secret, in bytes.
const maxSecret = 256

// webhookSecret reads an optional secret. It returns "" if the member is absent.
func webhookSecret(o *object) string {
	secret := o.optStr("secret")
	if secret == nil {
		return ""
	}
	if *secret == "" || len(*secret) > maxSecret {
		o.bad("secret", "must be between 1 and %d bytes long", maxSecret)
	}
	return *secret
}
