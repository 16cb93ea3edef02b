package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// MailRepository stores the status of each email.
type MailRepository struct{ *engine }

// BeginMail records that an email is about to be sent. The returned record contains the time of the first rejection. It
// also shows whether the email was sent or has permanently failed.
func (s *MailRepository) BeginMail(ctx context.Context, m models.Mail) (models.Mail, error) {
	m.CreatedAt = s.now()
	m.Attempts = 1
	err := s.db.WithContext(ctx).Clauses(
		clause.OnConflict{
			Columns:   []clause.Column{{Name: "id"}},
			DoUpdates: clause.Assignments(map[string]any{"attempts": gorm.Expr("mails.attempts + 1")}),
		},
		clause.Returning{},
	).Create(&m).Error
	return m, wrap(err, "record mail")
}

// DropRequestedMail deletes the record of a requested email that will not be sent, for example because the signer has
// signed in the meantime.
func (s *MailRepository) DropRequestedMail(ctx context.Context, request uuid.UUID) error {
	err := s.db.WithContext(ctx).Where("id = ? AND sent_at IS NULL AND failed_at IS NULL", models.RequestedMailID(request)).Delete(&models.Mail{}).Error
	return wrap(err, "drop requested mail %s", request)
}

// MailSent records that an email was sent. For emails in the audit chain, the event records this instead.
func (s *MailRepository) MailSent(ctx context.Context, id string) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		markMailSent(&t.batch, id, s.now())
		return nil
	})
	return wrap(err, "record sent mail")
}

// settleMail records the outcome of an email that, according to an event, was sent or was rejected by the server.
func settleMail(b *batch, _ *models.Envelope, ev *models.Event) {
	switch {
	case ev.MailID == "":
	case ev.MailRejection != "":
		markMailFailed(b, ev.MailID, ev.Timestamp, ev.MailRejection)
	default:
		markMailSent(b, ev.MailID, ev.Timestamp)
	}
}

func markMailSent(b *batch, id string, at time.Time) {
	b.exec("UPDATE mails SET sent_at = $1, error = '' WHERE id = $2", at, id)
}

// MailDelayed records why the last attempt to send an email failed. If the mail server rejected the email, it also
// records the time of the first rejection. The reason must be safe to display.
func (s *MailRepository) MailDelayed(ctx context.Context, id, why string, rejected bool) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.exec("UPDATE mails SET error = $1 WHERE id = $2 AND sent_at IS NULL AND failed_at IS NULL", why, id)
		if rejected {
			t.exec("UPDATE mails SET refused_at = $1 WHERE id = $2 AND refused_at IS NULL", s.now(), id)
		}
		return nil
	})
	return wrap(err, "record delayed mail")
}

// MailFailed records that an email was permanently rejected. The reason must be safe to display. For emails in the
// audit chain, the event records the rejection instead.
func (s *MailRepository) MailFailed(ctx context.Context, id, why string) error {
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		markMailFailed(&t.batch, id, s.now(), why)
		return nil
	})
	return wrap(err, "record failed mail")
}

func markMailFailed(b *batch, id string, at time.Time, why string) {
	b.exec("UPDATE mails SET failed_at = $1, error = $2 WHERE id = $3", at, why, id)
}

// Mails returns the emails of an envelope in the order in which they were started.
func (s *MailRepository) Mails(ctx context.Context, envelope uuid.UUID) ([]models.Mail, error) {
	out, err := find[models.Mail](s.db.WithContext(ctx).Where("envelope_id = ?", envelope).Order("created_at, id"))
	return out, wrap(err, "load mails of %s", envelope)
}

// Undelivered returns, by envelope, the signers whose last email was permanently rejected. It ignores emails to the
// sender about a signer.
func (s *MailRepository) Undelivered(ctx context.Context, envelopes []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	rows, err := find[models.Mail](s.db.WithContext(ctx).Select("envelope_id", "signer_id", "sent_at", "failed_at").
		Where("envelope_id IN (?)", s.db.Model(&models.Mail{}).Select("envelope_id").Where("failed_at IS NOT NULL AND envelope_id IN ?", envelopes)).
		Where("(sent_at IS NOT NULL OR failed_at IS NOT NULL) AND kind NOT IN ?", []models.MailKind{models.MailNotice, models.MailNotification}).Order("created_at, id"))
	if err != nil {
		return nil, fmt.Errorf("load failed mails: %w", err)
	}
	type recipient struct{ envelope, signer uuid.UUID }
	last := make(map[recipient]bool)
	var order []recipient
	for _, m := range rows {
		r := recipient{m.EnvelopeID, m.SignerID}
		if _, ok := last[r]; !ok {
			order = append(order, r)
		}
		last[r] = m.FailedAt != nil
	}
	out := make(map[uuid.UUID][]uuid.UUID)
	for _, r := range order {
		if last[r] {
			out[r.envelope] = append(out[r.envelope], r.signer)
		}
	}
	return out, nil
}

// Awaiting contains counts of recently sent envelopes.
type Awaiting struct {
	// All is the number of envelopes without an invitation.
	All int
	// Singles is the number of envelopes that were not sent by a bulk send, regardless of their invitations.
	Singles int
}

// AwaitingInvitation counts the envelopes of all apps that were sent since the given time. It excludes envelopes for
// which the service sends no links. If there are many events, it examines only the latest.
func (s *MailRepository) AwaitingInvitation(ctx context.Context, since time.Time) (out Awaiting, err error) {
	// Reading the latest events from the end of the primary key takes less than a millisecond.
	// SQL: the query counts the newest events with FILTER.
	err = s.db.WithContext(ctx).Raw(`SELECT
		count(*) FILTER (WHERE (SELECT count(*) FROM mails AS m WHERE m.envelope_id = ev.envelope_id) = 0
			AND (SELECT count(*) FROM signers AS s WHERE s.envelope_id = ev.envelope_id AND s.status = 'sent' AND NOT s.silent) > 0) AS "all",
		count(*) FILTER (WHERE (SELECT count(*) FROM bulk_send_rows AS r WHERE r.envelope_id = ev.envelope_id) = 0) AS singles
		FROM (SELECT envelope_id, name FROM webhook_events WHERE id >= ? ORDER BY id DESC LIMIT 100) AS ev
		WHERE ev.name = 'envelope.sent'`, firstID(since)).Scan(&out).Error
	return out, wrap(err, "count envelopes that await their invitations")
}
