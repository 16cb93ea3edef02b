package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

// bulkSendView represents a bulk send in API responses.
type bulkSendView struct {
	ID              uuid.UUID         `json:"id"`
	TenantID        string            `json:"tenantId"`
	TemplateID      uuid.UUID         `json:"templateId"`
	TemplateVersion int               `json:"templateVersion"`
	Name            string            `json:"name"`
	Status          models.BulkStatus `json:"status"`
	Total           int               `json:"total"`
	Counts          models.BulkCounts `json:"counts"`
	PerMinute       *int              `json:"perMinute"` // null if there is no limit
	CreatedBy       string            `json:"createdBy"`
	CreatedAt       time.Time         `json:"createdAt"`
	CompletedAt     *time.Time        `json:"completedAt"`
}

func viewBulkSend(b *store.BulkSendWithCounts) bulkSendView {
	return bulkSendView{
		ID: b.ID, TenantID: b.TenantID, TemplateID: b.TemplateID, TemplateVersion: b.TemplateVersion, Name: b.Name, Status: b.Status,
		Total: b.Total, Counts: b.Counts, PerMinute: nilIfZero(b.PerMinute), CreatedBy: b.CreatedBy, CreatedAt: b.CreatedAt.UTC(),
		CompletedAt: utcPtr(b.CompletedAt),
	}
}

// createBulkSend creates a bulk send from JSON rows, or from a CSV table with all other members in the query string. It
// validates every row before it stores anything.
func (s *bulkHandler) createBulkSend(c *gin.Context, app caller) error {
	body, err := bodyOf(c).receive(c.Request.Body) // read before the concurrency limit is acquired, because a client may send the body slowly
	if err != nil {
		return err
	}
	size, err := body.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	release, err := s.limit.acquire(c.Request.Context(), app.ID, size, cmp.Or(s.queueWait, bulkWait))
	if err != nil {
		return err
	}
	defer release()
	var (
		o      *object
		rows   bulkRows
		faults bulkFaults
	)
	for name := range c.Request.URL.Query() {
		if err := unknownBulkMember(name); err != nil {
			return err
		}
	}
	if t, _, err := mime.ParseMediaType(c.ContentType()); err == nil && t == "text/csv" {
		o = bulkQuery(c)
		if rows, err = newBulkTable(body, &faults); err != nil {
			return err
		}
	} else if err == nil && t != "application/json" && t != "" {
		return models.Reject(models.KindInvalid, "content_type", "The body must be application/json or text/csv, not %s.", t)
	} else if q := bulkQuery(c); len(q.m) > 0 {
		for name := range q.m {
			q.bad(name, "must be in the body if the rows are JSON")
		}
		return q.err()
	} else if o, rows, err = readBulkObject(body); err != nil {
		return err
	} else if !o.has("rows") {
		o.bad("rows", "is required")
	}
	b, of, err := s.bulkInput(c, app, o)
	if err != nil {
		return err
	}
	checked, err := s.checkBulkRows(c, app, b, of, rows, &faults)
	if err != nil {
		return err
	}
	if o.flag("dryRun", false) {
		return respond(c, http.StatusOK, gin.H{"total": b.Total, "faults": []bulkFault{}})
	}
	return command(s.subject, c, func(st bulkStore) (*models.BulkSend, error) {
		return b, st.CreateBulkSend(c.Request.Context(), b, checked)
	}, func(made *models.BulkSend) (*store.StoredResponse, error) {
		r, err := inJSON(http.StatusAccepted, gin.H{"id": made.ID, "status": made.Status, "total": made.Total})
		return s.withLocation(r, "/v1/bulk-sends/"+made.ID.String()), err
	})
}

// bulkMembers lists the members of a bulk send, except for its rows.
var bulkMembers = []string{"templateId", "templateVersion", "tenantId", "name", "createdBy", "perMinute", "dryRun"}

// bulkRowMembers lists the members of a row. Unknown members are rejected, because a row with "value" instead of
// "values" would create an envelope without values.
var bulkRowMembers = []string{"externalId", "signers", "values", "variables"}

