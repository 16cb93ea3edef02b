package api

import (
	"cmp"
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
func (s *Server) listEnvelopes(c *gin.Context, app caller) error {
	p := models.Problems{}
	f := store.EnvelopeFilter{
		App: app.ID, Tenant: c.Query("tenantId"), Status: statusQuery(c, p),
		CreatedAfter: queryTime(c, p, "createdAfter"), CreatedBefore: queryTime(c, p, "createdBefore"), UpdatedSince: queryTime(c, p, "updatedSince"),
		SignerEmail: queryText(c, p, "signerEmail", 254), ExternalID: queryText(c, p, "externalId", models.MaxExternalID), Text: queryText(c, p, "q", maxSearch),
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
	f.After = cursorQuery(c, p, f.ByUpdate, "must be the nextCursor of a list with the same sort")
	if f.Tenant == "" {
		p.Add("tenantId", "is required")
	}
	if err := checkTenantQuery(p, app, f.Tenant); err != nil {
		return err
	}
	list, total, err := s.Store.Envelopes(c.Request.Context(), f)
	if err != nil {
		return err
	}
	var next *string
	if len(list) > f.Size {
		list = list[:f.Size]
		next = new(cursorAfter(list[f.Size-1], f.ByUpdate))
	}
	data := viewEach(list, listedEnvelope)
	return answer(c, http.StatusOK, gin.H{"data": data, "total": total, "page": f.Page, "pageSize": f.Size, "nextCursor": next})
}

// listedEnvelope is an envelope as lists show it: without its audit trail.
func listedEnvelope(e *models.Envelope) envelopeView { return viewEnvelope(e, nil) }

// pageQuery reads which page of a list is asked for.
func pageQuery(c *gin.Context, p models.Problems) (page, size int) {
	return query(c, p, "page", 1, 1_000_000), query(c, p, "pageSize", 20, 100)
}

// answerPage answers with a page of a list.
func answerPage[V any](c *gin.Context, data []V, total int64, page, size int) error {
	return answer(c, http.StatusOK, gin.H{"data": data, "total": total, "page": page, "pageSize": size})
}

// checkTenantQuery refuses what is wrong with a query string, and a tenant that is not the
// caller's; "" is all tenants.
func checkTenantQuery(p models.Problems, app caller, tenant string) error {
	if tenant != "" {
		models.CheckText(p, "tenantId", tenant, 1, 255)
	}
	return cmp.Or(p.Err(), app.CheckTenant(tenant))
}

// A cursor is a place in a list: the id of the envelope before it, and in the order of
// changes the microsecond of its change.

// cursorQuery reads the place behind which a page begins; nil: at the first.
func cursorQuery(c *gin.Context, p models.Problems, byUpdate bool, problem string) *store.ListPlace {
	cursor, given := c.GetQuery("cursor")
	if !given {
		return nil
	}
	if _, paged := c.GetQuery("page"); paged {
		p.Add("cursor", "cannot be given together with page")
	}
	at, ok := readCursor(cursor, byUpdate)
	if !ok {
		p.Add("cursor", "%s", problem)
	}
	return at
}

func cursorAfter(e *models.Envelope, byUpdate bool) string {
	text := e.ID.String()
	if byUpdate {
		text += "/" + strconv.FormatInt(e.UpdatedAt.UnixMicro(), 10)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func readCursor(cursor string, byUpdate bool) (*store.ListPlace, bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return nil, false
	}
	first, micro, timed := strings.Cut(string(text), "/")
	id, err := uuid.Parse(first)
	if err != nil || timed != byUpdate {
		return nil, false
	}
	at := &store.ListPlace{ID: id}
	if timed {
		n, err := strconv.ParseInt(micro, 10, 64)
		if err != nil || n < 0 {
			return nil, false
		}
		at.UpdatedAt = time.UnixMicro(n).UTC()
	}
	return at, true
}
