package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// ProblemFilter selects the problems of an app.
type ProblemFilter struct {
	App     uuid.UUID
	Tenants []string // none for all tenants
	Limit   int      // maximum number of each kind
}

// EnvelopeProblem is an envelope that is waiting for the service rather than for a person.
type EnvelopeProblem struct {
	ID             uuid.UUID
	TenantID       string
	Status         models.Status
	Subject        *string
	SealingProblem *models.SealingProblem // reason why the documents cannot be sealed; nil if unknown
	// Since is the time at which progress was expected. It is the deadline of an open envelope, or the last signature
	// of an envelope that is being sealed.
	Since time.Time
}

// EnvelopeProblems returns envelopes that are still open after their deadline, and fully signed envelopes that are not
// sealed yet. The longest-waiting envelopes come first.
func (s *EnvelopeListRepository) EnvelopeProblems(ctx context.Context, of ProblemFilter) ([]EnvelopeProblem, error) {
	now, db := s.now(), s.db.WithContext(ctx)
	overdue, err := find[*models.Envelope](ownEnvelopes(db, of).
		Where("status IN "+openStatuses+" AND expires_at < ?", now.Add(-expiryNotice)).Order("expires_at").Limit(of.Limit))
	if err != nil {
		return nil, fmt.Errorf("list overdue envelopes: %w", err)
	}
	unsealed, err := find[*models.Envelope](ownEnvelopes(db, of).
		Where("status = ? AND (sealing_problem IS NOT NULL OR NOT EXISTS (SELECT 1 FROM signers AS s WHERE s.envelope_id = envelopes.id AND s.signed_at >= ?))",
			models.StatusSealing, now.Add(-sealingNotice)).Order("id").Limit(of.Limit))
	if err != nil {
		return nil, fmt.Errorf("list unsealed envelopes: %w", err)
	}
	signers, err := find[*models.Signer](db.Select("envelope_id, signed_at").Where("envelope_id IN ?", mapSlice(unsealed, func(e *models.Envelope) uuid.UUID { return e.ID })))
	if err != nil {
		return nil, fmt.Errorf("load the last signatures: %w", err)
	}
	signed := make(map[uuid.UUID]time.Time)
	for _, s := range signers {
		if s.SignedAt != nil && s.SignedAt.After(signed[s.EnvelopeID]) {
			signed[s.EnvelopeID] = *s.SignedAt
		}
	}
	all := mapSlice(overdue, func(e *models.Envelope) EnvelopeProblem { return newEnvelopeProblem(e, *e.ExpiresAt) })
	all = append(all, mapSlice(unsealed, func(e *models.Envelope) EnvelopeProblem { return newEnvelopeProblem(e, signed[e.ID]) })...)
	slices.SortFunc(all, func(a, b EnvelopeProblem) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return all[:min(len(all), of.Limit)], nil
}

// NewestOpen returns the newest envelopes that were sent before the given time and that are still waiting for signers.
func (s *EnvelopeListRepository) NewestOpen(ctx context.Context, of ProblemFilter, before time.Time) ([]EnvelopeProblem, error) {
	found, err := find[*models.Envelope](ownEnvelopes(s.db.WithContext(ctx), of).
		Where("status IN "+openStatuses+" AND sent_at < ?", before).Where("id" + notQueued).Order("id DESC").Limit(of.Limit))
	return mapSlice(found, func(e *models.Envelope) EnvelopeProblem { return newEnvelopeProblem(e, *e.SentAt) }), wrap(err, "list the newest open envelopes")
}

func newEnvelopeProblem(e *models.Envelope, since time.Time) EnvelopeProblem {
	return EnvelopeProblem{e.ID, e.TenantID, e.Status, e.Subject, e.SealingProblem, since}
}

// openStatuses lists the statuses covered by the partial index envelopes_deadline.
const openStatuses = "('sent', 'in_progress')"

func ownEnvelopes(db *gorm.DB, of ProblemFilter) *gorm.DB {
	q := db.Model(&models.Envelope{}).Where("app_id = ?", of.App)
	if len(of.Tenants) > 0 {
		q = q.Where("tenant_id IN ?", of.Tenants)
	}
	return q
}

// RestartWorkflow requests the restart of an envelope's lost workflow, in the same way as the reconcile schedule.
func (s *EnvelopeRepository) RestartWorkflow(ctx context.Context, app, id uuid.UUID) (*models.Envelope, error) {
	e, err := inTransaction(ctx, s.engine, func(t *transaction) (*models.Envelope, error) {
		e, err := one[models.Envelope](s.locked(t.gorm()), "app_id = ? AND id = ?", app, id)
		if err != nil {
			return nil, err
		}
		if err := e.CanRestart(); err != nil {
			return nil, err
		}
		queued, err := first[models.OutboxRow](t.gorm().Where("key = ? AND kind = ?", id, models.OutboxStart))
		if err == nil && queued == nil {
			addOutbox(t, s.outboxRow(s.now(), id, models.OutboxStart, models.OutboxRefs{AppID: e.AppID, TenantID: e.TenantID, Restart: true}))
		}
		return e, err
	})
	return e, wrap(err, "restart the workflow of envelope %s", id)
}

// MailProblem is an email that the mail server has rejected.
type MailProblem struct {
	models.Mail

	TenantID   string
	Subject    *string // subject of the envelope
	SignerName string
}

// mailProblemDays is the number of days for which a rejected email is listed as a problem.
const mailProblemDays = 30

// MailProblems returns rejected emails that are being retried or have permanently failed, newest first. An email no
// longer counts as a problem once a later email has been sent to the same recipient.
func (s *MailRepository) MailProblems(ctx context.Context, of ProblemFilter) ([]MailProblem, error) {
	db := s.db.WithContext(ctx)
	mails, err := find[models.Mail](db.Where("error <> '' AND sent_at IS NULL AND created_at >= ?", s.now().AddDate(0, 0, -mailProblemDays)).
		Where("envelope_id IN (?)", ownEnvelopes(db, of).Select("id")).
		Where(`NOT EXISTS (SELECT 1 FROM mails AS n WHERE n.envelope_id = mails.envelope_id AND n.signer_id = mails.signer_id
			AND n.created_at > mails.created_at AND n.sent_at IS NOT NULL)`).
		Order("created_at DESC, id").Limit(of.Limit))
	if err != nil {
		return nil, fmt.Errorf("list rejected mails: %w", err)
	}
	envelopes, err := find[*models.Envelope](db.Select("id, tenant_id, subject").Where("id IN ?", mapSlice(mails, func(m models.Mail) uuid.UUID { return m.EnvelopeID })))
	if err != nil {
		return nil, fmt.Errorf("load the envelopes of rejected mails: %w", err)
	}
	signers, err := find[*models.Signer](db.Select("id, name").Where("id IN ?", mapSlice(mails, func(m models.Mail) uuid.UUID { return m.SignerID })))
	if err != nil {
		return nil, fmt.Errorf("load the recipients of rejected mails: %w", err)
	}
	about, names := make(map[uuid.UUID]*models.Envelope), make(map[uuid.UUID]string)
	for _, e := range envelopes {
		about[e.ID] = e
	}
	for _, s := range signers {
		names[s.ID] = s.Name
	}
	return mapSlice(mails, func(m models.Mail) MailProblem {
		e := about[m.EnvelopeID]
		return MailProblem{Mail: m, TenantID: e.TenantID, Subject: e.Subject, SignerName: names[m.SignerID]}
	}), nil
}
