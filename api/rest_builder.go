package api

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

// builderTokenPrefix distinguishes the token of a builder session from an access token.
const builderTokenPrefix = "builder_"

// withDetails adds details to a copy of a models.Error, and returns any other error unchanged.
func withDetails(err error, details map[string]any) error {
	rejection, ok := errors.AsType[*models.Error](err)
	if !ok {
		return err
	}
	detailed := *rejection
	detailed.Details = map[string]any{}
	maps.Copy(detailed.Details, rejection.Details)
	maps.Copy(detailed.Details, details)
	return &detailed
}

// checkBuilt returns an error if the session has ended because its draft was sent or deleted, or because its template
// was archived.
func (s *shared) checkBuilt(c *gin.Context, session *models.BuilderSession) error {
	if session.TemplateID != nil {
		archived, err := s.requests.TemplateArchived(c.Request.Context(), session.AppID, *session.TemplateID)
		if isNotFound(err) || err == nil && archived {
			return models.Reject(models.KindGone, "session_completed", "The template was archived.")
		}
		return err
	}
	over := models.Reject(models.KindGone, "session_completed", "The draft was sent or deleted.")
	e, err := s.requests.Envelope(c.Request.Context(), session.AppID, *session.EnvelopeID)
	if isNotFound(err) {
		return over
	}
	if err == nil && e.Status != models.StatusDraft {
		return withDetails(over, map[string]any{"status": e.Status.Public()})
	}
	return err
}

// authenticateBuilder returns the app as a caller that is restricted to the draft or template of a builder session. The
// bearer token selects the session. It is valid only on routes that require one of the session's features.
func (s *shared) authenticateBuilder(c *gin.Context, token string, needs models.BuilderFeature) (caller, error) {
	session, err := s.requests.BuilderSessionByToken(c.Request.Context(), tokenHash(token))
	if err != nil {
		return caller{}, notFoundAs(errInvalidToken, err)
	}
	if err := session.Live(s.now()); err != nil {
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
	if err := s.checkBuilt(c, session); models.IsRejection(err) {
		over, _ := errors.AsType[*models.Error](err)
		// The page may have sent the envelope without receiving the response. The details of the error inform the page that
		// the envelope was sent.
		return caller{}, withDetails(models.ErrSessionInvalid, over.Details)
	} else if err != nil {
		return caller{}, err
	}
	app.builder = session
	return app, nil
}

// allowFields returns an error if the caller's builder session does not allow the type of one of the fields.
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

// allowTemplateEdit returns an error if an edit of a template requires a feature that the caller's builder session
// lacks. The parameter file reports whether the edit contains a file.
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

// allowTemplateFields returns an error if the caller's builder session does not allow the type of one of the fields.
// Fields that the previous version also contains are always allowed.
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

// templateFeatures maps each member of a template edit to the feature that it requires. Only the application may edit
// members that are missing here, such as externalId.
var templateFeatures = map[string]models.BuilderFeature{
	"fields": models.BuilderAlways, "origin": models.BuilderAlways, "roles": models.BuilderRecipients, "documents": models.BuilderDocuments, "documentOptions": models.BuilderDocuments,
	"name": models.BuilderSend, "subject": models.BuilderSend, "message": models.BuilderSend, "expiresInDays": models.BuilderSend, "reminderHours": models.BuilderSend,
}
