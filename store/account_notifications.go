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

// NotificationRepository stores the notification settings and pending notifications of console users.
type NotificationRepository struct{ *engine }

// Notifications returns the notification settings of a console user, or the default settings.
func (s *NotificationRepository) Notifications(ctx context.Context, user uuid.UUID) (models.NotificationSettings, error) {
	n, err := first[models.NotificationSettings](s.db.WithContext(ctx).Where("user_id = ?", user))
	if err != nil {
		return models.NotificationSettings{}, fmt.Errorf("load notification settings of %s: %w", user, err)
	}
	if n == nil {
		return models.DefaultNotifications(user), nil
	}
	return *n, nil
}

// ChangeNotifications changes the notification settings of a console user unless the user is disabled. Items of the
// pending digest are sent with the next digest, unless the user turns off all notifications.
func (s *NotificationRepository) ChangeNotifications(ctx context.Context, user uuid.UUID, change func(*models.NotificationSettings) error) (models.NotificationSettings, error) {
	var n models.NotificationSettings
	err := s.tx(ctx, func(tx *gorm.DB) error {
		// Lock the user's row, because the settings may not exist yet.
		if _, err := one[models.ConsoleUser](s.locked(tx), "id = ? AND disabled_at IS NULL", user); err != nil {
			return err
		}
		saved, err := first[models.NotificationSettings](tx.Where("user_id = ?", user))
		if err != nil {
			return err
		}
		if n = models.DefaultNotifications(user); saved != nil {
			n = *saved
		}
		if err := change(&n); err != nil {
			return err
		}
		p := models.Problems{}
		n.Check(p)
		if err := p.Err(); err != nil {
			return err
		}
		switch n.Frequency {
		case models.NotifyDaily:
			n.DigestAt = new(n.NextDigest(s.now()))
		case models.NotifyNever:
			n.DigestAt = nil
			if err := tx.Where("user_id = ?", user).Delete(&models.DigestItem{}).Error; err != nil {
				return err
			}
		case models.NotifyImmediately:
		}
		return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&n).Error
	})
	return n, wrap(err, "change notification settings of %s", user)
}

// removeNotifications deletes the notification settings and the pending digest of a user.
func removeNotifications(tx *gorm.DB, user uuid.UUID) error {
	if err := tx.Where("user_id = ?", user).Delete(&models.DigestItem{}).Error; err != nil {
		return err
	}
	return tx.Where("user_id = ?", user).Delete(&models.NotificationSettings{}).Error
}

// addNotification adds a notification that informs the sender of an envelope about an event. Depending on the user's
// settings at commit time, it adds either an outbox row and an email record, or an item for the daily digest. Envelopes
// of bulk sends are included only in digests unless they require the sender to act.
func (s *NotificationRepository) addNotification(t *transaction, e *models.Envelope, ev *models.Event) {
	kind := models.NotificationOf(ev.Name)
	if kind == "" || e.OwnerID == nil {
		return
	}
	row := s.outboxRow(ev.Timestamp, e.ID, models.OutboxNotify, models.OutboxRefs{AppID: e.AppID, TenantID: e.TenantID})
	row.ID = ev.ID
	completeOutboxRow(t, &row)
	t.afterCommit = append(t.afterCommit, s.signalWake)
	column := s.db.NamingStrategy.ColumnName("", string(kind))
	chosen := "EXISTS (SELECT 1 FROM console_notifications WHERE user_id = ? AND frequency = 'immediate' AND " + column + ")"
	args := []any{*e.OwnerID}
	if kind.Default() {
		chosen = "NOT EXISTS (SELECT 1 FROM console_notifications WHERE user_id = ? AND NOT (frequency = 'immediate' AND " + column + "))"
	}
	if !kind.Problem() {
		chosen += " AND NOT EXISTS (SELECT 1 FROM bulk_send_rows WHERE envelope_id = ?)"
		args = append(args, e.ID)
	}
	t.insertIf("outbox", outboxColumns(&row), chosen, args...)
	t.insertIf("mails", requestedMail(&row, *e.OwnerID, models.MailNotification), chosen, args...)

	item := models.DigestItem{EventID: ev.ID, UserID: *e.OwnerID, EnvelopeID: e.ID, Kind: kind, At: ev.Timestamp}
	if ev.SignerID != uuid.Nil {
		item.SignerID = &ev.SignerID
	}
	t.insertIf("console_digest_items", digestItemColumns(&item),
		"EXISTS (SELECT 1 FROM console_notifications WHERE user_id = ? AND frequency = 'daily' AND "+column+")", *e.OwnerID)
}