// unknownBulkMember returns an error if a bulk send has no member with the given name. Other endpoints ignore unknown
// members, but a bulk send with "dryrun" instead of "dryRun" would send thousands of emails.
func unknownBulkMember(name string) error {
	if slices.Contains(bulkMembers, name) {
		return nil
	}
	return models.InvalidField(printableName(name), "is not a member of a bulk send; the members are %s", strings.Join(bulkMembers, ", "))
}

// printableName returns a member name from a request in a form that is safe to include in a response.
func printableName(name string) string { return plaintext.Cut(plaintext.Strip(name), 60) }

// bulkQuery reads the members of a bulk send from the query string of a request whose body is a CSV table.
func bulkQuery(c *gin.Context) *object {
	o := &object{m: make(map[string]any), p: models.Problems{}}
	for _, name := range []string{"templateId", "tenantId", "name", "createdBy"} {
		if text, present := c.GetQuery(name); present {
			o.m[name] = text
		}
	}
	for _, name := range []string{"templateVersion", "perMinute"} {
		if text, present := c.GetQuery(name); present {
			o.m[name] = jsonNumber(text)
			if _, err := strconv.Atoi(text); err != nil {
				o.m[name] = text
			}
		}
	}
	if text, present := c.GetQuery("dryRun"); present {
		o.m["dryRun"] = boolOrText(text)
	}
	return o
}

// bulkInput reads the bulk send without its rows, and loads its version of the template.
func (s *bulkHandler) bulkInput(c *gin.Context, app caller, o *object) (*models.BulkSend, *models.LoadedTemplate, error) {
	b := &models.BulkSend{
		ID: s.newID(), AppID: app.ID, TenantID: o.str("tenantId"), TemplateID: o.id("templateId"), Status: models.BulkQueued,
		Name: plaintext.Visible(o.text("name")), Actor: app.actor(), CreatedBy: createdBy(o, app.ID.String()), CreatedAt: s.now().UTC().Truncate(time.Microsecond),
	}
	if n := o.optInt("perMinute"); n != nil {
		if b.PerMinute = *n; *n == 0 {
			b.PerMinute = -1 // makes Check reject 0, because only an absent member means no limit
		}
	}
	version := templateVersion(o, "must be at least 1")
	o.flag("dryRun", false)
	if len(o.p) == 0 {
		b.Check(o.p)
	}
	if err := o.err(); err != nil {
		return nil, nil, err
	}
	if err := app.CheckTenant(b.TenantID); err != nil {
		return nil, nil, err
	}
	of, err := s.store.Template(c.Request.Context(), app.ID, b.TemplateID, version)
	switch {
	case isNotFound(err):
		return nil, nil, models.InvalidField("templateId", "must refer to an existing version of a template of this app")
	case err != nil:
		return nil, nil, err
	case of.ArchivedAt != nil:
		return nil, nil, models.InvalidField("templateId", "refers to an archived template")
	case of.TenantID != "" && of.TenantID != b.TenantID:
		return nil, nil, models.InvalidField("templateId", "refers to another tenant's template")
	}
	b.TemplateVersion = of.Of.Number
	return b, of, nil
}

