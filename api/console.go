package api

import (
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

type userView struct {
	ID        uuid.UUID   `json:"id"`
	Email     string      `json:"email"`
	Name      string      `json:"name"`
	Role      models.Role `json:"role"`
	CreatedAt time.Time   `json:"createdAt"`
}

func viewUser(u *models.ConsoleUser) userView {
	return userView{ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, CreatedAt: u.CreatedAt.UTC()}
}

type appView struct {
	ID      uuid.UUID   `json:"id"`
	Name    string      `json:"name"`
	Plan    models.Plan `json:"plan"`
	Tenants []string    `json:"tenants"` // empty: all
}

func viewApp(a *models.App) appView {
	return appView{ID: a.ID, Name: a.Name, Plan: a.Plan, Tenants: append([]string{}, a.Tenants...)}
}

func (s *Server) listUsers(c *gin.Context, app caller) error {
	users, err := s.Store.Users(c.Request.Context(), app.ID)
	if err != nil {
		return err
	}
	out := make([]userView, 0, len(users))
	for i := range users {
		out = append(out, viewUser(&users[i]))
	}
	c.JSON(http.StatusOK, out)
	return nil
}

func (s *Server) createUser(c *gin.Context, app caller) error {
	o, err := readObject(c, maxJSON, false)
	if err != nil {
		return err
	}
	email, name, password, role := o.str("email"), o.str("name"), o.str("password"), o.str("role")
	if err := o.err(); err != nil {
		return err
	}
	promiseMade(c, http.StatusCreated, func(u *models.ConsoleUser) any { return viewUser(u) })
	u, err := s.Store.CreateUser(c.Request.Context(), app.ID, email, name, password, models.Role(role))
	if err != nil {
		return err
	}
	c.JSON(http.StatusCreated, viewUser(u))
	return nil
}

func (s *Server) disableUser(c *gin.Context, app caller) error {
	id, err := pathID(c, "id")
	if err != nil {
		return err
	}
	if err := s.Store.DisableUser(c.Request.Context(), app.ID, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// maxSearch bounds a search text, in characters.
const maxSearch = 200

func searchText(c *gin.Context, p models.Problems) string {
	text := c.Query("search")
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxSearch || text != clean(text) {
		p.Add("search", "must have at most %d characters, none of them control characters", maxSearch)
	}
	return text
}

// searchEnvelopes lists the envelopes of all tenants, or of one.
func (s *Server) searchEnvelopes(c *gin.Context, app caller) error {
	p := models.Problems{}
	f := store.Filter{
		App: app.ID, Tenant: c.Query("tenantId"), Search: searchText(c, p),
		Page: query(c, p, "page", 1, 1_000_000), Size: query(c, p, "pageSize", 20, 100),
	}
	f.Status = statusQuery(c, p)
	if f.Tenant == "" && len(app.Tenants) > 0 {
		p.Add("tenantId", "is required for a client that may act for some tenants only")
	}
	tenantQuery(p, f.Tenant)
	if err := p.Err(); err != nil {
		return err
	}
	if f.Tenant != "" {
		if err := app.MayUse(f.Tenant); err != nil {
			return err
		}
	}
	return s.list(c, f)
}

type mailView struct {
	SignerID  uuid.UUID       `json:"signerId"`
	Kind      models.MailKind `json:"kind"`
	Attempts  int             `json:"attempts"`
	CreatedAt time.Time       `json:"createdAt"`
	SentAt    *time.Time      `json:"sentAt"`
	FailedAt  *time.Time      `json:"failedAt"`
	Error     string          `json:"error"`
}

// inspectEnvelope is the envelope with all that happened to it: the audit
// trail, the mails, and the newest deliveries to webhooks.
func (s *Server) inspectEnvelope(c *gin.Context, app caller) error {
	e, err := s.ownEnvelope(c, app)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	log, err1 := s.Store.AuditEvents(ctx, e)
	mails, err2 := s.Store.Mails(ctx, e.ID)
	deliveries, _, err3 := s.Store.Deliveries(ctx, store.DeliveryFilter{App: app.ID, Envelope: e.ID, Page: 1, Size: 100})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	out := struct {
		envelopeView

		Mails      []mailView     `json:"mails"`
		Deliveries []deliveryView `json:"deliveries"`
	}{viewEnvelope(e, log), []mailView{}, []deliveryView{}}
	for _, m := range mails {
		out.Mails = append(out.Mails, mailView{
			SignerID: m.SignerID, Kind: m.Kind, Attempts: m.Attempts, CreatedAt: m.CreatedAt.UTC(), SentAt: stamp(m.SentAt),
			FailedAt: stamp(m.FailedAt), Error: m.Error,
		})
	}
	for i := range deliveries {
		out.Deliveries = append(out.Deliveries, viewDelivery(&deliveries[i]))
	}
	c.JSON(http.StatusOK, out)
	return nil
}

// resendInvitation gives the signer a new link, which goes out by mail and is
// shown to nobody else. The old one ends.
func (s *Server) resendInvitation(c *gin.Context, app caller) error {
	signer, err := pathID(c, "signerId")
	if err != nil {
		return err
	}
	var invited *models.Signer
	promise(c, http.StatusAccepted, func() any { return viewSigner(invited) })
	_, err = s.change(c, app, func(e *models.Envelope, act models.Act) error {
		invited = e.Signer(signer)
		return e.Reinvite(act, signer)
	})
	if err != nil {
		return err
	}
	c.JSON(http.StatusAccepted, viewSigner(invited))
	return nil
}
