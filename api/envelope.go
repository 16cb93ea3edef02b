package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

func originalKey(e *models.Envelope, id uuid.UUID) string {
	return fmt.Sprintf("envelopes/%s/original/%s.pdf", e.ID, id)
}

// statusQuery reads the status filter. It returns "" if all envelopes are requested.
func statusQuery(c *gin.Context, p models.Problems) models.Status {
	v := models.Status(c.Query("status"))
	if _, present := c.GetQuery("status"); present && (!v.Valid() || v != v.Public() || v == models.StatusDeleted) {
		p.Add("status", "must be draft, sent, in_progress, completed, declined, voided or expired")
	}
	return v
}

func (s *envelopeHandler) getEnvelope(c *gin.Context, app caller) error {
	e, log, values, err := s.store.EnvelopeWithEntries(c.Request.Context(), app.ID, checkedID(c, "id"))
	if err == nil && app.CheckTenant(e.TenantID) != nil {
		err = models.ErrNotFound
	}
	if err != nil {
		return err
	}
	if app.builder != nil {
		log = nil // the embedded page must not see the audit trail
	}
	v := viewEnvelope(e, log)
	showValues(&v, e, values)
	showFieldWarnings(&v, e, s.coveringFields(c.Request.Context(), e))
	c.Header("ETag", etag(e))
	return respond(c, http.StatusOK, v)
}

func (s *envelopeHandler) sendEnvelope(c *gin.Context, app caller, o *object) error {
	message := o.strippedText("message")
	if err := o.err(); err != nil {
		return err
	}
	links := app.builder == nil // an embedded page receives no signing links
	return s.changeAndReturnEnvelope(c, app, links, func(e *models.Envelope, act models.ActionContext) error { return e.Send(act, message) })
}

// showLinks adds the signing links of awaited signers to the response to a send request.
func (s *envelopeHandler) showLinks(v *envelopeView, e *models.Envelope) error {
	for i, signer := range e.Signers {
		if signer.LinkID == nil {
			continue
		}
		tok, err := s.tokens.IssueSigning(e.AppID, signer)
		if err != nil {
			return err
		}
		v.Signers[i].SigningURL = s.signingURL + "/" + tok
	}
	return nil
}

func (s *envelopeHandler) voidEnvelope(c *gin.Context, app caller, o *object) error {
	reason := o.strippedText("reason")
	if err := o.err(); err != nil {
		return err
	}
	return s.changeAndReturnEnvelope(c, app, false, func(e *models.Envelope, act models.ActionContext) error { return e.Void(act, reason) })
}

func (s *envelopeHandler) addSigner(c *gin.Context, app caller, o *object) error {
	in := s.signerInput(o)
	in.Check(o.p, "")
	return change(s, c, app, o.err(), func(e *models.Envelope, act models.ActionContext) (*models.Signer, error) {
		return e.AddSigner(act, in)
	}, asJSON(http.StatusCreated, viewSigner))
}

// addField adds one field or a list of fields. If any field is invalid, none is added.
func (s *envelopeHandler) addField(c *gin.Context, app caller) error {
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
		invalid = o.err() // includes the errors for all fields
	}
	if invalid == nil && firstAnchor(ins) >= 0 {
		if _, err := e.Status.Next(models.ActionAddField); err != nil {
			return err
		}
		placed, at, err := s.uploads.placeOnDocuments(c.Request.Context(), e, ins, listed, path)
		if err != nil {
			return err
		}
		given := path
		ins, path = placed, func(i int) string { return given(at[i]) }
	}
	return change(s, c, app, cmp.Or(invalid, app.allowFields(ins...)), func(e *models.Envelope, act models.ActionContext) ([]*models.Field, error) {
		return e.AddFields(act, ins, path)
	}, func(made []*models.Field) (*store.StoredResponse, error) {
		out := viewEach(made, viewOneField)
		if !listed {
			return inJSON(http.StatusCreated, out[0])
		}
		return inJSON(http.StatusCreated, out)
	})
}

