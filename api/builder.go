package api

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/store"
)

const (
	maxBuilderMinutes = 240
	// builderTokenPrefix tells the token of a builder session from an access token.
	builderTokenPrefix = "builder_"
)

// createBuilderSession lets somebody prepare a draft inside a page of one origin.
func (s *Server) createBuilderSession(c *gin.Context, app caller) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	common := s.sessionInput(o, maxBuilderMinutes)
	in := models.BuilderSession{
		AppID: app.ID, TenantID: common.tenant, EnvelopeID: o.id("envelopeId"), AllowedOrigin: common.origin, ReturnURL: common.returnURL,
		PrimaryColor: common.primaryColor, BorderRadius: common.borderRadius, Features: builderFeatures(o), CreatedAt: common.now,
		ExpiresAt: common.now.Add(common.lifetime),
	}
	if err := o.err(); err != nil {
		return err
	}
	if err := app.CheckTenant(in.TenantID); err != nil {
		return err
	}
	e, err := s.callerEnvelopeByID(c, app, in.EnvelopeID)
	if err != nil {
		return err
	}
	if e.TenantID != in.TenantID {
		return models.ErrNotFound
	}
	if err := e.CheckBuild(); err != nil {
		return err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	token := builderTokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	in.TokenHash = tokenHash(token)
	_, err = command(s, c, func(st *store.Store) (*models.BuilderSession, error) {
		return &in, st.CreateBuilderSession(c.Request.Context(), &in)
	}, func(b *models.BuilderSession) (*store.StoredResponse, error) {
		return inJSON(http.StatusCreated, gin.H{
			"sessionId": b.ID, "sessionToken": token, "embedUrl": s.EmbedURL + "/build/" + token, "expiresAt": b.ExpiresAt,
		})
	})
	return err
}

// builderFeatures reads what the session lets its holder do. All but sending is allowed
// unless it is switched off.
func builderFeatures(o *object) models.BuilderFeatures {
	f := models.BuilderFeatures{Recipients: true, Documents: true, FieldTypes: slices.Clone(models.FieldTypes)}
	in := o.sub("features")
	if in == nil {
		return f
	}
	f.Recipients, f.Documents, f.Send = in.flag("recipients", true), in.flag("documents", true), in.flag("send", false)
	if in.get("fieldTypes") == nil {
		return f
	}
	f.FieldTypes = []models.FieldType{}
	for _, text := range in.texts("fieldTypes") {
		t := models.FieldType(text)
		switch {
		case !t.Valid():
			in.bad("fieldTypes", "must name types of fields; %q is none", text)
		case !slices.Contains(f.FieldTypes, t):
			f.FieldTypes = append(f.FieldTypes, t)
		}
	}
	return f
}

func (s *Server) revokeBuilderSession(c *gin.Context, app caller) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	if err := s.Store.RevokeBuilderSession(c.Request.Context(), app.App, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// openBuilderSession is what the builder's page needs: which draft it is for, and what
// may be done with it. The session's token is the page's credential.
func (s *Server) openBuilderSession(c *gin.Context) error {
	session, err := s.Store.BuilderSessionByToken(c.Request.Context(), tokenHash(c.Param("token")))
	if isNotFound(err) {
		return models.ErrSessionInvalid
	}
	if err != nil {
		return err
	}
	told := map[string]any{"allowedOrigin": session.AllowedOrigin, "envelopeId": session.EnvelopeID}
	if err := session.Live(s.Now()); err != nil {
		return withDetails(err, told)
	}
	if err := s.checkBuiltDraft(c, session); err != nil {
		return withDetails(err, told)
	}
	c.JSON(http.StatusOK, gin.H{
		"envelopeId": session.EnvelopeID, "allowedOrigin": session.AllowedOrigin, "returnUrl": session.ReturnURL,
		"theme": themeView{session.PrimaryColor, session.BorderRadius}, "features": session.Features, "expiresAt": session.ExpiresAt.UTC(),
	})
	return nil
}

// checkBuiltDraft refuses a session whose draft was sent or deleted, which ends it.
func (s *Server) checkBuiltDraft(c *gin.Context, session *models.BuilderSession) error {
	e, err := s.Store.Envelope(c.Request.Context(), session.AppID, session.EnvelopeID)
	if isNotFound(err) || err == nil && e.Status != models.StatusDraft {
		return models.Refuse(models.KindGone, "session_completed", "The draft was sent or deleted.")
	}
	return err
}

// authenticateBuilder finds the builder session that the bearer token belongs to, for a
// call that needs one of its features. For all other calls it is no access token. The
// caller is the app, held to the session's draft.
func (s *Server) authenticateBuilder(c *gin.Context, token string, needs models.BuilderFeature) (caller, error) {
	session, err := s.Store.BuilderSessionByToken(c.Request.Context(), tokenHash(token))
	if isNotFound(err) {
		return caller{}, errInvalidToken
	}
	if err != nil {
		return caller{}, err
	}
	if err := session.Live(s.Now()); err != nil {
		return caller{}, err
	}
	app, err := s.appCaller(c, session.AppID)
	if err != nil {
		return caller{}, err
	}
	if needs == models.BuilderNever {
		return caller{}, errInvalidToken
	}
	if !strings.EqualFold(c.Param("id"), session.EnvelopeID.String()) {
		return caller{}, models.ErrNotFound
	}
	if err := session.Allow(needs); err != nil {
		return caller{}, err
	}
	if err := app.CheckTenant(session.TenantID); err != nil {
		return caller{}, models.ErrNotFound
	}
	if err := s.checkBuiltDraft(c, session); models.IsRefusal(err) {
		return caller{}, models.ErrSessionInvalid
	} else if err != nil {
		return caller{}, err
	}
	app.builder = session
	return app, nil
}

// allowFields refuses fields of types that the caller's builder session does not offer.
func (c caller) allowFields(in ...models.FieldInput) error {
	for i := range in {
		if c.builder == nil {
			return nil
		}
		if err := c.builder.AllowField(in[i].Type); err != nil {
			return err
		}
	}
	return nil
}

// builderPage serves the page of a builder session, which only the session's origin may frame.
func (s *Server) builderPage(c *gin.Context) error {
	session, err := s.Store.BuilderSessionByToken(c.Request.Context(), tokenHash(c.Param("token")))
	if err != nil && !isNotFound(err) {
		return err
	}
	origin := ""
	if err == nil {
		origin = session.AllowedOrigin
	}
	return s.framedPage(c, origin)
}

// sessionCommon is what both kinds of embedded sessions are made with.
type sessionCommon struct {
	tenant, origin                        string
	returnURL, primaryColor, borderRadius *string
	now                                   time.Time
	lifetime                              time.Duration
}

func (s *Server) sessionInput(o *object, most int) sessionCommon {
	in := sessionCommon{tenant: o.str("tenantId"), origin: s.origin(o, "allowedOrigin"), now: s.Now().UTC().Truncate(time.Microsecond)}
	if o.has("tenantId") {
		models.CheckText(o.p, "tenantId", in.tenant, 1, 255)
	}
	minutes := sessionMinutes
	if n := o.optInt("expiresInMinutes"); n != nil {
		minutes = *n
	}
	if minutes < 1 || minutes > most {
		o.bad("expiresInMinutes", "must be between 1 and %d", most)
	}
	in.lifetime = time.Duration(minutes) * time.Minute
	in.returnURL = s.returnURL(o)
	in.primaryColor, in.borderRadius = readTheme(o)
	return in
}
