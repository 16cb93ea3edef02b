package api

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

// searchEnvelopes responds with a page of envelopes, newest first, of one tenant or of all tenants.
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
	found, next := cutPage(found, f.Size, app, list, envelopePosition(f))
	ids := viewEach(found, func(e *models.Envelope) uuid.UUID { return e.ID })
	undelivered, err1 := s.store.Undelivered(c.Request.Context(), ids)
	last, err2 := s.store.LastEvents(c.Request.Context(), ids)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	var users []uuid.UUID
	for _, e := range found {
		users = appendUsers(users, e, models.Deref(last[e.ID], models.Event{}))
	}
	names, err := s.store.UserNames(c.Request.Context(), app.ID, users)
	if err != nil {
		return err
	}
	data := viewEach(found, func(e *models.Envelope) consoleRow {
		row := consoleRow{envelopeView: listedEnvelope(e), Undelivered: append([]uuid.UUID{}, undelivered[e.ID]...)}
		if ev := last[e.ID]; ev != nil {
			row.LastActivity = &activityView{ev.Name, ev.Timestamp.UTC(), ev.Actor, ev.Detail}
		}
		row.OwnerID, row.Users = e.OwnerID, viewUsers(names, appendUsers(nil, e, models.Deref(last[e.ID], models.Event{})))
		return row
	})
	return respondCursorList(c, data, next)
}

// consoleRow represents an envelope in the console's list.
type consoleRow struct {
	envelopeView
	ownerView

	Undelivered  []uuid.UUID   `json:"undelivered"`  // signers whose last email was permanently rejected
	LastActivity *activityView `json:"lastActivity"` // null if the envelope is archived
}

// ownerView lists the console users involved in an envelope.
type ownerView struct {
	OwnerID *uuid.UUID `json:"ownerId"` // null if the envelope was sent by an application
	Users   []userName `json:"users"`   // the owner, and the users who caused the displayed events
}

type userName struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// activityView is an audit trail event without its hashes.
type activityView struct {
	Event     models.EventName `json:"event"`
	Timestamp time.Time        `json:"timestamp"`
	Actor     string           `json:"actor"`
	Detail    models.Detail    `json:"detail"`
}

// appendUsers appends the IDs of an envelope's owner and of the console users who caused its events, without
// duplicates.
func appendUsers(to []uuid.UUID, e *models.Envelope, log ...models.Event) []uuid.UUID {
	if e.OwnerID != nil && !slices.Contains(to, *e.OwnerID) {
		to = append(to, *e.OwnerID)
	}
	for i := range log {
		if id := (models.ActionContext{Actor: log[i].Actor}).User(); id != nil && !slices.Contains(to, *id) {
			to = append(to, *id)
		}
	}
	return to
}

// viewUsers returns the users with their names. It omits users who no longer exist.
func viewUsers(names map[uuid.UUID]string, ids []uuid.UUID) []userName {
	out := []userName{}
	for _, id := range ids {
		if name, known := names[id]; known {
			out = append(out, userName{id, name})
		}
	}
	return out
}

type undeliveredEmailView struct {
	SignerID  uuid.UUID       `json:"signerId"`
	Kind      models.MailKind `json:"kind"`
	Attempts  int             `json:"attempts"`
	CreatedAt time.Time       `json:"createdAt"`
	FailedAt  *time.Time      `json:"failedAt"`
	Error     string          `json:"error"`
}

type mailView struct {
	undeliveredEmailView

	SentAt *time.Time `json:"sentAt"`
}

func viewUndeliveredEmail(m *models.Mail) undeliveredEmailView {
	return undeliveredEmailView{m.SignerID, m.Kind, m.Attempts, m.CreatedAt.UTC(), utcPtr(m.FailedAt), m.Error}
}

func viewMail(m *models.Mail) mailView { return mailView{viewUndeliveredEmail(m), utcPtr(m.SentAt)} }

// inspectEnvelope responds with an envelope and its history: the audit trail, the emails, and the newest webhook
// deliveries.
func (s *envelopeHandler) inspectEnvelope(c *gin.Context, app caller, e *models.Envelope) error {
	ctx := c.Request.Context()
	log, err1 := s.store.AuditEvents(ctx, e)
	mails, err2 := s.store.Mails(ctx, e.ID)
	deliveries, _, err3 := s.store.Deliveries(ctx, store.DeliveryFilter{App: app.ID, Envelope: e.ID, Page: 1, Size: 100})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	users := appendUsers(nil, e, log...)
	names, err1 := s.store.DeliveryContext(ctx, app.ID, deliveries)
	people, err2 := s.store.UserNames(ctx, app.ID, users)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	view := viewEnvelope(e, log)
	showFieldWarnings(&view, e, s.coveringFields(ctx, e))
	return respond(c, http.StatusOK, struct {
		envelopeView
		ownerView

		Mails      []mailView     `json:"mails"`
		Deliveries []deliveryView `json:"deliveries"`
	}{view, ownerView{e.OwnerID, viewUsers(people, users)}, views(mails, viewMail), views(deliveries, viewDeliveryIn(names))})
}
