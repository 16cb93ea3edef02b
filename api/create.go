package api

import (
	"mime"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/nyaruka/phonenumbers"

	"countersign/models"
)

// createEnvelope takes a multipart body with the file, or JSON without it.
func (s *Server) createEnvelope(c *gin.Context, app *models.App) error {
	t, _, _ := mime.ParseMediaType(c.ContentType()) // an unreadable type is treated as JSON and refused there
	if t != "multipart/form-data" {
		o, err := readObject(c, maxJSON, false)
		if err != nil {
			return err
		}
		return s.create(c, app, o, nil)
	}
	in, err := s.readParts(c)
	if err != nil {
		return err
	}
	defer in.file.discard()
	o, err := in.object()
	if err != nil {
		return err
	}
	if in.file == nil {
		o.bad("file", "is required")
	}
	return s.create(c, app, o, in.file)
}

// object reads the JSON part of a multipart body, or its flat form fields.
func (p *parts) object() (*object, error) {
	if data, ok := p.text["data"]; ok {
		return parseObject([]byte(data), "data")
	}
	o := &object{m: make(map[string]any), p: models.Problems{}}
	for name, text := range p.text {
		switch name {
		case "signers", "fields", "expiresInDays":
			v, err := parseJSON([]byte(text), name)
			if err != nil {
				o.bad(name, "must be JSON")
				continue
			}
			o.m[name] = v
		default:
			o.m[name] = text
		}
	}
	return o, nil
}

func (s *Server) create(c *gin.Context, app *models.App, o *object, file *upload) error {
	in := models.EnvelopeInput{
		AppID: app.ID, TenantID: o.str("tenantId"), Subject: o.optStr("subject"), CreatedBy: app.ID.String(), ExpiresInDays: o.optInt("expiresInDays"),
	}
	if by := o.optStr("createdBy"); by != nil {
		in.CreatedBy = *by
	}
	if !o.has("expiresInDays") {
		in.ExpiresInDays = &s.DefaultExpiryDays
	}
	var signers []models.SignerInput
	for _, so := range o.objects("signers", 1, models.MaxSigners) {
		signer := s.signerInput(so)
		signer.Check(o.p, so.path)
		signers = append(signers, signer)
	}
	origin := o.optStr("origin")
	var fields []models.FieldInput
	for _, fo := range o.objects("fields", 0, models.MaxFields) {
		fields = append(fields, fieldInput(fo, origin))
	}
	if err := o.err(); err != nil {
		return err
	}
	if err := app.MayUse(in.TenantID); err != nil {
		return err
	}
	e, err := s.build(c, app, in, signers, fields, file)
	if err != nil {
		return err
	}
	if err := s.Store.Create(c.Request.Context(), e); err != nil {
		if file != nil && models.IsRefusal(err) {
			s.forget(c, file.BlobKey)
		}
		return err
	}
	log, err := s.Store.AuditEvents(c.Request.Context(), e.ID)
	if err != nil {
		return err
	}
	c.Header("Location", s.BaseURL+"/v1/envelopes/"+e.ID.String())
	c.JSON(http.StatusCreated, viewEnvelope(e, log))
	return nil
}

// build makes the draft with all that the request holds, and keeps the file.
func (s *Server) build(c *gin.Context, app *models.App, in models.EnvelopeInput, signers []models.SignerInput, fields []models.FieldInput,
	file *upload,
) (*models.Envelope, error) {
	act := s.act(c, models.AppActor(app.ID))
	e, err := models.NewEnvelope(act, in)
	if err != nil {
		return nil, err
	}
	for _, in := range signers {
		if _, err := e.AddSigner(act, in); err != nil {
			return nil, err
		}
	}
	if file != nil {
		limits, _ := app.Plan.Limits()
		file.BlobKey = originalKey(e, s.NewID())
		if _, err := e.AddDocument(act, file.DocumentInput, limits.Documents); err != nil {
			return nil, err
		}
	}
	if len(fields) > 0 {
		if _, err := e.AddFields(act, fields, models.FieldPaths); err != nil {
			return nil, err
		}
	}
	if file != nil {
		if err := s.Blobs.Keep(c.Request.Context(), file.file, file.BlobKey); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// signerInput reads a signer request.
func (s *Server) signerInput(o *object) models.SignerInput {
	in := models.SignerInput{
		Name: o.str("name"), Email: strings.TrimSpace(o.str("email")), Phone: o.optStr("phone"), RoutingOrder: 1, AuthMethod: models.AuthEmailOTP,
	}
	if n := o.optInt("routingOrder"); n != nil {
		in.RoutingOrder = *n
	}
	if m := o.optStr("authMethod"); m != nil {
		in.AuthMethod = models.AuthMethod(*m)
	}
	if in.Phone != nil && strings.TrimSpace(*in.Phone) == "" {
		in.Phone = nil
	}
	if in.Phone != nil {
		n, err := phonenumbers.Parse(*in.Phone, "")
		if err == nil && phonenumbers.IsPossibleNumber(n) {
			e164 := phonenumbers.Format(n, phonenumbers.E164)
			in.Phone = &e164
		}
	}
	if in.AuthMethod == models.AuthSMSOTP && s.SMS == nil {
		o.bad("authMethod", "sms_otp is not available: this service sends no text messages")
	}
	return in
}

// fieldInput reads a field request. origin is the envelope's, if it names one.
func fieldInput(o *object, origin *string) models.FieldInput {
	in := models.FieldInput{
		DocumentID: o.optID("documentId"), Type: models.FieldType(o.str("type")), Page: o.int("page"),
		X: o.num("x"), Y: o.num("y"), W: o.num("w"), H: o.num("h"), Required: o.flag("required", true), Origin: models.OriginTopLeft,
	}
	if n, ok := o.get("signerId").(jsonNumber); ok {
		in.SignerRef = n.String() // an index that was not quoted
	} else {
		in.SignerRef = o.str("signerId")
	}
	if origin != nil {
		in.Origin = models.Origin(*origin)
	}
	if own := o.optStr("origin"); own != nil {
		in.Origin = models.Origin(*own)
	}
	return in
}