func digestItemColumns(i *models.DigestItem) []column {
	return []column{
		{"event_id", &i.EventID},
		{"user_id", &i.UserID},
		{"envelope_id", &i.EnvelopeID},
		{"kind", &i.Kind},
		{"signer_id", &i.SignerID},
		{"at", &i.At},
	}
}

// RequestDigests requests up to n due digests and schedules the next ones. It skips users who have no events. It
// returns the number of due digests and the number of requested digests.
func (s *NotificationRepository) RequestDigests(ctx context.Context, n int) (due, requested int, err error) {
	all, err := find[models.NotificationSettings](s.db.WithContext(ctx).Where("digest_at <= ?", s.now()).Order("digest_at").Limit(n))
	if err != nil {
		return 0, 0, fmt.Errorf("list due digests: %w", err)
	}
	for i := range all {
		isRequested, err := s.requestDigest(ctx, &all[i])
		if err != nil {
			return len(all), requested, fmt.Errorf("request digest of %s: %w", all[i].UserID, err)
		}
		if isRequested {
			requested++
		}
	}
	return len(all), requested, nil
}

// requestDigest requests a user's digest, and reports whether it did. It has no effect if another process has already
// requested the digest.
func (s *NotificationRepository) requestDigest(ctx context.Context, n *models.NotificationSettings) (requested bool, err error) {
	now := s.now()
	err = s.transact(ctx, readWrite, func(t *transaction) error {
		tx := t.gorm()
		var next *time.Time
		if n.Frequency == models.NotifyDaily {
			next = new(n.NextDigest(now))
		}
		result := tx.Model(&models.NotificationSettings{}).Where("user_id = ? AND digest_at = ? AND frequency = ?", n.UserID, n.DigestAt, n.Frequency).
			Update("digest_at", next)
		if result.Error != nil || result.RowsAffected == 0 {
			return result.Error
		}
		items, err := count(tx.Model(&models.DigestItem{}).Where("user_id = ?", n.UserID).Limit(1))
		if err != nil || items == 0 {
			return err
		}
		user, err := one[models.ConsoleUser](tx, "id = ?", n.UserID)
		if err != nil {
			return err
		}
		requested = true
		addOutbox(t, s.outboxRow(now, n.UserID, models.OutboxDigest, models.OutboxRefs{AppID: user.AppID}))
		return nil
	})
	return requested, err
}

const maxDigestItems = 1000

// DigestItems returns the items of a user's digest that are not newer than the given time, oldest first.
func (s *NotificationRepository) DigestItems(ctx context.Context, user uuid.UUID, until time.Time) ([]models.DigestItem, error) {
	items, err := find[models.DigestItem](s.db.WithContext(ctx).Where("user_id = ? AND at <= ?", user, until).Order("at, event_id").Limit(maxDigestItems))
	return items, wrap(err, "list digest items of %s", user)
}

// RemoveDigestItems deletes the items that were sent in a digest.
func (s *NotificationRepository) RemoveDigestItems(ctx context.Context, user uuid.UUID, until time.Time) error {
	err := s.db.WithContext(ctx).Where("user_id = ? AND at <= ?", user, until).Delete(&models.DigestItem{}).Error
	return wrap(err, "remove digest items of %s", user)
}
