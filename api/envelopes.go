package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

type jsonNumber = json.Number

func originalKey(e *models.Envelope, id uuid.UUID) string {
	return fmt.Sprintf("envelopes/%s/original/%s.pdf", e.ID, id)
}

// statusQuery reads the status to select by; "" for all.
func statusQuery(c *gin.Context, p models.Problems) models.Status {
	v := models.Status(c.Query("status"))
	if _, given := c.GetQuery("status"); given && (!v.Valid() || v != v.Public() || v == models.StatusDeleted) {
		p.Add("status", "must be draft, sent, in_progress, completed, declined, voided or expired")
	}
	return v
}

func (s *Server) getEnvelope(c *gin.Context, app caller) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	e, log, err := s.Store.EnvelopeWithEvents(c.Request.Context(), app.ID, id)
	if err == nil && app.CheckTenant(e.TenantID) != nil {
		err = models.ErrNotFound
	}
	if err != nil {
		return err
	}
	if app.builder != nil {
		log = nil // the audit trail is the application's
	}
	v := viewEnvelope(e, log)
	if err := s.showValues(c, &v, e); err != nil {
		return err
	}
	c.Header("ETag", etag(e))
	c.JSON(http.StatusOK, v)
	return nil
}

func (s *Server) sendEnvelope(c *gin.Context, app caller) error {
	o, err := readObject(c, maxJSON, true)
	if err != nil {
		return err
	}
	message := stripInvisible(o.optStr("message"))
	if err := o.err(); err != nil {
		return err
	}
	links := app.builder == nil // a page gets no signer's credential
	return s.changeWhole(c, app, links, func(e *models.Envelope, act models.ActionContext) error { return e.Send(act, message) })
}

// showLinks puts the links of those who may sign into the answer to a send.
func (s *Server) showLinks(v *envelopeView, e *models.Envelope) error {
	for i, signer := range e.Signers {
		if signer.LinkID == nil {
			continue
		}
		tok, err := s.Tokens.IssueSigning(e.AppID, signer)
		if err != nil {
			return err
		}
		v.Signers[i].SigningURL = s.SigningURL + "/" + tok
	}
	return nil
}

func (s *Server) voidEnvelope(c *gin.Context, app caller) error {
	o, err := readObject(c, maxJSON, true)
	if err != nil {
		return err
	}
	reason := stripInvisible(o.optStr("reason"))
	if err := o.err(); err != nil {
		return err
	}
	return s.changeWhole(c, app, false, func(e *models.Envelope, act models.ActionContext) error { return e.Void(act, reason) })
}

func (s *Server) addSigner(c *gin.Context, app caller) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	in := s.signerInput(o)
	in.Check(o.p, "")
	invalid := o.err()
	var made *models.Signer
	return s.change(c, app, func(e *models.Envelope, act models.ActionContext) (err error) {
		if invalid != nil { // another app's envelope is not found, whatever the body
			return invalid
		}
		made, err = e.AddSigner(act, in)
		return err
	}, func() (*store.StoredResponse, error) { return inJSON(http.StatusCreated, viewSigner(made)) })
}

// addField takes a field, or a list of them, of which all are added or none.
func (s *Server) addField(c *gin.Context, app caller) error {
	objects, listed, err := readObjects(c, "fields", models.MaxFields)
	if err != nil {
		return err
	}
	e, err := s.callerEnvelope(c, app)
	if err != nil {
		return err
	}
	ins, path := make([]models.FieldInput, 0, len(objects)), models.NoPrefix
	if listed {
		path = models.IndexedPath
	}
	var invalid error
	for _, o := range objects {
		ins = append(ins, fieldInput(o, e.FieldOrigin))
		invalid = o.err() // of all of them
	}
	if invalid == nil && firstAnchor(ins) >= 0 {
		if _, err := e.Status.Next(models.ActionAddField); err != nil {
			return err
		}
		placed, at, err := s.placeOnDocuments(c.Request.Context(), e, ins, listed, path)
		if err != nil {
			return err
		}
		given := path
		ins, path = placed, func(i int) string { return given(at[i]) }
	}
	var made []*models.Field
	return s.change(c, app, func(e *models.Envelope, act models.ActionContext) (err error) {
		if err := cmp.Or(invalid, app.allowFields(ins...)); err != nil {
			return err
		}
		made, err = e.AddFields(act, ins, path)
		return err
	}, func() (*store.StoredResponse, error) {
		if !listed {
			return inJSON(http.StatusCreated, viewField(made[0], made[0].Extended()))
		}
		out := make([]fieldView, 0, len(made))
		for _, f := range made {
			out = append(out, viewField(f, f.Extended()))
		}
		return inJSON(http.StatusCreated, out)
	})
}

