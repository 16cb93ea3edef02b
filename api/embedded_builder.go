package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

const maxBuilderMinutes = 240

// createBuilderSession creates a session in which a user prepares a draft or a template on a page that is embedded in a
// given origin.
func (s *embeddedHandler) createBuilderSession(c *gin.Context, app caller, o *object) error {
	template := o.optID("templateId")
	in := models.BuilderSession{PageSession: s.sessionInput(app, o, maxBuilderMinutes, template != nil), TemplateID: template, Features: builderFeatures(o)}
	switch {
	case template == nil:
		in.EnvelopeID = new(o.id("envelopeId"))
	case o.get("envelopeId") != nil:
		o.bad("envelopeId", "cannot be combined with templateId: a session is for either a draft or a template")
	}
	if err := o.err(); err != nil {
		return err
	}
	if err := app.CheckTenant(in.TenantID); err != nil {
		return err
	}
	if err := s.checkBuild(c, app, &in); err != nil {
		return err
	}
	token, hash := newEmbeddedToken(builderTokenPrefix)
	in.TokenHash = hash
	return storeSession(s, c, &in, embeddedStore.CreateBuilderSession, func(b *models.BuilderSession) sessionWithToken {
		return sessionWithToken{b.ID, token, s.embedURL + "/build/" + token, b.ExpiresAt}
	})
}

// checkBuild returns an error if the draft or template does not belong to the caller or cannot be prepared.
func (s *embeddedHandler) checkBuild(c *gin.Context, app caller, in *models.BuilderSession) error {
	if in.TemplateID != nil {
		t, err := s.store.Template(c.Request.Context(), app.ID, *in.TemplateID, 0)
		switch {
		case err != nil:
			return err
		case t.TenantID != in.TenantID:
			return models.ErrNotFound
		case t.ArchivedAt != nil:
			return models.ErrTemplateArchived
		}
		return nil
	}
	e, err := s.envelopes.callerEnvelopeByID(c, app, *in.EnvelopeID)
	if err != nil {
		return err
	}
	if e.TenantID != in.TenantID {
		return models.ErrNotFound
	}
	return e.CheckBuild()
}

// builderFeatures reads the features of a session. By default, all features except sending are enabled.
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
			in.bad("fieldTypes", "must contain only field types; got %q", text)
		case !slices.Contains(f.FieldTypes, t):
			f.FieldTypes = append(f.FieldTypes, t)
		}
	}
	return f
}

// openBuilderSession responds with the data of the builder page: its draft or template, and the allowed features. The
// session token serves as the page's credential.
func (s *embeddedHandler) openBuilderSession(c *gin.Context) error {
	session, err := s.store.BuilderSessionByToken(c.Request.Context(), tokenHash(c.Param("token")))
	if err != nil {
		return notFoundAs(models.ErrSessionInvalid, err)
	}
	response := map[string]any{"allowedOrigin": session.AllowedOrigin}
	if session.TemplateID != nil {
		response["templateId"] = session.TemplateID
	} else {
		response["envelopeId"] = session.EnvelopeID
	}
	err = session.Live(s.now())
	if err == nil {
		err = s.checkBuilt(c, session)
	}
	if err != nil {
		return withDetails(err, response)
	}
	out := gin.H{
		"returnUrl": session.ReturnURL, "theme": themeView{session.PrimaryColor, session.BorderRadius}, "features": session.Features,
		"expiresAt": session.ExpiresAt.UTC(),
	}
	maps.Copy(out, response)
	return respond(c, http.StatusOK, out)
}

// builderPage serves the page of a builder session. Only the session's origin may frame it.
func (s *embeddedHandler) builderPage(c *gin.Context) error {
	session, err := s.store.BuilderSessionByToken(c.Request.Context(), tokenHash(c.Param("token")))
	if isNotFound(err) {
		return s.framedPage(c, "")
	}
	if err != nil {
		return err
	}
	return s.framedPage(c, session.AllowedOrigin)
}
