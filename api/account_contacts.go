package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/nyaruka/phonenumbers"

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

// listContacts responds with a page of contacts, sorted by name. The X-Total-Count header contains the number of
// matches, and the Link header contains the URL of the next page (RFC 8288).
func (s *contactHandler) listContacts(c *gin.Context, app caller) error {
	p := models.Problems{}
	search := searchText(c, p)
	page, size := query(c, p, "page", 1, 1_000_000), query(c, p, "pageSize", store.MaxContactPage, store.MaxContactPage)
	if err := p.Err(); err != nil {
		return err
	}
	found, total, err := s.store.Contacts(c.Request.Context(), app.ID, search, page, size)
	if err != nil {
		return err
	}
	c.Header("X-Total-Count", strconv.Itoa(total))
	if page*size < total {
		next := url.Values{"page": {strconv.Itoa(page + 1)}, "pageSize": {strconv.Itoa(size)}}
		if search != "" {
			next.Set("search", search)
		}
		c.Header("Link", "<"+s.baseURL+"/v1/console/contacts?"+next.Encode()+`>; rel="next"`)
	}
	return respond(c, http.StatusOK, views(found, viewContact))
}

// saveContact creates the contact, or updates the existing one with the same address. A phone number absent from the
// request keeps its value, and null removes it.
func (s *contactHandler) saveContact(c *gin.Context, app caller, o *object) error {
	in := models.SignerInput{
		Name: plaintext.Visible(o.str("name")), Email: strings.TrimSpace(o.str("email")), Phone: phone(o), RoutingOrder: 1, AuthMethod: models.AuthNone,
	}
	in.Check(o.p, "") // a contact must be a valid signer
	if err := o.err(); err != nil {
		return err
	}
	contact := models.Contact{AppID: app.ID, Name: in.Name, Email: in.Email, Phone: in.Phone}
	return command(s.subject, c, func(st contactStore) (*models.Contact, error) {
		return st.SaveContact(c.Request.Context(), contact, !o.has("phone"))
	}, asJSON(http.StatusOK, viewContact))
}

func (s *contactHandler) deleteContact(c *gin.Context, app caller) error {
	if err := s.store.DeleteContact(c.Request.Context(), app.ID, checkedID(c, "id")); err != nil {
		return err
	}
	return respondNoContent(c)
}

// usage responds with the app's usage of its plan in the current month.
func (s *contactHandler) usage(c *gin.Context, app caller) error {
	used, err := s.store.EnvelopesUsed(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	reserved, err := s.store.EnvelopesReserved(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	limits := s.store.PlanLimits(app.Plan)
	start := store.PeriodStart(s.now())
	return respond(c, http.StatusOK, gin.H{
		"plan": app.Plan, "periodStart": start.Format(time.DateOnly), "periodEnd": start.AddDate(0, 1, -1).Format(time.DateOnly),
		"envelopesUsed": used, "envelopesReserved": reserved, "envelopesLimit": nilIfZero(limits.EnvelopesPerMonth), "overageAllowed": limits.Overage,
	})
}

// phone returns an optional phone number, normalized to E.164 if possible.
func phone(o *object) *string {
	text := o.optStr("phone")
	if text == nil || strings.TrimSpace(*text) == "" {
		return nil
	}
	if n, err := phonenumbers.Parse(*text, ""); err == nil && phonenumbers.IsPossibleNumber(n) {
		e164 := phonenumbers.Format(n, phonenumbers.E164)
		return &e164
	}
	return text
}
