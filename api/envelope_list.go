package api

import (
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// listEnvelopes responds with a page of a tenant's envelopes, selected by page number or by cursor.
func (s *envelopeHandler) listEnvelopes(c *gin.Context, app caller) error {
	p := models.Problems{}
	f := store.EnvelopeFilter{
		App: app.ID, Tenant: c.Query("tenantId"), Status: statusQuery(c, p),
		CreatedAfter: queryTime(c, p, "createdAfter"), CreatedBefore: queryTime(c, p, "createdBefore"), UpdatedSince: queryTime(c, p, "updatedSince"),
		SignerEmail: queryText(c, p, "signerEmail", 254), ExternalID: queryText(c, p, "externalId", models.MaxExternalID), Text: queryText(c, p, "q", maxSearch),
		Label:      labelQuery(c, p),
		TemplateID: queryID(c, p, "templateId"), BulkSend: queryID(c, p, "bulkSendId"),
		Peek: true,
	}
	f.Page, f.Size = pageQuery(c, p)
	switch sort, present := c.GetQuery("sort"); {
	case sort == "updatedAt":
		f.ByUpdate = true
	case present && sort != "createdAt":
		p.Add("sort", "must be createdAt or updatedAt")
	}
	list := envelopeListOf(f)
	f.After = afterEnvelope(cursorQuery(c, p, app, list))
	if f.Tenant == "" {
		p.Add("tenantId", "is required")
	}
	if err := checkTenantQuery(p, app, f.Tenant); err != nil {
		return err
	}
	found, total, err := s.store.Envelopes(c.Request.Context(), f)
	if err != nil {
		return err
	}
	found, next := cutPage(found, f.Size, app, list, envelopePosition(f))
	return respondPage(c, viewEach(found, listedEnvelope), total, f.Page, f.Size, next)
}

// listedEnvelope returns the view of an envelope in a list. The view omits the audit trail.
func listedEnvelope(e *models.Envelope) envelopeView { return viewEnvelope(e, nil) }

// envelopeListOf returns the identifier that cursors use for the list of envelopes. It depends on the sort order.
func envelopeListOf(f store.EnvelopeFilter) string {
	switch {
	case f.ByUpdate:
		return "envelopes by update"
	case f.ByCreation():
		return "envelopes by creation"
	}
	return "envelopes"
}

// envelopePosition returns a function that determines an envelope's position in the list selected by a filter.
func envelopePosition(f store.EnvelopeFilter) func(*models.Envelope) listPosition {
	return func(e *models.Envelope) listPosition {
		switch {
		case f.ByUpdate:
			return listPosition{e.ID, e.UpdatedAt.UnixMicro()}
		case f.ByCreation():
			return listPosition{e.ID, e.CreatedAt.UnixMicro()}
		}
		return listPosition{ID: e.ID}
	}
}

// afterEnvelope converts a position to the store's type. It returns nil for the first page.
func afterEnvelope(at listPosition) *store.ListPosition {
	if at.ID == uuid.Nil {
		return nil
	}
	return &store.ListPosition{ID: at.ID, At: time.UnixMicro(at.Number).UTC()}
}
