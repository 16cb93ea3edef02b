package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
)

// An edit is a merge patch (RFC 7396). A missing member keeps its value, and null resets it to the default.

// etag returns an ETag that contains the version of an envelope.
func etag(e *models.Envelope) string { return `"` + strconv.FormatInt(e.Version, 10) + `"` }

// checkIfMatch returns an error if the version of the envelope does not match the If-Match header (RFC 9110 §13.1.1).
func checkIfMatch(c *gin.Context, e *models.Envelope) error {
	return checkTag(c, etag(e), "The envelope has changed. Reload it and try again.")
}

// checkTag returns an error with the given message if the current tag does not match the If-Match header.
func checkTag(c *gin.Context, now, message string) error {
	header := strings.Join(c.Request.Header.Values("If-Match"), ",")
	if header == "" {
		return nil
	}
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == now {
			return nil
		}
	}
	rejected := models.Reject(models.KindPrecondition, "precondition_failed", "%s", message)
	rejected.Details = map[string]any{"etag": now}
	return rejected
}

// changed reads a member of an edit if it is present.
func changed[T any](o *object, name string, read func(string) T) models.Change[T] {
	if !o.has(name) {
		return models.Change[T]{}
	}
	return models.Change[T]{Present: true, Value: read(name)}
}

// metadata reads an optional object whose members are strings.
func (o *object) metadata(name string) map[string]string {
	members := o.sub(name)
	if members == nil || len(members.m) == 0 {
		return nil
	}
	out := make(map[string]string, len(members.m))
	for key, value := range members.m {
		text, ok := value.(string)
		if !ok {
			o.bad(name, "must have strings as values")
			return nil
		}
		out[key] = text
	}
	return out
}

// patchEnvelope edits a draft, or changes the deadline and reminders of a sent envelope.
func (s *envelopeHandler) patchEnvelope(c *gin.Context, app caller, o *object) error {
	if app.builder != nil && (o.has("metadata") || o.has("labels")) { // only the application may change these
		return app.builder.Allow(models.BuilderNever)
	}
	edit := models.EnvelopeEdit{
		Subject: changed(o, "subject", o.strippedText), Message: changed(o, "message", o.strippedText),
		ExpiresInDays: changed(o, "expiresInDays", o.optInt), ReminderHours: changed(o, "reminderHours", o.optInt),
		Metadata: changed(o, "metadata", o.metadata), Labels: changed(o, "labels", o.labels), ExpiresAt: changed(o, "expiresAt", o.optTime),
	}
	invalid := o.err()
	return s.changeAndReturnEnvelope(c, app, false, func(e *models.Envelope, act models.ActionContext) error {
		if e.Status == models.StatusDraft {
			if err := app.require(models.RoleSender); err != nil {
				return err
			}
		}
		if invalid != nil {
			return invalid
		}
		return e.Patch(act, edit)
	})
}

func (s *envelopeHandler) deleteEnvelope(c *gin.Context, app caller) error {
	return s.changeAndDeleteFiles(c, app, func(e *models.Envelope, act models.ActionContext) ([]string, error) { return e.Delete(act) })
}

// changeAndDeleteFiles applies a change to a draft, and then deletes the files that are no longer referenced.
func (s *envelopeHandler) changeAndDeleteFiles(c *gin.Context, app caller, do func(*models.Envelope, models.ActionContext) ([]string, error)) error {
	var files []string
	err := change(s, c, app, nil, func(e *models.Envelope, act models.ActionContext) (_ []string, err error) {
		files, err = do(e, act)
		return files, err
	}, noContent)
	if err == nil {
		s.uploads.discardUnreferenced(c, files...)
	}
	return err
}

// merged returns the object that results from an edit: the current view, overwritten by the members of the edit.
func merged(view any, edit *object) (*object, error) {
	b, err := json.Marshal(view)
	if err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	o, err := parseObject(b, "")
	if err != nil {
		return nil, err
	}
	o.m, _ = mergePatch(o.m, edit.m).(map[string]any)
	o.p = edit.p
	return o, nil
}

// mergePatch applies an RFC 7396 merge patch.
func mergePatch(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := make(map[string]any)
	if was, ok := target.(map[string]any); ok {
		maps.Copy(out, was)
	}
	for name, v := range members {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = mergePatch(out[name], v)
		}
	}
	return out
}

