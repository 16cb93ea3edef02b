package api

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/store"
)

const (
	maxBuilderMinutes = 240
	// builderTokenPrefix tells the token of a builder session from an access token.
	builderTokenPrefix = "builder_"
)

// createBuilderSession lets somebody prepare a draft or a template inside a page of one origin.
func (s *Server) createBuilderSession(c *gin.Context, app caller, o *object) error {
	template := o.optID("templateId")
	in := models.BuilderSession{PageSession: s.sessionInput(app, o, maxBuilderMinutes, template != nil), TemplateID: template, Features: builderFeatures(o)}
	switch {
	case template == nil:
		in.EnvelopeID = new(o.id("envelopeId"))
	case o.get("envelopeId") != nil:
		o.bad("envelopeId", "cannot be given beside templateId: a session is for a draft or for a template")
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
	return storeSession(s, c, &in, (*store.Store).CreateBuilderSession, func(b *models.BuilderSession) madeSession {
		return madeSession{b.ID, token, s.EmbedURL + "/build/" + token, b.ExpiresAt}
	})
}

// checkBuild refuses a session for what is not the caller's, or cannot be prepared.
func (s *Server) checkBuild(c *gin.Context, app caller, in *models.BuilderSession) error {
	if in.TemplateID != nil {
		t, err := s.Store.Template(c.Request.Context(), app.ID, *in.TemplateID, 0)
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
	e, err := s.callerEnvelopeByID(c, app, *in.EnvelopeID)
	if err != nil {
		return err
	}
	if e.TenantID != in.TenantID {
		return models.ErrNotFound
	}
	return e.CheckBuild()
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

// openBuilderSession is what the builder's page needs: which draft it is for, and what
// may be done with it. The session's token is the page's credential.
func (s *Server) openBuilderSession(c *gin.Context) error {
	session, err := s.Store.BuilderSessionByToken(c.Request.Context(), tokenHash(c.Param("token")))
	if err != nil {
		return notFoundAs(models.ErrSessionInvalid, err)
	}
	told := map[string]any{"allowedOrigin": session.AllowedOrigin}
	if session.TemplateID != nil {
		told["templateId"] = session.TemplateID
	} else {
		told["envelopeId"] = session.EnvelopeID
	}
	err = session.Live(s.Now())
	if err == nil {
		err = s.checkBuilt(c, session)
	}
	if err != nil {
		return withDetails(err, told)
	}
	out := gin.H{
		"returnUrl": session.ReturnURL, "theme": themeView{session.PrimaryColor, session.BorderRadius}, "features": session.Features,
		"expiresAt": session.ExpiresAt.UTC(),
	}
	maps.Copy(out, told)
	return answer(c, http.StatusOK, out)
}

// checkBuilt refuses a session whose draft was sent or deleted, or whose template was archived: that ends it.
func (s *Server) checkBuilt(c *gin.Context, session *models.BuilderSession) error {
	if session.TemplateID != nil {
		archived, err := s.Store.TemplateArchived(c.Request.Context(), session.AppID, *session.TemplateID)
		if isNotFound(err) || err == nil && archived {
			return models.Refuse(models.KindGone, "session_completed", "The template was archived.")
		}
		return err
	}
	over := models.Refuse(models.KindGone, "session_completed", "The draft was sent or deleted.")
	e, err := s.Store.Envelope(c.Request.Context(), session.AppID, *session.EnvelopeID)
	if isNotFound(err) {
		return over
	}
	if err == nil && e.Status != models.StatusDraft {
		return withDetails(over, map[string]any{"status": e.Status.Public()})
	}
	return err
}

// authenticateBuilder finds the builder session that the bearer token belongs to, for a
// call that needs one of its features. For all other calls it is no access token. The
// caller is the app, held to the session's draft or template.
func (s *Server) authenticateBuilder(c *gin.Context, token string, needs models.BuilderFeature) (caller, error) {
	session, err := s.Store.BuilderSessionByToken(c.Request.Context(), tokenHash(token))
	if err != nil {
		return caller{}, notFoundAs(errInvalidToken, err)
	}
	if err := session.Live(s.Now()); err != nil {
		return caller{}, err
	}
	app, err := s.appCaller(c, session.AppID)
	if err != nil {
		return caller{}, err
	}
	if needs == models.BuilderNever || strings.HasPrefix(c.FullPath(), "/v1/templates/") != (session.TemplateID != nil) {
		return caller{}, errInvalidToken
	}
	if !strings.EqualFold(c.Param("id"), cmp.Or(session.TemplateID, session.EnvelopeID).String()) {
		return caller{}, models.ErrNotFound
	}
	if err := session.Allow(needs); err != nil {
		return caller{}, err
	}
	if err := app.CheckTenant(session.TenantID); err != nil {
		return caller{}, models.ErrNotFound
	}
	if err := s.checkBuilt(c, session); models.IsRefusal(err) {
		over, _ := errors.AsType[*models.Error](err)
		// A page that got no answer to its sending learns that the envelope was sent.
		return caller{}, withDetails(models.ErrSessionInvalid, over.Details)
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

// templateFeatures are the features that the members of a template's edit need. Those that are
// not named, such as externalId, are the application's.
var templateFeatures = map[string]models.BuilderFeature{
	"fields": models.BuilderAlways, "origin": models.BuilderAlways, "roles": models.BuilderRecipients, "documents": models.BuilderDocuments, "documentOptions": models.BuilderDocuments,
	"name": models.BuilderSend, "subject": models.BuilderSend, "message": models.BuilderSend, "expiresInDays": models.BuilderSend, "reminderHours": models.BuilderSend,
}

// allowTemplateEdit refuses an edit of a template that the caller's builder session has no feature for.
func (c caller) allowTemplateEdit(o *object, file bool) error {
	if c.builder == nil {
		return nil
	}
	if file {
		if err := c.builder.Allow(models.BuilderDocuments); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.m)) {
		if err := c.builder.Allow(templateFeatures[name]); err != nil {
			return err
		}
	}
	return nil
}

// allowTemplateFields refuses fields of types that the caller's builder session does not offer, but
// for those that the version before has as well.
func (c caller) allowTemplateFields(before, after []models.TemplateField) error {
	if c.builder == nil {
		return nil
	}
	known := slices.Clone(before)
	for i := range after {
		at := slices.IndexFunc(known, func(f models.TemplateField) bool { return f.SameContent(after[i]) })
		if at >= 0 {
			known = slices.Delete(known, at, at+1)
			continue
		}
		if err := c.builder.AllowField(after[i].Type); err != nil {
			return err
		}
	}
	return nil
}

// builderPage serves the page of a builder session, which only the session's origin may frame.
func (s *Server) builderPage(c *gin.Context) error {
	session, err := s.Store.BuilderSessionByToken(c.Request.Context(), tokenHash(c.Param("token")))
	if isNotFound(err) {
		return s.framedPage(c, "")
	}
	if err != nil {
		return err
	}
	return s.framedPage(c, session.AllowedOrigin)
}
