package api

import (
	"fmt"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

// createFromTemplate creates an envelope from a template, and sends the envelope if requested.
func (s *templateHandler) createFromTemplate(c *gin.Context, app caller, o *object) error {
	id, version, send := o.id("templateId"), templateVersion(o, "must be 1 or more"), o.flag("send", false)
	use := s.templateUse(o, app)
	o.reject("cannot be combined with templateId, because the template defines this property", "fields", "documentOptions")
	if len(o.p["tenantId"]) == 0 {
		chosen, err := s.settings.effectiveSettings(c, app, use.Envelope.TenantID)
		if err != nil {
			return err
		}
		use.DefaultExpiryDays = chosen.DefaultExpiryDays
	}
	if err := o.err(); err != nil {
		return err
	}
	if err := app.CheckTenant(use.Envelope.TenantID); err != nil {
		return err
	}
	documents := s.store.PlanLimits(app.Plan).Documents
	made, err := execute(s.subject, c, func(st templateStore) (*store.EnvelopeWithEvents, error) {
		return st.CreateFromTemplate(c.Request.Context(), app.ID, id, version, func(t *models.LoadedTemplate) (*models.Envelope, error) {
			act := s.actionContext(c, app.actor())
			e, err := t.NewEnvelope(act, use, documents)
			if err == nil {
				err = s.checkAuth(e)
			}
			if err == nil && send {
				err = e.Send(act, nil)
			}
			if err != nil {
				return nil, err
			}
			return e, nil
		})
	}, s.envelopes.viewCreated(send))
	if err == nil {
		tagEnvelope(c, made.ID)
	}
	return err
}

// templateVersion reads the version of a template. It returns 0, which selects the newest one, if the member is absent.
func templateVersion(o *object, problem string) int {
	n := o.optInt("templateVersion")
	if n != nil && *n < 1 {
		o.bad("templateVersion", "%s", problem)
	}
	return models.Deref(n, 0)
}

// checkAuth rejects an envelope with a signer whose authentication method the service no longer supports.
func (s *templateHandler) checkAuth(e *models.Envelope) error {
	for _, signer := range e.Signers {
		if reason := s.authUnavailable(signer.AuthMethod); reason != "" {
			return models.InvalidField("signers", "includes the role %s, whose authMethod %s", signer.Role, reason)
		}
	}
	return nil
}

// templateUse reads the members of a request that complete the content of a template.
func (s *templateHandler) templateUse(o *object, app caller) models.TemplateUse {
	in := models.TemplateUse{Envelope: models.Envelope{
		TenantID: o.str("tenantId"), CreatedBy: plaintext.Visible(models.Deref(o.optStr("createdBy"), app.ID.String())),
		ExternalID: o.strippedText("externalId"), Subject: o.strippedText("subject"),
		Message: o.strippedText("message"), ReminderHours: o.optInt("reminderHours"), Metadata: o.metadata("metadata"), Labels: o.labels("labels"),
	}, Expiry: changed(o, "expiresInDays", o.optInt), Values: o.fieldTexts("values"), Variables: o.plainTexts("variables")}
	for _, so := range o.objects("signers", 1, models.MaxSigners) {
		in.Signers = append(in.Signers, s.templateSigner(so))
	}
	return in
}

// templateSigner reads the signer for a role. Missing members are taken from the role.
func (s *templateHandler) templateSigner(o *object) models.SignerInput {
	in := s.envelopes.signerInput(o)
	switch {
	case o.get("routingOrder") == nil:
		in.RoutingOrder = 0
	case in.RoutingOrder <= 0:
		in.RoutingOrder = -1 // a value that will be rejected
	}
	if o.get("kind") == nil {
		in.Kind = ""
	} else if in.Kind == "" {
		o.bad("kind", "must be %s", models.RecipientKindNames)
	}
	switch {
	case o.get("authMethod") == nil:
		in.AuthMethod = ""
	case in.AuthMethod == "":
		o.bad("authMethod", "must be %s", models.AuthMethodNames)
	}
	return in
}

// plainTexts reads an optional object whose members are strings, numbers or Booleans. It returns all of them as
// strings.
func (o *object) plainTexts(name string) map[string]string {
	members := o.sub(name)
	if members == nil {
		return nil
	}
	if len(members.m) > models.MaxFields {
		o.bad(name, "must have at most %d members", models.MaxFields)
		return nil
	}
	out := make(map[string]string, len(members.m))
	for member, v := range members.m {
		switch v := v.(type) {
		case nil:
			out[member] = ""
		case string:
			out[member] = v
		case jsonNumber:
			out[member] = v.String()
		case bool:
			out[member] = fmt.Sprint(v)
		default:
			o.bad(name, "must have strings as values")
			return nil
		}
	}
	return out
}

// fieldTexts is like plainTexts, but for values that are drawn in a document.
func (o *object) fieldTexts(name string) map[string]string {
	values := o.plainTexts(name)
	for member, text := range values {
		text = lineEnds.Replace(text)
		values[member] = text
		o.checkDrawable(name+"."+plaintext.Strip(member), text)
	}
	return values
}
