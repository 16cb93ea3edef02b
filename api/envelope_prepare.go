package api

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"countersign/models"
	"countersign/prepare"
)

// pathOriginal returns the original whose ID is in the path, if its envelope belongs to the caller.
func (s *documentHandler) pathOriginal(c *gin.Context, app caller) (*models.Envelope, *models.Document, error) {
	e, err := s.envelopes.callerEnvelope(c, app)
	if err != nil {
		return nil, nil, err
	}
	d := e.Document(checkedID(c, "documentId"))
	if d == nil || d.Kind != models.DocumentOriginal {
		return nil, nil, models.ErrNotFound
	}
	return e, d, nil
}

// reopenUpload returns the original of a document as a new upload.
func (s *uploads) reopenUpload(c *gin.Context, e *models.Envelope, d *models.Document, opt preparationOptions) (*upload, error) {
	f, err := s.openFile(c.Request.Context(), e, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	u, err := s.receiveUpload(io.NewSectionReader(f, 0, f.Size()), d.Name, s.uploadLimit)
	if err == nil {
		u.preparing = opt
	}
	return u, err
}

// prepareDocument prepares an original again, and adds the fields found in it.
func (s *documentHandler) prepareDocument(c *gin.Context, app caller, o *object) error {
	e, d, err := s.pathOriginal(c, app)
	if err != nil {
		return err
	}
	if err := checkIfMatch(c, e); err != nil {
		return err
	}
	if _, err := e.Status.Next(models.ActionEditDocument); err != nil {
		return err
	}
	opt := documentOptions(o)
	opt.takePassword(c)
	if err := o.err(); err != nil {
		return err
	}
	u, err := s.uploads.reopenUpload(c, e, d, opt)
	if err != nil {
		return err
	}
	defer u.discard()
	if err := s.uploads.admitUpload(c, u); err != nil {
		return err
	}
	if u.IsPrepared() {
		u.PreparedKey = preparedKey(e, s.newID())
	}
	if err := s.uploads.storePrepared(c, u); err != nil {
		return err
	}
	before := ""
	err = s.envelopes.changeAndReturnEnvelope(c, app, false, func(e *models.Envelope, act models.ActionContext) error {
		if was := e.Document(d.ID); was != nil {
			before = was.PreparedKey
		}
		_, err := e.Prepare(act, d.ID, u.DocumentInput, func(d *models.Document) ([]models.FieldInput, error) {
			return allowedFields(app, e, d, u)
		}, foundPath)
		return err
	})
	switch {
	case err == nil && before != "":
		s.uploads.discardUnreferenced(c, before)
	case err != nil && models.IsRejection(err) && u.IsPrepared():
		s.uploads.discardBlob(c, u.PreparedKey)
	}
	return err
}

// suggestionView represents a field found in a document.
type suggestionView struct {
	Source models.FieldSource `json:"source"`
	Type   string             `json:"type"`
	Name   *string            `json:"name"`
	Role   *string            `json:"role"`
	positionView
}

func newSuggestion(source models.FieldSource, kind, name, role string, at prepare.Position) suggestionView {
	return suggestionView{source, kind, nilIfZero(name), nilIfZero(role), positionView{at.Page, at.X, at.Y, at.W, at.H}}
}

// suggestions lists the fields described by the tags and the form in an original.
func (s *documentHandler) suggestions(c *gin.Context, app caller) error {
	e, d, err := s.pathOriginal(c, app)
	if err != nil {
		return err
	}
	return s.uploads.writeSuggestions(c, e, d)
}

// writeSuggestions responds with the fields described by the tags and the form in an original.
func (s *uploads) writeSuggestions(c *gin.Context, e *models.Envelope, d *models.Document) error {
	u, err := s.reopenUpload(c, e, d, preparationOptions{})
	if err != nil {
		return err
	}
	defer u.discard()
	tags, fields, err := s.readSuggestions(c, u)
	if err != nil {
		return err
	}
	out := []suggestionView{}
	for _, t := range tags {
		out = append(out, newSuggestion(models.SourceTag, t.Type, t.Name, t.Role, t.Place))
	}
	names := prepare.FieldNames(fields)
	for i, f := range fields {
		if !f.Hidden {
			out = append(out, newSuggestion(models.SourceForm, f.Type, names[i], f.Role(), f.Place))
		}
	}
	return respond(c, http.StatusOK, gin.H{"data": out})
}
