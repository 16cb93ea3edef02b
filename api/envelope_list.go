package api

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// listEnvelopes answers a page of a tenant's envelopes: by number, or behind the
// cursor that the page before gave.
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
	switch sort, given := c.GetQuery("sort"); {
	case sort == "updatedAt":
		f.ByUpdate = true
	case given && sort != "createdAt":
		p.Add("sort", "must be createdAt or updatedAt")
	}
	f.After = cursorQuery(c, p, cursorKindOf(f), "must be the nextCursor of a list with the same sort and bounds")
	if f.Tenant == "" {
		p.Add("tenantId", "is required")
	}
	if err := checkTenantQuery(p, app, f.Tenant); err != nil {
		return err
	}
	list, total, err := s.store.Envelopes(c.Request.Context(), f)
	if err != nil {
		return err
	}
	var next *string
	if len(list) > f.Size {
		list = list[:f.Size]
		next = new(cursorAfter(list[f.Size-1], cursorKindOf(f)))
	}
	data := viewEach(list, listedEnvelope)
	return answer(c, http.StatusOK, gin.H{"data": data, "total": total, "page": f.Page, "pageSize": f.Size, "nextCursor": next})
}

// listedEnvelope is an envelope as lists show it: without its audit trail.
func listedEnvelope(e *models.Envelope) envelopeView { return viewEnvelope(e, nil) }

// A cursor is a place in a list: the id of the envelope before it, and in the order of
// a time the microsecond of that, behind a mark that says which time it is.

// cursorKind is the mark.
type cursorKind string

const (
	cursorByID       cursorKind = ""
	cursorByUpdate   cursorKind = "/"
	cursorByCreation cursorKind = "@"
)

// cursorKindOf is the kind of the cursors of a list.
func cursorKindOf(f store.EnvelopeFilter) cursorKind {
	switch {
	case f.ByUpdate:
		return cursorByUpdate
	case f.ByCreation():
		return cursorByCreation
	}
	return cursorByID
}

// cursorQuery reads the place behind which a page begins; nil: at the first.
func cursorQuery(c *gin.Context, p models.Problems, kind cursorKind, problem string) *store.ListPlace {
	cursor, given := c.GetQuery("cursor")
	if !given {
		return nil
	}
	if _, paged := c.GetQuery("page"); paged {
		p.Add("cursor", "cannot be given together with page")
	}
	at, ok := readCursor(cursor, kind)
	if !ok {
		p.Add("cursor", "%s", problem)
	}
	return at
}

func cursorAfter(e *models.Envelope, kind cursorKind) string {
	text := e.ID.String()
	switch kind {
	case cursorByUpdate:
		text += string(kind) + strconv.FormatInt(e.UpdatedAt.UnixMicro(), 10)
	case cursorByCreation:
		text += string(kind) + strconv.FormatInt(e.CreatedAt.UnixMicro(), 10)
	case cursorByID:
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func readCursor(cursor string, kind cursorKind) (*store.ListPlace, bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return nil, false
	}
	if kind == cursorByID {
		id, err := uuid.Parse(string(text))
		return &store.ListPlace{ID: id}, err == nil
	}
	first, micro, _ := strings.Cut(string(text), string(kind))
	id, err1 := uuid.Parse(first)
	n, err2 := strconv.ParseInt(micro, 10, 64)
	return &store.ListPlace{ID: id, At: time.UnixMicro(n).UTC()}, err1 == nil && err2 == nil && n >= 0
}
