package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"countersign/models"
)

// EnvelopeListRepository lists, searches and counts envelopes.
type EnvelopeListRepository struct{ *engine }

// EnvelopeFilter selects envelopes for a list. Fields that are empty or zero do not restrict the list.
type EnvelopeFilter struct {
	App    uuid.UUID
	Tenant string
	Status models.Status
	Search string // ID, part of the subject or of a signer's name, or a signer's address or its domain
	// CreatedAfter (inclusive) and CreatedBefore (exclusive) restrict the creation time.
	CreatedAfter, CreatedBefore time.Time
	Undelivered                 bool // only envelopes whose last email to a recipient permanently failed
	UpdatedSince                time.Time
	SignerEmail                 string // a signer's complete address, or its domain
	ExternalID                  string
	TemplateID                  uuid.UUID // template that the envelope was created from
	BulkSend                    uuid.UUID // bulk send that sent the envelope
	Label                       string    // one of the envelope's labels
	Inbox                       Inbox     // section of the inbox
	Text                        string    // part of the subject or of a signer's name
	ByUpdate                    bool      // orders by time of change, oldest first, rather than newest envelope first
	Page                        int       // starts at 1
	Size                        int       // 0 for only the number of matches
	Peek                        bool      // returns one more envelope than Size, to detect a further page
	// After is the position after which the list continues. If it is nil, Page applies.
	After *ListPosition
}

// ListPosition is a position in a list of envelopes. It contains the ID of the preceding envelope and, if the list is
// ordered by time, the time of that envelope.
type ListPosition struct {
	ID uuid.UUID
	At time.Time
}

func (f EnvelopeFilter) pageSize() int {
	if f.Peek {
		return f.Size + 1
	}
	return f.Size
}

// isNarrow reports whether the filter has criteria other than the app, the tenant and the status. Totals are stored
// only for those three.
func (f EnvelopeFilter) isNarrow() bool {
	return f.Search != "" || f.Undelivered || !f.CreatedAfter.IsZero() || !f.CreatedBefore.IsZero() ||
		!f.UpdatedSince.IsZero() || f.SignerEmail != "" || f.ExternalID != "" || f.Label != "" || f.Inbox != "" || f.Text != "" || f.TemplateID != uuid.Nil || f.BulkSend != uuid.Nil
}

// statuses returns the stored statuses that correspond to a displayed status.
func (f EnvelopeFilter) statuses() []models.Status {
	switch f.Status { //nolint:exhaustive // all other statuses are stored under the same name
	case "":
		return nil
	case models.StatusInProgress:
		return []models.Status{models.StatusInProgress, models.StatusSealing}
	default:
		return []models.Status{f.Status}
	}
}

// isSearch reports whether the filter is only a search of all envelopes of an app.
func (f EnvelopeFilter) isSearch() bool {
	return f.Search != "" && f == EnvelopeFilter{App: f.App, Search: f.Search, Page: f.Page, Size: f.Size, Peek: f.Peek, After: f.After}
}

// searchedID returns the ID to search for, or false if the search string is not an ID.
func (f EnvelopeFilter) searchedID() (uuid.UUID, bool) {
	id, err := uuid.Parse(strings.TrimSpace(f.Search))
	return id, err == nil
}