// getDocument streams the first document, or the one that documentId names, as
// it is or as what it was sealed into: the original unless kind says otherwise.
func (s *Server) getDocument(c *gin.Context, app caller) error {
	e, err := s.callerEnvelope(c, app)
	if err != nil {
		return err
	}
	p := models.Problems{}
	kind, id := models.DocumentOriginal, queryID(c, p, "documentId")
	if given, ok := c.GetQuery("kind"); ok {
		kind = models.DocumentKind(given)
	} else if id != uuid.Nil {
		kind = "" // the id says it
	}
	switch kind {
	case models.DocumentOriginal, models.DocumentSealed, kindPrepared:
	default:
		if _, given := c.GetQuery("kind"); given {
			p.Add("kind", "must be original, prepared or sealed")
		}
	}
	if err := p.Err(); err != nil {
		return err
	}
	if kind == models.DocumentSealed && e.Status != models.StatusCompleted {
		return models.Refuse(models.KindConflict, "envelope_not_completed", "The envelope is %s; there is no sealed document yet.", e.Status.Public())
	}
	for _, d := range e.Documents {
		named := d.ID == id || d.OriginalID != nil && *d.OriginalID == id || id == uuid.Nil && d.Order == 1
		if named && kind == kindPrepared && d.IsPrepared() {
			return s.sendFile(c, e, d.Presented(), "attachment")
		}
		if named && (kind == "" || kind == d.Kind) {
			return s.sendFile(c, e, d, "attachment")
		}
	}
	return models.ErrNotFound
}

// kindPrepared asks for the file that people read instead of an original.
const kindPrepared models.DocumentKind = "prepared"

func (s *Server) progress(c *gin.Context, app caller) error {
	e, err := s.callerEnvelope(c, app)
	if err != nil {
		return err
	}
	if e.SentAt == nil {
		return models.Refuse(models.KindConflict, "envelope_draft", "The envelope has not been sent.")
	}
	p, err := s.Workflows.Progress(c.Request.Context(), e.ID)
	if err != nil {
		s.log.WarnContext(c.Request.Context(), "workflow does not answer", "envelope", e.ID, "error", err)
		return models.Refuse(models.KindUnavailable, "workflow_unavailable", "The workflow does not answer right now.")
	}
	answer := struct {
		temporal.Progress

		WorkflowURL *string `json:"workflowUrl"`
	}{Progress: p}
	if s.WorkflowsURL != "" {
		at := s.WorkflowsURL + "/" + url.PathEscape(temporal.EnvelopeWorkflowID(e.ID))
		answer.WorkflowURL = &at
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// callerEnvelope loads the envelope that the path names, if it is the caller's.
func (s *Server) callerEnvelope(c *gin.Context, app caller) (*models.Envelope, error) {
	id, err := pathID(c, "id")
	if err != nil {
		return nil, err
	}
	return s.callerEnvelopeByID(c, app, id)
}

func (s *Server) callerEnvelopeByID(c *gin.Context, app caller, id uuid.UUID) (*models.Envelope, error) {
	e, err := s.Store.Envelope(c.Request.Context(), app.ID, id)
	if err != nil {
		return nil, err
	}
	if app.CheckTenant(e.TenantID) != nil {
		return nil, models.ErrNotFound
	}
	return e, nil
}
