package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// EventQuery selects events of an app. The order of events is the same for all readers.
type EventQuery struct {
	App     uuid.UUID
	After   uuid.UUID        // ID of the last event that the reader has read; uuid.Nil to start with the oldest event
	Since   time.Time        // without After, the earliest creation time; zero for no limit
	Latest  bool             // without After, selects only future events
	Name    models.EventName // empty for all
	Tenants []string         // nil for all tenants
	Limit   int
}

// EventPage is a page of an app's events.
type EventPage struct {
	Events []*models.WebhookEvent
	// Cursor is the ID of the last examined event, whether or not it matched the query. It is uuid.Nil if no event was
	// examined. With a selective filter, a page can be empty even if more events follow.
	Cursor uuid.UUID
	More   bool // whether more events can be read immediately
}

// positionBatch is the number of events that are assigned positions in one transaction.
const positionBatch = 1000

// errCursorExpired is returned if events after the cursor may have been deleted.
var errCursorExpired = models.Reject(models.KindGone, "cursor_expired",
	"The events that follow this cursor have been deleted. Start again without a cursor, and reload the envelopes that you need.")

// Events reads a page of an app's events. It first assigns positions to the events committed since the last read. Only
// one reader does so at a time, so that no event is ever inserted before an event that was already read.
func (s *WebhookRepository) Events(ctx context.Context, q EventQuery) (*EventPage, error) {
	page, err := s.readEvents(ctx, q)
	return page, wrap(err, "read events")
}

func (s *WebhookRepository) readEvents(ctx context.Context, q EventQuery) (*EventPage, error) {
	last, more, err := s.positionEvents(ctx, q.App)
	for err == nil && more && q.Latest { // future events follow all events committed so far
		last, more, err = s.positionEvents(ctx, q.App)
	}
	if err != nil {
		return nil, err
	}
	db := s.db.WithContext(ctx)
	from, err := s.queryStart(db, q, last)
	if err != nil {
		return nil, err
	}
	end, err := windowEnd(db, q.App, from, last)
	if err != nil {
		return nil, err
	}
	sel := db.Model(&models.WebhookEvent{}).Where("app_id = ? AND position > ? AND position <= ? AND created_at >= ? AND "+withBody, q.App, from, end, s.historyStart())
	sel = whereNonZero(sel, "name = ?", q.Name)
	if len(q.Tenants) > 0 {
		sel = sel.Where("tenant_id IN ?", q.Tenants)
	}
	page := &EventPage{Cursor: q.After, More: more || end < last}
	if err := sel.Order("position").Limit(q.Limit + 1).Find(&page.Events).Error; err != nil {
		return nil, err
	}
	if len(page.Events) > q.Limit {
		page.Events, page.More = page.Events[:q.Limit], true
		page.Cursor = page.Events[q.Limit-1].ID
	} else {
		at, err := first[models.WebhookEvent](db.Select("id").Where("app_id = ? AND position <= ?", q.App, end).Order("position DESC"))
		if err != nil {
			return nil, err
		}
		if at != nil {
			page.Cursor = at.ID
		}
	}
	return page, decryptAll(s.engine, page.Events)
}

// eventPosition is the position of an event in its app's feed.
type eventPosition struct {
	Position  int64
	CreatedAt time.Time
}

// TableName returns the name of the database table.
func (eventPosition) TableName() string { return eventTable.name }

// eventWindow is the number of events that are examined for one page. With a selective filter, reading millions of
// events takes many pages, most of them empty, each with a cursor from which to continue.
const eventWindow = 10_000

// windowEnd returns the last position to examine for a page that begins after the given position. Unless this is the
// feed's last position, the range contains at least one event.
func windowEnd(db *gorm.DB, app uuid.UUID, from, last int64) (int64, error) {
	next, err := first[eventPosition](db.Select("position").Where("app_id = ? AND position > ? AND position <= ?", app, from, last).Order("position"))
	if err != nil || next == nil {
		return last, err
	}
	return min(last, next.Position+eventWindow-1), nil
}

