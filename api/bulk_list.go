package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// bulkRowView represents a row of a bulk send in API responses.
type bulkRowView struct {
	Row        int                  `json:"row"`
	ExternalID *string              `json:"externalId"`
	Status     models.BulkRowStatus `json:"status"`
	EnvelopeID *uuid.UUID           `json:"envelopeId"`
	Error      *bulkErrorView       `json:"error"` // null unless the row failed
	SettledAt  *time.Time           `json:"settledAt"`
}

// bulkErrorView is the error of a failed row. It matches the error that a request to create a single envelope would
// return.
type bulkErrorView struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func viewBulkRow(r *models.BulkRow) bulkRowView {
	v := bulkRowView{Row: r.Row, ExternalID: r.ExternalID, Status: r.Status, EnvelopeID: r.EnvelopeID, SettledAt: utcPtr(r.SettledAt)}
	if r.Status == models.BulkRowFailed {
		v.Error = &bulkErrorView{r.ErrorCode, r.Error}
	}
	return v
}

// listBulkSends responds with a page of bulk sends, newest first, of one tenant or of all tenants.
func (s *bulkHandler) listBulkSends(c *gin.Context, app caller) error {
	p := models.Problems{}
	tenant := c.Query("tenantId")
	const list = "bulk sends"
	after, size := cursorQuery(c, p, app, list).ID, sizeQuery(c, p)
	switch _, present := c.GetQuery("tenantId"); {
	case tenant == "" && present:
		p.Add("tenantId", "must not be empty")
	case tenant == "" && len(app.Tenants) > 0:
		p.Add("tenantId", "is required for a client that is restricted to some tenants")
	}
	if err := checkTenantQuery(p, app, tenant); err != nil {
		return err
	}
	found, err := s.store.BulkSends(c.Request.Context(), app.ID, tenant, after, size+1)
	if err != nil {
		return err
	}
	found, next := cutPage(found, size, app, list, func(b *store.BulkSendWithCounts) listPosition { return listPosition{ID: b.ID} })
	return respondCursorList(c, viewEach(found, viewBulkSend), next)
}

// listBulkRows responds with a page of rows in their original order, or with all rows as CSV.
func (s *bulkHandler) listBulkRows(c *gin.Context, app caller) error {
	p := models.Problems{}
	status := models.BulkRowStatus(c.Query("status"))
	if _, present := c.GetQuery("status"); present && !status.Valid() {
		p.Add("status", "must be pending, sent, failed or cancelled")
	}
	list := "rows of " + checkedID(c, "id").String()
	after, size := cursorQuery(c, p, app, list).Number, sizeQuery(c, p)
	if err := p.Err(); err != nil {
		return err
	}
	b, err := s.callerBulkSend(c, app)
	if err != nil {
		return err
	}
	if prefersCSV(c) {
		rows, err := s.store.BulkRows(c.Request.Context(), b.ID, status, 0, models.MaxBulkRows)
		if err != nil {
			return err
		}
		return writeBulkTable(c, rows)
	}
	rows, err := s.store.BulkRows(c.Request.Context(), b.ID, status, int(after), size+1)
	if err != nil {
		return err
	}
	rows, next := cutPage(rows, size, app, list, func(r *models.BulkRow) listPosition { return listPosition{Number: int64(r.Row)} })
	return respondCursorList(c, viewEach(rows, viewBulkRow), next)
}

func writeBulkTable(c *gin.Context, rows []*models.BulkRow) error {
	table := [][]string{{"row", "externalId", "status", "envelopeId", "errorCode", "error", "settledAt"}}
	for _, r := range rows {
		envelope, settled := "", ""
		if r.EnvelopeID != nil {
			envelope = r.EnvelopeID.String()
		}
		if r.SettledAt != nil {
			settled = r.SettledAt.UTC().Format(time.RFC3339)
		}
		table = append(table, []string{
			strconv.Itoa(r.Row), csvCell(models.Deref(r.ExternalID, "")), string(r.Status), envelope, r.ErrorCode, csvCell(strings.TrimSpace(r.Error)), settled,
		})
	}
	return writeCSV(c, table)
}
