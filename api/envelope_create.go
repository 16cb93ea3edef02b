package api

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

// createEnvelope creates an envelope from a multipart body that contains the file, or from JSON without a file.
func (s *envelopeHandler) createEnvelope(c *gin.Context, app caller) error {
	t, _, _ := mime.ParseMediaType(c.ContentType()) // an invalid type is treated as JSON, and rejected when the body is read
	if t != "multipart/form-data" {
		o, err := readObject(c, false)
		if err != nil {
			return err
		}
		if o.get("templateId") != nil {
			return s.fromTemplate(c, app, o)
		}
		o.reject(optionsWithoutFile, "documentOptions")
		return s.createDraft(c, app, o, nil)
	}
	in, err := s.readParts(c, s.uploadLimit)
	if err != nil {
		return err
	}
	defer in.file.discard()
	o, err := in.object()
	if err != nil {
		return err
	}
	if o.get("templateId") != nil {
		return models.InvalidField("templateId", "requires a JSON body: the file comes from the template")
	}
	if in.file == nil {
		o.bad("file", "is required")
	}
	in.readOptions(c, o)
	return s.createDraft(c, app, o, in.file)
}

const optionsWithoutFile = "apply only to a file in the same request: send the options with the upload"

func (p *parts) readOptions(c *gin.Context, o *object) {
	if p.file != nil {
		p.file.preparing = documentOptions(o.sub("documentOptions"))
		p.file.preparing.takePassword(c)
	}
}

// object returns the JSON part of a multipart body, or its flat form fields, as an object.
func (p *parts) object() (*object, error) {
	if data, ok := p.text["data"]; ok {
		return parseObject([]byte(data[0]), "data")
	}
	o := &object{m: make(map[string]any), p: models.Problems{}}
	for name, texts := range p.text {
		switch name {
		case "signers", "fields", "roles", "documents":
			o.m[name] = jsonList(o, name, texts)
		case "expiresInDays", "documentOptions", "reminderHours", "metadata", "labels", "send":
			v, err := parseJSON([]byte(texts[0]), name)
			if err != nil {
				o.bad(name, "must be JSON")
				continue
			}
			o.m[name] = v
		default:
			o.m[name] = texts[0]
		}
	}
	return o, nil
}

// jsonList joins the form fields that have the same name. Each is a JSON array or one element, because HTML forms and
// curl -F repeat fields.
func jsonList(o *object, name string, texts []string) any {
	all := []any{}
	for _, text := range texts {
		v, err := parseJSON([]byte(text), name)
		if err != nil {
			o.bad(name, "must be JSON")
			return nil
		}
		switch v := v.(type) {
		case []any:
			all = append(all, v...)
		case map[string]any:
			all = append(all, v)
		default:
			if len(texts) == 1 {
				return v // null or of the wrong type
			}
			o.bad(name, "must be JSON objects or arrays of JSON objects")
			return nil
		}
	}
	return all
}

func (s *envelopeHandler) createDraft(c *gin.Context, app caller, o *object, file *upload) error {
	in, signers, fields, err := s.envelopeInput(c, app, o)
	if err != nil {
		return err
	}
	if err := app.CheckTenant(in.TenantID); err != nil {
		return err
	}
	e, err := s.buildDraft(c, app, in, signers, fields, file)
	if err != nil {
		return err
	}
	send := o.flag("send", false)
	if send {
		err = e.Send(s.actionContext(c, app.actor()), nil)
	}
	if err == nil {
		err = command(s.subject, c, func(st envelopeStore) (*store.EnvelopeWithEvents, error) {
			err := st.Create(c.Request.Context(), e)
			return &store.EnvelopeWithEvents{Envelope: e, Log: e.Events}, err
		}, s.viewCreated(send))
	}
	if err != nil {
		if file != nil && models.IsRejection(err) {
			s.uploads.discardUpload(c, file)
		}
		return err
	}
	tagEnvelope(c, e.ID)
	return nil
}

// viewCreated returns the view for a new envelope. If the envelope was sent, the response contains the links of awaited
// signers.
func (s *envelopeHandler) viewCreated(sent bool) func(*store.EnvelopeWithEvents) (*store.StoredResponse, error) {
	return func(made *store.EnvelopeWithEvents) (*store.StoredResponse, error) {
		r, err := s.envelopeResponse(http.StatusCreated, made.Envelope, made.Log, sent)
		return s.withLocation(r, "/v1/envelopes/"+made.ID.String()), err
	}
}