// checkBulkRows builds the envelope of each row without storing it. It returns the rows, or an error that contains the
// problems of all rows.
func (s *bulkHandler) checkBulkRows(c *gin.Context, app caller, b *models.BulkSend, of *models.LoadedTemplate, rows bulkRows, faults *bulkFaults) ([]*models.BulkRow, error) {
	chosen, err := s.settings.effectiveSettings(c, app, b.TenantID)
	if err != nil {
		return nil, err
	}
	act, limits := s.actionContext(c, app.actor()), s.store.PlanLimits(app.Plan)
	var out, clean []*models.BulkRow // all rows, and the rows that are individually valid
	ids := make(map[string]int)
	for n := 1; ; n++ {
		m, err := rows.next(n, faults)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n > models.MaxBulkRows {
			return nil, models.InvalidField("rows", "must have at most %d items", models.MaxBulkRows)
		}
		o := &object{m: m, p: models.Problems{}}
		r := &models.BulkRow{ID: s.newID(), Row: n, ExternalID: o.strippedText("externalId"), Status: models.BulkRowPending}
		if err := r.SetData(s.bulkRowData(o, chosen)); err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !slices.Contains(bulkRowMembers, name) {
				o.bad(printableName(name), "is not a member of a row; the members are %s", strings.Join(bulkRowMembers, ", "))
			}
		}
		if id := r.ExternalID; id != nil {
			if first, twice := ids[*id]; twice {
				o.bad("externalId", "also occurs in row %d", first)
			} else {
				ids[*id] = n
			}
		}
		if len(o.p) == 0 {
			_, err = b.Envelope(act, of, r, limits.Documents)
			if err := addRejection(o.p, err); err != nil {
				return nil, err
			}
		}
		faults.addProblems(n, o.p, func(path string) string { return rows.column(path, m) })
		out = append(out, r)
		if len(o.p) == 0 {
			clean = append(clean, r)
		}
	}
	b.Total = len(out)
	if b.Total == 0 {
		return nil, models.InvalidField("rows", "must have at least 1 item(s)")
	}
	if err := s.checkExternalIDs(c.Request.Context(), b, clean, faults); err != nil {
		return nil, err
	}
	return out, faults.err(b.Total)
}

// bulkRowData reads the content of the envelope for a row.
func (s *bulkHandler) bulkRowData(o *object, chosen models.Settings) models.BulkRowData {
	d := models.BulkRowData{Values: o.fieldTexts("values"), Variables: o.plainTexts("variables"), DefaultExpiryDays: chosen.DefaultExpiryDays}
	for _, so := range o.objects("signers", 1, models.MaxSigners) {
		d.Signers = append(d.Signers, s.templates.templateSigner(so))
	}
	return d
}

// addRejection adds the problems in err to p if err is a rejection. It returns any other error.
func addRejection(p models.Problems, err error) error {
	rejected, ok := errors.AsType[*models.Error](err)
	switch {
	case err == nil:
	case !ok || !models.IsRejection(err):
		return fmt.Errorf("check a row: %w", err)
	case len(rejected.Fields) == 0:
		p.Add("", "%s", rejected.Message)
	default:
		for path, texts := range rejected.Fields {
			p[path] = append(p[path], texts...)
		}
	}
	return nil
}

// checkExternalIDs records a fault for each row whose external ID is already used by an envelope.
func (s *bulkHandler) checkExternalIDs(ctx context.Context, b *models.BulkSend, rows []*models.BulkRow, faults *bulkFaults) error {
	var ids []string
	for _, r := range rows {
		if r.ExternalID != nil {
			ids = append(ids, *r.ExternalID)
		}
	}
	taken, err := s.store.ExternalIDsInUse(ctx, b.AppID, b.TenantID, ids)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.ExternalID != nil && taken[*r.ExternalID] {
			faults.add(r.Row, columnExternalID, "is already used by another envelope")
		}
	}
	return nil
}

// callerBulkSend returns the bulk send whose ID is in the path, if it belongs to the caller.
func (s *bulkHandler) callerBulkSend(c *gin.Context, app caller) (*store.BulkSendWithCounts, error) {
	b, err := s.store.BulkSend(c.Request.Context(), app.ID, checkedID(c, "id"))
	if err == nil && app.CheckTenant(b.TenantID) != nil {
		err = models.ErrNotFound
	}
	return b, err
}

func (s *bulkHandler) getBulkSend(c *gin.Context, app caller) error {
	b, err := s.callerBulkSend(c, app)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, viewBulkSend(b))
}

// changeBulkSend returns a handler that applies an action to a bulk send.
func (s *bulkHandler) changeBulkSend(action models.BulkAction) func(*gin.Context, caller) error {
	return func(c *gin.Context, app caller) error {
		return command(s.subject, c, func(st bulkStore) (*store.BulkSendWithCounts, error) {
			return st.ChangeBulkSend(c.Request.Context(), app.ID, checkedID(c, "id"), action, func(b *models.BulkSend) error {
				if app.CheckTenant(b.TenantID) != nil {
					return models.ErrNotFound
				}
				return nil
			})
		}, asJSON(http.StatusOK, viewBulkSend))
	}
}