// queryStart returns the position after which a query begins.
func (s *WebhookRepository) queryStart(db *gorm.DB, q EventQuery, last int64) (int64, error) {
	switch {
	case q.After != uuid.Nil:
		return s.positionOf(db, q.App, q.After)
	case q.Latest:
		return last, nil
	}
	since := s.historyStart()
	if q.Since.After(since) {
		since = q.Since.UTC()
	}
	early, err := earlyPosition(db, q.App, since, last)
	if err != nil {
		return 0, err
	}
	at, err := first[eventPosition](firstSince(db, q.App, early, since, last))
	if err != nil || at == nil {
		return last, err
	}
	return at.Position - 1, nil
}

// firstSince selects the first event that is after a position and was created at or after the given time.
func firstSince(db *gorm.DB, app uuid.UUID, after int64, since time.Time, last int64) *gorm.DB {
	return db.Model(&eventPosition{}).Select("position").
		Where("app_id = ? AND position > ? AND position <= ? AND created_at >= ?", app, after, last, since).Order("position").Limit(1)
}

// eventsApart is the maximum delay between the creation of an event and the assignment of its position. In practice,
// transactions and clock differences account for only seconds.
const eventsApart = time.Hour

// earlyPosition returns a position shortly before all events created at or after the given time. It uses a binary
// search, because positions are approximately in chronological order, and no index covers both the position and the
// time.
func earlyPosition(db *gorm.DB, app uuid.UUID, since time.Time, last int64) (int64, error) {
	low, high := int64(0), last // an event at low, if any, is older
	for low < high {
		middle := low + (high-low)/2
		at, err := first[eventPosition](db.Select("position, created_at").Where("app_id = ? AND position > ? AND position <= ?", app, middle, high).Order("position"))
		switch {
		case err != nil:
			return 0, err
		case at == nil || !at.CreatedAt.Before(since.Add(-eventsApart)):
			high = middle
		default:
			low = at.Position
		}
	}
	return low, nil
}

// positionOf returns the position of the event that a reader uses as the cursor. It accepts an expired event only if
// no later event has expired, because then no event is missing.
func (s *WebhookRepository) positionOf(db *gorm.DB, app, id uuid.UUID) (int64, error) {
	var at struct {
		Position  *int64
		CreatedAt time.Time
	}
	err := db.Model(&models.WebhookEvent{}).Select("position, created_at").Where("app_id = ? AND id = ?", app, id).Take(&at).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound), err == nil && at.Position == nil:
		return 0, errCursorExpired
	case err != nil:
		return 0, err
	case !at.CreatedAt.Before(s.historyStart()):
		return *at.Position, nil
	}
	older, err := count(db.Model(&models.WebhookEvent{}).Where("app_id = ? AND position > ? AND created_at < ?", app, *at.Position, s.historyStart()).Limit(1))
	if err == nil && older > 0 {
		err = errCursorExpired
	}
	return *at.Position, err
}