// envelopeInput reads the content of an envelope. The returned error contains all validation problems.
func (s *envelopeHandler) envelopeInput(c *gin.Context, app caller, o *object) (models.Envelope, []models.SignerInput, []models.FieldInput, error) {
	in := models.Envelope{
		AppID: app.ID, TenantID: o.str("tenantId"), Subject: o.strippedText("subject"), CreatedBy: createdBy(o, app.ID.String()), ExpiresInDays: o.optInt("expiresInDays"),
		ExternalID: o.strippedText("externalId"), Message: o.strippedText("message"), ReminderHours: o.optInt("reminderHours"), Metadata: o.metadata("metadata"),
		Labels: o.labels("labels"),
	}
	in.Check(o.p)
	o.flag("send", false)
	o.reject("applies only to envelopes created from a template: set templateId", "templateVersion", "values", "variables")
	chosen := s.settings.serviceDefaults(app)
	if len(o.p["tenantId"]) == 0 {
		var err error
		if chosen, err = s.settings.effectiveSettings(c, app, in.TenantID); err != nil {
			return in, nil, nil, err
		}
	}
	if !o.has("expiresInDays") {
		in.ExpiresInDays = chosen.DefaultExpiryDays
	}
	in.FieldOrigin = models.Deref(fieldOrigin(o), *chosen.FieldOrigin)
	var signers []models.SignerInput
	for _, so := range o.objects("signers", 1, models.MaxSigners) {
		signer := s.signerInput(so)
		signer.Check(o.p, so.path)
		if signer.Role != "" && slices.ContainsFunc(signers, func(before models.SignerInput) bool { return before.Role == signer.Role }) {
			so.bad("role", "is the role of another signer")
		}
		signers = append(signers, signer)
	}
	models.ResolveWitnesses(o.p, signers, func(i int) string { return fmt.Sprintf("signers[%d].", i) })
	known := signers // signers that fields can refer to
	if o.badUnder("signers") {
		known = nil
	}
	var fields []models.FieldInput
	for _, fo := range o.objects("fields", 0, models.MaxFields) {
		field := fieldInput(fo, in.FieldOrigin)
		field.Check(o.p, fo.path, known)
		fields = append(fields, field)
	}
	return in, signers, fields, o.err()
}

// createdBy reads the creator's name. It returns the given default if the member is absent.
func createdBy(o *object, otherwise string) string {
	by := plaintext.Visible(models.Deref(o.optStr("createdBy"), otherwise))
	models.CheckText(o.p, "createdBy", by, 1, 255)
	return by
}

// fieldOrigin reads the default origin for fields in the request. It returns nil if the member is absent.
func fieldOrigin(o *object) *models.Origin {
	own := o.optStr("origin")
	if own == nil {
		return nil
	}
	if v := models.Origin(*own); v == models.OriginTopLeft || v == models.OriginBottomLeft {
		return &v
	}
	o.bad("origin", "must be top-left or bottom-left")
	return nil
}

// buildDraft creates a draft with the content of the request, and stores the file. It examines the file last, after all
// other checks of the request.
func (s *envelopeHandler) buildDraft(c *gin.Context, app caller, in models.Envelope, signers []models.SignerInput, fields []models.FieldInput,
	file *upload,
) (*models.Envelope, error) {
	act := s.actionContext(c, app.actor())
	e, err := models.NewEnvelope(act, in)
	if err != nil {
		return nil, err
	}
	for _, in := range signers {
		if _, err := e.AddSigner(act, in); err != nil {
			return nil, err
		}
	}
	var d *models.Document
	if file != nil {
		if err := s.uploads.admitUpload(c, file); err != nil {
			return nil, err
		}
		limits := s.store.PlanLimits(app.Plan)
		s.uploads.nameUpload(e, file)
		if d, err = e.AddDocument(act, file.DocumentInput, limits.Documents); err != nil {
			return nil, err
		}
	}
	if err := s.uploads.addDraftFields(c, e, act, fields, models.IndexedPath, file); err != nil {
		return nil, err
	}
	if file != nil {
		if err := addFoundFields(app, e, act, d, file); err != nil {
			return nil, err
		}
		if err := s.uploads.storeUpload(c, file); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (s *envelopeHandler) signerInput(o *object) models.SignerInput {
	in := models.SignerInput{
		Name: plaintext.Visible(o.str("name")), Email: strings.TrimSpace(o.str("email")), Phone: phone(o), RoutingOrder: 1, Kind: recipientKind(o),
	}
	readRecipient(o, &in)
	if in.WitnessFor != "" {
		in.RoutingOrder = 0 // determined by the witnessed signer
	}
	in.RoutingOrder = models.Deref(o.optInt("routingOrder"), in.RoutingOrder)
	in.AuthMethod = s.authMethod(o, in.Kind.DefaultAuthMethod())
	return in
}

func (s *envelopeHandler) authMethod(o *object, otherwise models.AuthMethod) models.AuthMethod {
	m := models.AuthMethod(models.Deref(o.optStr("authMethod"), string(otherwise)))
	if reason := s.authUnavailable(m); reason != "" {
		o.bad("authMethod", "%s", reason)
	}
	return m
}
