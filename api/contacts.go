package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/store"
)

type contactView struct {
	ID        uuid.UUID `json:"id"`
	AppID     uuid.UUID `json:"appId"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	Phone     *string   `json:"phone"`
	CreatedAt time.Time `json:"createdAt"`
}

func viewContact(v *models.Contact) contactView {
	return contactView{ID: v.ID, AppID: v.AppID, Name: v.Name, Email: v.Email, Phone: v.Phone, CreatedAt: v.CreatedAt.UTC()}
}

// listContacts answers a page of contacts by name. X-Total-Count says how many
// match, and Link where the next page is (RFC 8288).
func (s *Server) listContacts(c *gin.Context, app caller) error {
	p := models.Problems{}
	search := searchText(c, p)
	page, size := query(c, p, "page", 1, 1_000_000), query(c, p, "pageSize", store.MaxContactPage, store.MaxContactPage)
	if err := p.Err(); err != nil {
		return err
	}
	found, total, err := s.Store.Contacts(c.Request.Context(), app.ID, search, page, size)
	if err != nil {
		return err
	}
	c.Header("X-Total-Count", strconv.Itoa(total))
	if page*size < total {
		next := url.Values{"page": {strconv.Itoa(page + 1)}, "pageSize": {strconv.Itoa(size)}}
		if search != "" {
			next.Set("search", search)
		}
		c.Header("Link", "<"+s.BaseURL+"/v1/console/contacts?"+next.Encode()+`>; rel="next"`)
	}
	out := make([]contactView, 0, len(found))
	for i := range found {
		out = append(out, viewContact(&found[i]))
	}
	c.JSON(http.StatusOK, out)
	return nil
}

// saveContact creates the contact, or updates the one with that address. A phone
// number that the request does not mention stays; null removes it.
func (s *Server) saveContact(c *gin.Context, app caller) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	in := models.SignerInput{
		Name: plaintext.Visible(o.str("name")), Email: strings.TrimSpace(o.str("email")), Phone: phone(o), RoutingOrder: 1, AuthMethod: models.AuthNone,
	}
	in.Check(o.p, "") // a contact is somebody who can be a signer
	if err := o.err(); err != nil {
		return err
	}
	promiseMade(c, http.StatusOK, func(v *models.Contact) any { return viewContact(v) })
	v, err := s.Store.SaveContact(c.Request.Context(), models.Contact{AppID: app.ID, Name: in.Name, Email: in.Email, Phone: in.Phone}, !o.has("phone"))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, viewContact(v))
	return nil
}

func (s *Server) deleteContact(c *gin.Context, app caller) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	if err := s.Store.DeleteContact(c.Request.Context(), app.ID, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// usage is what the app has used of its plan in the current month.
func (s *Server) usage(c *gin.Context, app caller) error {
	used, err := s.Store.Used(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	limits := s.Store.PlanLimits(app.Plan)
	start := store.PeriodStart(s.Now())
	var limit *int
	if limits.EnvelopesPerMonth > 0 {
		limit = &limits.EnvelopesPerMonth
	}
	c.JSON(http.StatusOK, gin.H{
		"plan": app.Plan, "periodStart": start.Format(time.DateOnly), "periodEnd": start.AddDate(0, 1, -1).Format(time.DateOnly),
		"envelopesUsed": used, "envelopesLimit": limit, "overageAllowed": limits.Overage,
	})
	return nil
}

type settingsView struct {
	DefaultExpiryDays     *int           `json:"defaultExpiryDays"`
	ReminderIntervalHours *int           `json:"reminderIntervalHours"`
	RetentionDays         *int           `json:"retentionDays"`
	FieldOrigin           *models.Origin `json:"fieldOrigin"`
	SenderName            *string        `json:"senderName"`
	Language              *string        `json:"language"`
	ReplyTo               *string        `json:"replyTo"`
	NotifyEmail           *string        `json:"notifyEmail"`
}

func viewSettings(v models.Settings) settingsView {
	return settingsView{v.DefaultExpiryDays, v.ReminderIntervalHours, v.RetentionDays, v.FieldOrigin, v.SenderName, v.Language, v.ReplyTo, v.NotifyEmail}
}

func tenantQuery(p models.Problems, tenant string) {
	if tenant != "" {
		models.CheckText(p, "tenantId", tenant, 1, 255)
	}
}

// settingsOf reads the tenant that settings are asked for; without one it is
// the app itself, which a client of some tenants only may not change.
func settingsOf(c *gin.Context, app caller) (string, error) {
	tenant := c.Query("tenantId")
	p := models.Problems{}
	tenantQuery(p, tenant)
	if err := p.Err(); err != nil {
		return "", err
	}
	return tenant, app.MayUse(tenant)
}

func (s *Server) getSettings(c *gin.Context, app caller) error {
	tenant, err := settingsOf(c, app)
	if err != nil {
		return err
	}
	return s.showSettings(c, app, tenant)
}

// showSettings renders the tenant's own choices and what holds in the end.
func (s *Server) showSettings(c *gin.Context, app caller, tenant string) error {
	own, effective, err := s.Store.Settings(c.Request.Context(), app.ID, tenant)
	if err != nil {
		return err
	}
	effective = effective.Over(s.defaults(app))
	c.JSON(http.StatusOK, gin.H{"tenantId": tenant, "own": viewSettings(own), "effective": viewSettings(effective)})
	return nil
}

// putSettings replaces the tenant's choices; what is null or absent is left to
// the app, and then to the service.
func (s *Server) putSettings(c *gin.Context, app caller) error {
	tenant, err := settingsOf(c, app)
	if err != nil {
		return err
	}
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	v := models.Settings{
		AppID: app.ID, TenantID: tenant, DefaultExpiryDays: o.optInt("defaultExpiryDays"), ReminderIntervalHours: o.optInt("reminderIntervalHours"),
		RetentionDays: o.optInt("retentionDays"), SenderName: visible(o.optStr("senderName")),
		Language: o.optStr("language"), ReplyTo: o.optStr("replyTo"), NotifyEmail: o.optStr("notifyEmail"),
	}
	if text := o.optStr("fieldOrigin"); text != nil {
		origin := models.Origin(*text)
		v.FieldOrigin = &origin
	}
	v.Check(o.p)
	if err := o.err(); err != nil {
		return err
	}
	if err := s.Store.SaveSettings(c.Request.Context(), v); err != nil {
		return err
	}
	return s.showSettings(c, app, tenant)
}
