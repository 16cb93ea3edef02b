package api

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// templateDraft is a template version that is not stored yet.
type templateDraft struct {
	models.TemplateContent

	documents []*models.TemplateDocument
	fields    []models.FieldInput
	paths     []string // JSON paths of the fields in the request; if nil, fields are identified by index
	file      *upload
}

// readTemplate reads a JSON body, or a multipart body with a file.
func (s *templateHandler) readTemplate(c *gin.Context) (*object, *upload, error) {
	if t, _, _ := mime.ParseMediaType(c.ContentType()); t != "multipart/form-data" { // an invalid type is treated as JSON, and rejected when the body is read
		o, err := readObject(c, false)
		if err == nil {
			o.reject(optionsWithoutFile, "documentOptions")
		}
		return o, nil, err
	}
	in, err := s.readParts(c, s.uploadLimit)
	if err != nil {
		return nil, nil, err
	}
	o, err := in.object()
	if err != nil {
		in.file.discard()
		return nil, nil, err
	}
	in.readOptions(c, o)
	return o, in.file, nil
}

// createTemplate creates a template, or a new version of the existing template with the same external ID.
func (s *templateHandler) createTemplate(c *gin.Context, app caller) error {
	o, file, err := s.readTemplate(c)
	if err != nil {
		return err
	}
	defer file.discard()
	t, from := s.templateHead(o, app)
	draft := &templateDraft{file: file}
	if from == uuid.Nil {
		draft.read(s, o, s.templateOrigin(c, app, o, t.TenantID))
	} else {
		o.reject("cannot be combined with fromEnvelope, because the envelope defines this property", "roles", "fields", "documentOptions", "expiresInDays")
		if file != nil {
			o.bad("file", "cannot be combined with fromEnvelope, because the envelope provides the documents")
		}
	}
	if err := o.err(); err != nil {
		return err
	}
	if err := app.CheckTenant(t.TenantID); err != nil {
		return err
	}
	if from == uuid.Nil {
		if err := s.examine(c, app, draft); err != nil {
			return err
		}
	}
	at := store.TemplateTarget{App: app.ID, Tenant: t.TenantID, ExternalID: t.ExternalID, Envelope: from}
	err = command(s.subject, c, func(st templateStore) (store.StoredTemplate, error) {
		return st.PutTemplate(c.Request.Context(), at, func(was *models.LoadedTemplate, e *models.Envelope) (*models.LoadedTemplate, error) {
			act := s.actionContext(c, app.actor())
			if was == nil {
				was = models.NewTemplate(act, t)
			} else if err := checkTemplate(c, app, &was.Template); err != nil {
				return nil, err
			}
			if e != nil {
				if err := draft.takeEnvelope(app, t, e, o); err != nil {
					return nil, err
				}
			}
			was.Name = t.Name
			if o.has("labels") {
				was.Labels = t.Labels
			}
			was.ShareFiles(draft.documents)
			was.NewVersion(act, t.CreatedBy, draft.TemplateContent, draft.documents)
			return was, nil
		})
	}, func(made store.StoredTemplate) (*store.StoredResponse, error) {
		status := http.StatusOK
		if made.Created {
			status = http.StatusCreated
		}
		r, err := templateResponse(status, made.LoadedTemplate)
		if made.Created {
			s.withLocation(r, "/v1/templates/"+made.ID.String())
		}
		return r, err
	})
	return s.afterExamining(c, draft, err)
}

func templateResponse(status int, t *models.LoadedTemplate) (*store.StoredResponse, error) {
	r, err := inJSON(status, viewTemplateVersion(t))
	if err == nil {
		r.Header.Set("ETag", templateTag(&t.Template))
	}
	return r, err
}

// templateHead reads the members of a template that do not belong to its content.
func (s *templateHandler) templateHead(o *object, app caller) (t models.Template, from uuid.UUID) {
	t = models.Template{AppID: app.ID, ExternalID: o.strippedText("externalId"), Labels: o.labels("labels"), CreatedBy: createdBy(o, app.ID.String())}
	switch {
	case !o.has("tenantId"):
		o.bad("tenantId", "is required; use null for all tenants")
	case o.get("tenantId") != nil:
		t.TenantID = o.text("tenantId")
		models.CheckText(o.p, "tenantId", t.TenantID, 1, 255)
	}
	t.Name = plaintext.Visible(o.str("name"))
	t.Check(o.p)
	return t, models.Deref(o.optID("fromEnvelope"), uuid.Nil)
}

// templateOrigin returns the default origin for the fields of a template.
func (s *templateHandler) templateOrigin(c *gin.Context, app caller, o *object, tenant string) models.Origin {
	if own := fieldOrigin(o); own != nil {
		return *own
	}
	chosen, err := s.settings.effectiveSettings(c, app, tenant)
	if err != nil {
		return models.OriginTopLeft
	}
	return *chosen.FieldOrigin
}