// matching selects the IDs of matching envelopes with the given statuses, or with any status if none are given. If few
// is set, few matches are expected, as in a search.
func (s *EnvelopeListRepository) matching(db *gorm.DB, f EnvelopeFilter, few bool, statuses ...models.Status) *gorm.DB {
	searched, isID := f.searchedID()
	if f.isSearch() && !isID {
		// The search table contains no deleted drafts, so the table of envelopes need not be read.
		found, args := s.search(f.App, f.Search, few)
		return db.Table("("+found+") AS found", args...).Select("envelope_id AS id")
	}
	q := whereNonZero(db.Model(&models.Envelope{}).Select("id").Where("app_id = ?", f.App), "tenant_id = ?", f.Tenant)
	switch len(statuses) {
	case 0:
		q = q.Where("status <> ?", models.StatusDeleted)
	case 1:
		q = q.Where("status = ?", statuses[0])
	default:
		q = q.Where("status IN ?", statuses)
	}
	q = whereNonZero(q, "created_at >= ?", f.CreatedAfter.UTC())
	q = whereNonZero(q, "created_at < ?", f.CreatedBefore.UTC())
	q = whereNonZero(q, "updated_at >= ?", f.UpdatedSince.UTC())
	q = whereNonZero(q, "external_id = ?", f.ExternalID)
	q = s.labeled(q, f.Label)
	q = s.inInbox(q, f)
	q = whereNonZero(q, "id IN (SELECT envelope_id FROM bulk_send_rows WHERE bulk_send_id = ?)", f.BulkSend)
	q = whereNonZero(q, "template_id = ?", f.TemplateID)
	if f.SignerEmail != "" {
		found, args := s.searchAddress(f.App, f.SignerEmail, few)
		q = q.Where("id IN ("+found+")", args...)
	}
	if f.Text != "" {
		found, args := s.searchText(f.App, f.Text, few)
		q = q.Where("id IN ("+found+")", args...)
	}
	if f.Undelivered {
		q = q.Where("id IN (SELECT envelope_id FROM mails WHERE failed_at IS NOT NULL)")
	}
	if isID {
		q = q.Where("id = ?", searched)
	} else if f.Search != "" {
		found, args := s.search(f.App, f.Search, few)
		q = q.Where("id IN ("+found+")", args...)
	}
	return q
}

// Envelopes lists envelopes, newest first, with the number of matches. If the filter is narrow, matches are counted up
// to countLimit.
func (s *EnvelopeListRepository) Envelopes(ctx context.Context, f EnvelopeFilter) ([]*models.Envelope, int64, error) {
	return listFromReplica(ctx, s.engine, func(e *engine) ([]*models.Envelope, int64, error) {
		return (&EnvelopeListRepository{e}).envelopes(ctx, f)
	})
}

func (s *EnvelopeListRepository) envelopes(ctx context.Context, f EnvelopeFilter) ([]*models.Envelope, int64, error) {
	offset := (f.Page - 1) * f.Size
	if f.After != nil {
		offset = 0
	}
	var total int64
	var err error
	if !f.isNarrow() {
		if total, err = s.count(ctx, f.App, f.Tenant, f.statuses()); err != nil || int64(offset) >= total {
			return nil, total, err
		}
	}
	l := &loaded{}
	err = s.transact(ctx, readOnly, func(t *transaction) error {
		if f.isNarrow() && s.postgres {
			// The best plan depends on the search string. A generic plan would read a complete index.
			t.exec("SET LOCAL plan_cache_mode = force_custom_plan")
		}
		var ids []uuid.UUID
		if ids, total, err = s.findPage(t.gorm(), f, offset, total); err == nil && len(ids) > 0 {
			l = s.queueEnvelopes(t, f.order(), false, ids...)
		}
		return err
	})
	if err == nil && len(l.envelopes) > 0 {
		err = l.assemble(s.engine)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list envelopes: %w", err)
	}
	return l.envelopes, total, nil
}

// LastEvents returns the latest event of each envelope, except for archived envelopes.
func (s *EnvelopeListRepository) LastEvents(ctx context.Context, envelopes []uuid.UUID) (map[uuid.UUID]*models.Event, error) {
	rows, err := find[models.Event](s.db.WithContext(ctx).
		Joins("JOIN envelopes ON envelopes.id = audit_events.envelope_id AND envelopes.audit_seq = audit_events.seq").Where("envelopes.id IN ?", envelopes))
	if err != nil {
		return nil, fmt.Errorf("load newest events: %w", err)
	}
	out := make(map[uuid.UUID]*models.Event, len(rows))
	for i := range rows {
		out[rows[i].EnvelopeID] = &rows[i]
	}
	return out, nil
}

// fewMatches is the maximum number of matches that are read to select a page.
const fewMatches = 200

// readAtOnce returns the maximum number of matches that are read to select a page. A query for "action needed" or
// "waiting" is expensive, so a single query reads all the matches instead of counting them first.
func (f EnvelopeFilter) readAtOnce() int {
	if f.Inbox == InboxActionNeeded || f.Inbox == InboxWaiting {
		return countLimit
	}
	return fewMatches
}

