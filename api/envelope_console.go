package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// searchEnvelopes answers with a page of the envelopes of all tenants, or of one, newest first.
func (s *envelopeHandler) searchEnvelopes(c *gin.Context, app caller) error {
	p := models.Problems{}
	f := store.EnvelopeFilter{
		App: app.ID, Tenant: c.Query("tenantId"), Search: searchText(c, p),
		CreatedAfter: queryTime(c, p, "createdAfter"), CreatedBefore: queryTime(c, p, "createdBefore"), Undelivered: queryFlag(c, p, "undelivered"),
		Status: statusQuery(c, p), Label: labelQuery(c, p), Inbox: inboxQuery(c, p), Page: 1, Size: sizeQuery(c, p), Peek: true,
	}
	list := "console " + envelopeListOf(f)
	f.After = afterEnvelope(cursorQuery(c, p, app, list))
	if f.Tenant == "" && len(app.Tenants) > 0 {
		p.Add("tenantId", "is required for a client that is restricted to some tenants")
	}
	if err := checkTenantQuery(p, app, f.Tenant); err != nil {
		return err
	}
	found, _, err := s.store.Envelopes(c.Request.Context(), f)
	if err != nil {
		return err
	}
	found, next := cutPage(found, f.Size, app, list, placeOfEnvelope(f))
	ids := make([]uuid.UUID, len(found))
	for i, e := range found {
		ids[i] = e.ID
	}
	undelivered, err := s.store.Undelivered(c.Request.Context(), ids)
	if err != nil {
		return err
	}
	data := viewEach(found, func(e *models.Envelope) consoleRow {
		return consoleRow{listedEnvelope(e), append([]uuid.UUID{}, undelivered[e.ID]...)}
	})
	return answerCursorList(c, data, next)
}

// consoleRow is an envelope in the console's list.
type consoleRow struct {
	envelopeView

	Undelivered []uuid.UUID `json:"undelivered"` // signers whose last email was permanently rejected
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

func viewMail(m *models.Mail) mailView {
	return mailView{m.SignerID, m.Kind, m.Attempts, m.CreatedAt.UTC(), utcPtr(m.SentAt), utcPtr(m.FailedAt), m.Error}
}

// inspectEnvelope is the envelope with all that happened to it: the audit
// trail, the mails, and the newest deliveries to webhooks.
func (s *envelopeHandler) inspectEnvelope(c *gin.Context, app caller, e *models.Envelope) error {
	ctx := c.Request.Context()
	log, err1 := s.store.AuditEvents(ctx, e)
	mails, err2 := s.store.Mails(ctx, e.ID)
	deliveries, _, err3 := s.store.Deliveries(ctx, store.DeliveryFilter{App: app.ID, Envelope: e.ID, Page: 1, Size: 100})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	names, err := s.store.DeliveryContext(ctx, app.ID, deliveries)
	if err != nil {
		return err
	}
	view := viewEnvelope(e, log)
	showFieldWarnings(&view, e, s.coveringFields(ctx, e))
	return answer(c, http.StatusOK, struct {
		envelopeView

		Mails      []mailView     `json:"mails"`
		Deliveries []deliveryView `json:"deliveries"`
	}{view, views(mails, viewMail), views(deliveries, viewDeliveryIn(names))})
}
