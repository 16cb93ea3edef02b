package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

// sessionInput reads the members that both kinds of embedded sessions have in common. The parameter most is the maximum
// lifetime of a session in minutes. If the parameter allTenants is set, a null tenantId means all tenants.
func (s *embeddedHandler) sessionInput(app caller, o *object, most int, allTenants bool) models.PageSession {
	in := models.PageSession{
		AppID: app.ID, AllowedOrigin: s.origin(o, "allowedOrigin"), ReturnURL: s.returnURL(o), CreatedAt: s.now().UTC().Truncate(time.Microsecond),
	}
	in.PrimaryColor, in.BorderRadius = readTheme(o)
	if !allTenants || !o.has("tenantId") || o.get("tenantId") != nil {
		in.TenantID = o.str("tenantId")
		if o.has("tenantId") {
			models.CheckText(o.p, "tenantId", in.TenantID, 1, 255)
		}
	}
	minutes := models.Deref(o.optInt("expiresInMinutes"), sessionMinutes)
	if minutes < 1 || minutes > most {
		o.bad("expiresInMinutes", "must be between 1 and %d", most)
	}
	in.ExpiresAt = in.CreatedAt.Add(time.Duration(minutes) * time.Minute)
	return in
}

// newEmbeddedToken returns a new token for an embedded session, and its hash. Only the hash is stored.
func newEmbeddedToken(prefix string) (token string, hash []byte) {
	token = prefix + newSecret()
	return token, tokenHash(token)
}

// sessionWithToken is the response to a request that creates an embedded session. It is the only response that contains the
// session token.
type sessionWithToken struct {
	ID        uuid.UUID `json:"sessionId"`
	Token     string    `json:"sessionToken"`
	EmbedURL  string    `json:"embedUrl"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// storeSession stores an embedded session and responds with its view.
func storeSession[T any](s *embeddedHandler, c *gin.Context, in *T, create func(embeddedStore, context.Context, *T) error, view func(*T) sessionWithToken) error {
	return command(s.subject, c, func(st embeddedStore) (*T, error) {
		return in, create(st, c.Request.Context(), in)
	}, asJSON(http.StatusCreated, view))
}

// revokeEmbedded returns a handler that calls a method of the store to revoke a session.
func (s *embeddedHandler) revokeEmbedded(revoke func(embeddedStore, context.Context, *models.App, uuid.UUID) error) func(*gin.Context, caller) error {
	return func(c *gin.Context, app caller) error {
		if err := revoke(s.store, c.Request.Context(), app.App, checkedID(c, "id")); err != nil {
			return err
		}
		return respondNoContent(c)
	}
}
