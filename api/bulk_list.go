package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

// bulkRowView is a row of a bulk send as the interface shows it.
type bulkRowView struct {
	Row        int                  `json:"row"`
	ExternalID *string              `json:"externalId"`
	Status     models.BulkRowStatus `json:"status"`
	EnvelopeID *uuid.UUID           `json:"envelopeId"`
	Error      *bulkErrorView       `json:"error"` // null unless it failed
	SettledAt  *time.Time           `json:"settledAt"`
}

// bulkErrorView is why a row failed, as the request for one envelope would have been refused.
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

// listBulkSends answers a page of the bulk sends of all tenants, or of one.
func (s *bulkHandler) listBulkSends(c *gin.Context, app caller) error {
	p := models.Problems{}
	tenant := c.Query("tenantId")
	page, size := pageQuery(c, p)
	switch _, given := c.GetQuery("tenantId"); {
	case tenant == "" && given:
		p.Add("tenantId", "must not be empty")
	case tenant == "" && len(app.Tenants) > 0:
		p.Add("tenantId", "is required for a client that may act for some tenants only")
	}
	if err := checkTenantQuery(p, app, tenant); err != nil {
		return err
	}
	found, total, err := s.store.BulkSends(c.Request.Context(), app.ID, tenant, page, size)
	if err != nil {
		return err
	}
	return answerPage(c, viewEach(found, viewBulkSend), total, page, size)
}

// listBulkRows answers a page of the rows, or all of them as a table.
func (s *bulkHandler) listBulkRows(c *gin.Context, app caller) error {
	p := models.Problems{}
	status := models.BulkRowStatus(c.Query("status"))
	if _, given := c.GetQuery("status"); given && !status.Valid() {
		p.Add("status", "must be pending, sent, failed or cancelled")
	}
	page, size := query(c, p, "page", 1, models.MaxBulkRows), query(c, p, "pageSize", 20, 100)
	if err := p.Err(); err != nil {
		return err
	}
	b, err := s.callerBulkSend(c, app)
	if err != nil {
		return err
	}
	table := wantsCSV(c)
	if table {
		page, size = 1, models.MaxBulkRows
	}
	rows, total, err := s.store.BulkRows(c.Request.Context(), b.ID, status, page, size)
	if err != nil {
		return err
	}
	if table {
		return writeBulkTable(c, rows)
	}
	return answerPage(c, viewEach(rows, viewBulkRow), total, page, size)
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