func (s *envelopeHandler) patchSigner(c *gin.Context, app caller) error {
	edit, id, err := s.readPartEdit(c, app, "signerId")
	if err != nil {
		return err
	}
	return change(s, c, app, nil, func(e *models.Envelope, act models.ActionContext) (*models.Signer, error) {
		was := e.Recipient(id)
		if was == nil {
			return nil, models.ErrNotFound
		}
		o, err := merged(viewSigner(was), edit.withNewProblems())
		if err != nil {
			return nil, err
		}
		in := s.signerInput(o)
		if in.WitnessFor != "" && !edit.has("routingOrder") {
			in.RoutingOrder = 0 // determined by the witnessed signer
		}
		if err := o.err(); err != nil {
			return nil, err
		}
		return e.EditSigner(act, id, in)
	}, asJSON(http.StatusOK, viewSigner))
}

// readPartEdit reads the edit of a recipient, field or document, whose ID is in the path. If the object does not exist,
// readPartEdit returns a not-found error without reading the body.
func (s *envelopeHandler) readPartEdit(c *gin.Context, app caller, param string) (*object, uuid.UUID, error) {
	id := checkedID(c, param)
	e, err := s.callerEnvelope(c, app)
	if err != nil {
		return nil, id, err
	}
	if e.Recipient(id) == nil && e.Field(id) == nil && e.Document(id) == nil {
		return nil, id, models.ErrNotFound
	}
	o, err := readObject(c, false)
	return o, id, err
}

// withNewProblems returns a copy of o without the problems recorded so far.
func (o *object) withNewProblems() *object {
	return &object{m: o.m, path: o.path, p: models.Problems{}}
}

func (s *envelopeHandler) deleteSigner(c *gin.Context, app caller) error {
	return s.changeAndDeleteFiles(c, app, func(e *models.Envelope, act models.ActionContext) ([]string, error) {
		return nil, e.RemoveSigner(act, checkedID(c, "signerId"))
	})
}

// patchField edits a field. A new y is measured from the new origin or, if the edit contains none, from the envelope's
// origin. If y does not change, the field keeps its displayed position.
func (s *envelopeHandler) patchField(c *gin.Context, app caller) error {
	edit, id, err := s.readPartEdit(c, app, "fieldId")
	if err != nil {
		return err
	}
	return change(s, c, app, nil, func(e *models.Envelope, act models.ActionContext) (*models.Field, error) {
		was := e.Field(id)
		if was == nil {
			return nil, models.ErrNotFound
		}
		o, err := merged(viewField(was, true), edit.withNewProblems())
		if err != nil {
			return nil, err
		}
		if edit.get("role") != nil && !edit.has("signerId") {
			delete(o.m, "signerId") // determined by the role
		}
		switch {
		case !edit.has("y"):
			o.m["origin"] = string(was.Origin)
		case !edit.has("origin"):
			o.m["origin"] = string(e.FieldOrigin)
		}
		o.reject("applies only to new fields: set page, x and y", "anchor")
		delete(o.m, "anchor")
		in := fieldInput(o, e.FieldOrigin)
		if err := cmp.Or(o.err(), app.allowFields(in)); err != nil {
			return nil, err
		}
		return e.EditField(act, id, in)
	}, asJSON(http.StatusOK, viewOneField))
}

func (s *envelopeHandler) deleteField(c *gin.Context, app caller) error {
	return s.changeAndDeleteFiles(c, app, func(e *models.Envelope, act models.ActionContext) ([]string, error) {
		return nil, e.RemoveField(act, checkedID(c, "fieldId"))
	})
}

func (s *documentHandler) patchDocument(c *gin.Context, app caller) error {
	o, id, err := s.envelopes.readPartEdit(c, app, "documentId")
	if err != nil {
		return err
	}
	edit := models.DocumentEdit{
		Name:  changed(o, "name", func(name string) string { return fileName(plaintext.Visible(o.text(name))) }),
		Order: changed(o, "document_order", o.int),
	}
	return change(s.envelopes, c, app, o.err(), func(e *models.Envelope, act models.ActionContext) (*models.Document, error) {
		return e.EditDocument(act, id, edit)
	}, asJSON(http.StatusOK, viewDocument))
}

func (s *documentHandler) deleteDocument(c *gin.Context, app caller) error {
	return s.envelopes.changeAndDeleteFiles(c, app, func(e *models.Envelope, act models.ActionContext) ([]string, error) {
		return e.RemoveDocument(act, checkedID(c, "documentId"))
	})
}