// positionEvents assigns positions to committed events in the order of their insertion. It returns the app's last
// position, and reports whether more events are waiting. It locks the row of the feed, so that positions become
// visible in order.
func (s *WebhookRepository) positionEvents(ctx context.Context, app uuid.UUID) (last int64, more bool, err error) {
	const unread = "app_id = ? AND position IS NULL AND name <> 'ping'"
	db := s.db.WithContext(ctx)
	var state struct {
		Waiting bool
		Last    int64
	}
	// SQL: a single statement runs two queries.
	err = db.Raw(`SELECT EXISTS (SELECT 1 FROM webhook_events WHERE `+unread+`) AS waiting,
		coalesce((SELECT last_position FROM event_feeds WHERE app_id = ?), 0) AS last`, app, app).Scan(&state).Error
	if err != nil || !state.Waiting {
		return state.Last, false, err
	}
	order := s.insertionOrder()
	err = s.tx(ctx, func(tx *gorm.DB) error {
		if err := tx.Table("event_feeds").Clauses(clause.OnConflict{DoNothing: true}).Create(map[string]any{"app_id": app}).Error; err != nil {
			return err
		}
		if err := s.locked(tx).Table("event_feeds").Select("last_position").Where("app_id = ?", app).Take(&state.Last).Error; err != nil {
			return err
		}
		// SQL: a window function computes the positions.
		given := tx.Exec(`UPDATE webhook_events SET position = n.place FROM
			(SELECT id, ? + row_number() OVER (ORDER BY `+order+`) AS place FROM webhook_events WHERE `+unread+` ORDER BY `+order+` LIMIT ?) AS n
			WHERE webhook_events.id = n.id`, state.Last, app, positionBatch)
		if given.Error != nil || given.RowsAffected == 0 {
			return given.Error
		}
		state.Last += given.RowsAffected
		more = given.RowsAffected == positionBatch
		return tx.Table("event_feeds").Where("app_id = ?", app).UpdateColumn("last_position", state.Last).Error
	})
	return state.Last, more, err
}

// insertionOrder returns the column of webhook_events whose values increase with each insertion.
func (s *WebhookRepository) insertionOrder() string {
	if s.postgres {
		return "seq"
	}
	return "rowid"
}

// historyStart returns the beginning of the history period. Earlier events cannot be read.
func (s *WebhookRepository) historyStart() time.Time { return s.now().Add(-s.cfg.History).UTC() }

// eventRetentionMargin is the additional time for which events are retained after the history period.
const eventRetentionMargin = 24 * time.Hour

// removeOldEvents deletes events a day after they can no longer be read. It keeps events that deliveries refer to. It
// also keeps the newest event of each app, because readers use its ID as a cursor. Events in a monthly partition are
// deleted with the partition.
func (s *WebhookRepository) removeOldEvents(db *gorm.DB) (int64, error) {
	before := s.historyStart().Add(-eventRetentionMargin)
	end, err := s.deletedBefore(db, eventTable, before)
	if err != nil {
		return 0, err
	}
	order := s.insertionOrder()
	// SQL: the statement deletes the rows of a subquery with LIMIT.
	result := db.Exec(`DELETE FROM webhook_events WHERE id IN (
		SELECT o.id FROM webhook_events AS o WHERE o.created_at < ? AND o.id < ?
			AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS d WHERE d.event_id = o.id)
			AND (o.name = 'ping' OR EXISTS (SELECT 1 FROM webhook_events AS later WHERE later.app_id = o.app_id AND later.created_at < ? AND later.name <> 'ping'
				AND (later.position > o.position OR later.position IS NULL AND (o.position IS NOT NULL OR later.`+order+` > o.`+order+`))))
		LIMIT ?)`, before, end, before, CleanupBatch)
	return result.RowsAffected, result.Error
}

// errPayloadPurged is returned if a delivery cannot be resent because its data was purged.
var errPayloadPurged = models.Reject(models.KindGone, "payload_purged",
	"The payload of this delivery was deleted at the end of the envelope's retention period.")

// withBody selects webhook events with a body. A body is empty only after it was removed.
const withBody = "length(body) > 0"

func hasBody(tx *gorm.DB, event uuid.UUID) (bool, error) {
	n, err := count(tx.Model(&models.WebhookEvent{}).Where("id = ? AND "+withBody, event))
	return n > 0, err
}

func webhookEventColumns(ev *models.WebhookEvent) []column {
	return []column{
		{"id", &ev.ID},
		{"app_id", &ev.AppID},
		{"envelope_id", &ev.EnvelopeID},
		{"tenant_id", &ev.TenantID},
		{"name", &ev.Name},
		{"body", &ev.Body},
		{"values_body", &ev.ValuesBody},
		{"created_at", &ev.CreatedAt},
	}
}