// findPage returns the IDs on a page and the number of matches. Unless the filter is narrow, the caller already knows
// the number and passes it as total. If there are few matches, a single query reads all of them. Otherwise, one query
// counts them, and a second query reads the page in index order.
func (s *EnvelopeListRepository) findPage(db *gorm.DB, f EnvelopeFilter, offset int, total int64) (ids []uuid.UUID, _ int64, err error) {
	found := func() *gorm.DB { return f.inTimeOrder(s.matching(db, f, true, f.statuses()...)) }
	if most := f.readAtOnce(); f.isNarrow() && !f.ByUpdate && f.After == nil && f.Size > 0 {
		if err := found().Limit(most).Pluck("id", &ids).Error; err != nil {
			return nil, 0, err
		}
		if n := len(ids); n < most {
			if !f.ByCreation() {
				slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(b[:], a[:]) })
			}
			return ids[min(offset, n):min(offset+f.pageSize(), n)], int64(n), nil
		}
		total = int64(len(ids))
	}
	if f.isNarrow() && total < countLimit {
		total, err = countUpTo(db, found())
	}
	if err != nil || int64(offset) >= total || f.Size == 0 {
		return nil, total, err
	}
	few := f.isNarrow() && total < countLimit
	err = s.pageIDs(db, f, offset, few).Pluck("id", &ids).Error
	return ids, total, err
}

// ByCreation reports whether the filter restricts the creation time. The list is then sorted by creation time rather
// than by ID. The two orders differ for envelopes that were created almost simultaneously.
func (f EnvelopeFilter) ByCreation() bool {
	return !f.ByUpdate && (!f.CreatedAfter.IsZero() || !f.CreatedBefore.IsZero())
}

func (f EnvelopeFilter) order() string {
	switch {
	case f.ByUpdate:
		return "updated_at, id"
	case f.ByCreation():
		return "created_at DESC, id DESC"
	}
	return "id DESC"
}

// inTimeOrder makes a query with a time limit use the index on that time. Otherwise, PostgreSQL would assume many
// evenly distributed matches and scan the table from its beginning, although millions of older rows may contain no
// match.
func (f EnvelopeFilter) inTimeOrder(q *gorm.DB) *gorm.DB {
	switch {
	case f.ByCreation():
		return q.Order(f.order())
	case !f.UpdatedSince.IsZero():
		return q.Order("updated_at")
	}
	return q
}

// pageIDs selects the IDs of the page. If there are few matches, it reads all of them and then sorts. Otherwise, it
// reads the page in index order, merging the results if the filter has several statuses.
func (s *EnvelopeListRepository) pageIDs(db *gorm.DB, f EnvelopeFilter, offset int, few bool) *gorm.DB {
	of, size, order := f.statuses(), f.pageSize(), f.order()
	matching := func(of ...models.Status) *gorm.DB {
		q := s.matching(db, f, few, of...)
		switch at := f.After; {
		case at == nil:
			return q
		case f.ByUpdate:
			return q.Where("(updated_at, id) > (?, ?)", at.At.UTC(), at.ID)
		case f.ByCreation():
			return q.Where("(created_at, id) < (?, ?)", at.At.UTC(), at.ID)
		case f.isSearch():
			return q.Where("envelope_id < ?", at.ID)
		default:
			return q.Where("id < ?", at.ID)
		}
	}
	switch {
	case few && !f.ByUpdate:
		found := f.inTimeOrder(matching(of...)).Limit(countLimit)
		if f.ByCreation() {
			found = found.Select("id, created_at")
		}
		return db.Table("(SELECT id FROM (?) AS found ORDER BY "+order+" LIMIT ? OFFSET ?) AS page", found, size, offset).Select("id")
	case len(of) < 2 || f.ByUpdate || f.ByCreation():
		return db.Table("(?) AS page", matching(of...).Order(order).Offset(offset).Limit(size)).Select("id")
	}
	top := offset + size
	a, b := matching(of[0]).Order(order).Limit(top), matching(of[1]).Order(order).Limit(top)
	return db.Table("(SELECT id FROM (?) AS a UNION ALL SELECT id FROM (?) AS b ORDER BY id DESC LIMIT ? OFFSET ?) AS page",
		a, b, size, offset).Select("id")
}
