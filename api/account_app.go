package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// appDetailView represents an app in responses to its console users.
type appDetailView struct {
	appView

	Contact   string    `json:"contact"` // empty if there is no contact
	CreatedAt time.Time `json:"createdAt"`
}

func viewAppDetail(a *models.App) appDetailView {
	return appDetailView{viewApp(a), a.Contact, a.CreatedAt.UTC()}
}

func (s *appHandler) getApp(c *gin.Context, app caller) error {
	a, err := s.store.App(c.Request.Context(), app.ID) // bypass the app cache
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, viewAppDetail(a))
}

// updateApp updates the name and contact of an app. Only the operator can change its plan and tenants.
func (s *appHandler) updateApp(c *gin.Context, app caller, o *object) error {
	change := store.AppChange{Name: o.optStr("name"), Contact: o.optStr("contact")}
	for _, name := range []string{"plan", "tenants"} {
		if o.has(name) {
			o.bad(name, "can be changed only by the operator of the service")
		}
	}
	if err := o.err(); err != nil {
		return err
	}
	a, err := s.store.UpdateApp(c.Request.Context(), app.ID, change)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "app changed", "app", app.ID, "by", app.actor())
	return respond(c, http.StatusOK, viewAppDetail(a))
}

type clientSecretView struct {
	ID        uuid.UUID  `json:"id"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt"` // null if the secret is valid until it is replaced
}

// listClientSecrets lists the creation and expiry times of the app's secrets, newest first. It never returns a secret.
func (s *appHandler) listClientSecrets(c *gin.Context, app caller) error {
	secrets, err := s.store.ClientSecrets(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	return respondList(c, views(secrets, func(v *models.ClientSecret) clientSecretView {
		return clientSecretView{v.ID, v.CreatedAt.UTC(), utcPtr(v.ExpiresAt)}
	}))
}

// Default and maximum number of hours for which the previous client secrets remain valid.
const (
	defaultSecretOverlap = 7 * 24
	maxSecretOverlap     = 30 * 24
)

// createClientSecret creates another client secret and returns it once. The user must confirm the password, because the
// secret grants more access than the session.
func (s *appHandler) createClientSecret(c *gin.Context, app caller, o *object) error {
	overlap := secretOverlap(o, defaultSecretOverlap, maxSecretOverlap)
	if err := s.signIns.reauthenticate(c, app, o); err != nil {
		return err
	}
	secret, err := execute(s.subject, c, func(st appStore) (string, error) { return st.AddSecret(c.Request.Context(), app.ID, overlap) }, nil)
	if err != nil {
		return err
	}
	s.logSecurityEvent(c, "client secret created", "app", app.ID, "overlap", overlap, "by", app.actor())
	return respond(c, http.StatusCreated, gin.H{"clientId": app.ClientID, "clientSecret": secret, "previousUntil": s.now().Add(overlap).UTC()})
}

// endClientSecret revokes a secret before it expires.
func (s *appHandler) endClientSecret(c *gin.Context, app caller) error {
	id := checkedID(c, "id")
	live, err := s.store.ClientSecrets(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(live, func(v models.ClientSecret) bool { return v.ID == id }) {
		return models.ErrNotFound
	}
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	if err := s.signIns.reauthenticate(c, app, o); err != nil {
		return err
	}
	if err := s.store.EndClientSecret(c.Request.Context(), app.ID, id); err != nil {
		return err
	}
	s.logSecurityEvent(c, "client secret revoked", "app", app.ID, "secret", id, "by", app.actor())
	return respondNoContent(c)
}

type appView struct {
	ID      uuid.UUID   `json:"id"`
	Name    string      `json:"name"`
	Plan    models.Plan `json:"plan"`
	Tenants []string    `json:"tenants"` // empty if the client may act for all tenants
}

func viewApp(a *models.App) appView {
	return appView{ID: a.ID, Name: a.Name, Plan: a.Plan, Tenants: append([]string{}, a.Tenants...)}
}