// read reads the content from a request. It does not change the values of members that the request omits.
func (d *templateDraft) read(s *templateHandler, o *object, origin models.Origin) {
	d.readTexts(o)
	if o.has("expiresInDays") {
		days := o.optInt("expiresInDays")
		if days != nil && *days == 0 {
			o.bad("expiresInDays", "must be between 1 and 3650, or null for no deadline")
		}
		d.ExpiresInDays = new(models.Deref(days, 0))
	}
	d.FieldOrigin = origin
	if o.has("roles") || len(d.Roles) == 0 {
		d.Roles = nil
		for _, ro := range o.objects("roles", 1, models.MaxSigners) {
			d.Roles = append(d.Roles, s.templateRole(ro))
		}
	}
	o.reject("must be omitted: a template has roles instead of signers", "signers")
	d.Check(o.p)
	if !o.has("fields") {
		return
	}
	d.fields, d.paths = nil, []string{}
	known := d.Placeholders()
	if o.badUnder("roles") {
		known = nil
	}
	for _, fo := range o.objects("fields", 0, models.MaxFields) {
		in, signers := fieldInput(fo, origin), known
		if fo.get("signerId") != nil {
			delete(o.p, fo.path+"signerId")
			fo.bad("signerId", "must not be set: a template has roles instead of signers; use role")
			signers = nil
		} else if in.Role == "" {
			delete(o.p, fo.path+"signerId")
			fo.bad("role", "is required: the role of the signer who fills in the field")
			signers = nil
		}
		document := in.DocumentID // checked when the version's draft is created
		in.DocumentID = nil
		in.Check(o.p, fo.path, signers)
		in.DocumentID = document
		d.fields, d.paths = append(d.fields, in), append(d.paths, fo.path)
	}
}

// readTexts reads the content members that are also allowed together with "fromEnvelope".
func (d *templateDraft) readTexts(o *object) {
	changed(o, "subject", o.strippedText).Apply(&d.Subject)
	changed(o, "message", o.strippedText).Apply(&d.Message)
	changed(o, "reminderHours", o.optInt).Apply(&d.ReminderHours)
	changed(o, "metadata", o.metadata).Apply(&d.Metadata)
}

func (s *templateHandler) templateRole(o *object) models.TemplateRole {
	in := models.SignerInput{Kind: recipientKind(o)}
	readRecipient(o, &in)
	r := models.TemplateRole{
		Role: strings.TrimSpace(o.str("role")), AuthMethod: s.envelopes.authMethod(o, in.Kind.DefaultAuthMethod()), AllowDelegation: in.AllowDelegation,
		Kind: in.Kind, Language: in.Language, Silent: in.Silent, WitnessFor: in.WitnessFor,
	}
	if in.Host != nil {
		o.bad("host", "must be omitted: the host is specified when an envelope is created from the template")
	}
	if in.WitnessFor == "" { // otherwise the witnessed signer determines the order
		r.RoutingOrder = 1
	}
	r.RoutingOrder = models.Deref(o.optInt("routingOrder"), r.RoutingOrder)
	return r
}

// takeEnvelope copies the content of an envelope into the version. Members of the request take precedence.
func (d *templateDraft) takeEnvelope(app caller, t models.Template, e *models.Envelope, o *object) error {
	switch {
	case app.CheckTenant(e.TenantID) != nil:
		return models.InvalidField("fromEnvelope", "must be the id of an envelope of this app")
	case t.TenantID != "" && e.TenantID != t.TenantID:
		return models.InvalidField("fromEnvelope", "refers to another tenant's envelope")
	}
	for _, doc := range e.Originals() {
		if doc.PurgeStatus == models.PurgePurged {
			return models.ErrPurged
		}
	}
	d.FromEnvelope(e)
	d.readTexts(o)
	d.Check(o.p)
	d.documents = models.TemplateDocuments(e)
	return o.err()
}

// examine admits the file of a version and places the fields, in the same way as for an envelope.
func (s *templateHandler) examine(c *gin.Context, app caller, d *templateDraft) error {
	act := s.actionContext(c, app.actor())
	e, err := d.Draft(act, &models.Template{AppID: app.ID}, d.documents)
	if err != nil {
		return err
	}
	var added *models.Document
	if d.file != nil {
		if err := s.uploads.admitUpload(c, d.file); err != nil {
			return err
		}
		folder := fmt.Sprintf("%s%s/", blob.Templates, s.newID())
		d.file.BlobKey = folder + "original.pdf"
		if d.file.IsPrepared() {
			d.file.PreparedKey = folder + "prepared.pdf"
		}
		if added, err = e.AddDocument(act, d.file.DocumentInput, models.MaxDocuments); err != nil {
			return err
		}
	}
	path := models.IndexedPath
	if d.paths != nil {
		path = func(i int) string { return d.paths[i] }
	}
	if err := s.uploads.addDraftFields(c, e, act, d.fields, path, d.file); err != nil {
		return err
	}
	if d.file != nil {
		if err := addFoundFields(app, e, act, added, d.file); err != nil {
			return err
		}
	}
	d.FieldsOf(e)
	kept := d.documents
	d.documents = models.TemplateDocuments(e)
	for i, doc := range kept {
		d.documents[i].Warnings = doc.Warnings
	}
	if d.file == nil {
		return nil
	}
	d.documents[len(kept)].Warnings = d.file.Warnings
	return s.uploads.storeUpload(c, d.file)
}

// afterExamining deletes the uploaded file if the version was not stored, or if it uses the previous version's file
// instead.
func (s *templateHandler) afterExamining(c *gin.Context, d *templateDraft, err error) error {
	if d == nil || d.file == nil || d.file.BlobKey == "" || err != nil && !models.IsRejection(err) {
		return err
	}
	s.uploads.discardUnreferenced(c, d.file.BlobKeys()...)
	return err
}