// getDocument streams the first document, or the one selected by documentId. It sends the original unless the parameter
// kind selects another file.
func (s *documentHandler) getDocument(c *gin.Context, _ caller, e *models.Envelope) error {
	p := models.Problems{}
	kind, id := models.DocumentOriginal, queryID(c, p, "documentId")
	if given, ok := c.GetQuery("kind"); ok {
		kind = models.DocumentKind(given)
	} else if id != uuid.Nil {
		kind = "" // the ID determines whether the file is an original or sealed
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
		return models.Reject(models.KindConflict, "envelope_not_completed", "The envelope is %s; there is no sealed document yet.", e.Status.Public())
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

// kindPrepared selects the prepared file instead of the original.
const kindPrepared models.DocumentKind = "prepared"

type progressView struct {
	temporal.Progress

	WorkflowURL *string `json:"workflowUrl"`
	AnsweredBy  string  `json:"answeredBy"`
}

// workflowQueryTimeout is the time limit for querying a workflow. If it is exceeded, the response is based on the
// database instead.
const workflowQueryTimeout = time.Second

// progress responds with the current step in the envelope's workflow.
func (s *envelopeHandler) progress(c *gin.Context, _ caller, e *models.Envelope) error {
	if e.SentAt == nil {
		return models.Reject(models.KindConflict, "envelope_draft", "The envelope has not been sent.")
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), workflowQueryTimeout)
	defer cancel()
	p, err := s.workflows.Progress(ctx, e.ID)
	if err != nil {
		if !e.Status.Terminal() {
			s.log.WarnContext(ctx, "workflow query failed; if this persists, run countersign reconcile", "envelope", e.ID, "error", err)
		}
		return s.recordedProgress(c, e)
	}
	out := progressView{Progress: p, AnsweredBy: "workflow"}
	if s.workflowsURL != "" {
		out.WorkflowURL = new(s.workflowsURL + "/" + url.PathEscape(temporal.EnvelopeWorkflowID(e.ID)))
	}
	return respond(c, http.StatusOK, out)
}

// recordedProgress responds with the progress according to the database.
func (s *envelopeHandler) recordedProgress(c *gin.Context, e *models.Envelope) error {
	ctx := c.Request.Context()
	_, settings, err := s.store.Settings(ctx, e.AppID, e.TenantID)
	if err != nil {
		return err
	}
	mails, err := s.store.Mails(ctx, e.ID)
	if err != nil {
		return err
	}
	next := e.NextReminder(mails, e.ReminderInterval(settings.ReminderInterval(s.settings.reminderInterval)))
	return respond(c, http.StatusOK, progressView{Progress: temporal.ProgressOf(e, next), AnsweredBy: "database"})
}

// callerEnvelope returns the envelope whose ID is in the path, if it belongs to the caller.
func (s *envelopeHandler) callerEnvelope(c *gin.Context, app caller) (*models.Envelope, error) {
	return s.callerEnvelopeByID(c, app, checkedID(c, "id"))
}

// withCallerEnvelope returns a handler that loads the caller's envelope and passes it to h.
func (s *envelopeHandler) withCallerEnvelope(h func(*gin.Context, caller, *models.Envelope) error) func(*gin.Context, caller) error {
	return func(c *gin.Context, app caller) error {
		e, err := s.callerEnvelope(c, app)
		if err != nil {
			return err
		}
		return h(c, app, e)
	}
}

func (s *envelopeHandler) callerEnvelopeByID(c *gin.Context, app caller, id uuid.UUID) (*models.Envelope, error) {
	e, err := s.store.Envelope(c.Request.Context(), app.ID, id)
	if err == nil && app.CheckTenant(e.TenantID) != nil {
		return nil, models.ErrNotFound
	}
	return e, err
}
