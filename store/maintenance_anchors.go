package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm/clause"
)

// Anchor is a list of audit chain heads with a time-stamp from an authority.
type Anchor struct {
	Number  int64 `gorm:"primaryKey;autoIncrement:false"` // 1, 2, 3 … without gaps
	At      time.Time
	Digest  string // SHA-256 hash of the list, in lowercase hexadecimal
	Entries int64
	BlobKey string // storage key of the list
	Token   []byte // RFC 3161 token for Digest
}

// TableName returns the name of the database table.
func (Anchor) TableName() string { return "audit_anchors" }

// ChainHead is an event that is, or once was, the last event of an envelope's audit chain.
type ChainHead struct {
	EnvelopeID uuid.UUID
	Seq        int64
	Hash       string // in lowercase hexadecimal
}

// LastAnchor returns the anchor with the highest number, or nil if there is none.
func (s *MaintenanceRepository) LastAnchor(ctx context.Context) (*Anchor, error) {
	a, err := first[Anchor](s.db.WithContext(ctx).Order("number DESC"))
	return a, wrap(err, "find the last anchor")
}

// Anchors lists up to n anchors with numbers greater than after, in ascending order.
func (s *MaintenanceRepository) Anchors(ctx context.Context, after int64, n int) ([]Anchor, error) {
	rows, err := find[Anchor](s.db.WithContext(ctx).Where("number > ?", after).Order("number").Limit(n))
	return rows, wrap(err, "list anchors")
}

// ErrAnchored means that another process has already created the anchor.
var ErrAnchored = errors.New("an anchor with this number already exists")

// AddAnchor records an anchor. It returns ErrAnchored if an anchor with the same number already exists.
func (s *MaintenanceRepository) AddAnchor(ctx context.Context, a Anchor) error {
	result := s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&a)
	return wrap(requireRows(result, ErrAnchored), "record anchor %d", a.Number)
}

// EachChainHead calls visit for the head of every audit chain that has an event at or after the given time, ordered by
// envelope ID and based on a single snapshot. It holds only one head in memory at a time.
func (s *MaintenanceRepository) EachChainHead(ctx context.Context, since time.Time, visit func(ChainHead) error) (err error) {
	query := s.db.WithContext(ctx).Table("envelopes").Select("id, audit_seq, audit_head")
	if !since.IsZero() {
		query = query.Where("id IN (SELECT envelope_id FROM audit_events WHERE timestamp >= ? UNION ALL SELECT envelope_id FROM envelope_archives WHERE last_event_at >= ? AND released_at IS NULL)", since.UTC(), since.UTC())
	}
	rows, err := query.Order("id").Rows()
	if err != nil {
		return fmt.Errorf("list the heads of audit chains: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h ChainHead
		if err := rows.Scan(&h.EnvelopeID, &h.Seq, &h.Hash); err != nil {
			return fmt.Errorf("list the heads of audit chains: %w", err)
		}
		if err := visit(h); err != nil {
			return err
		}
	}
	return wrap(rows.Err(), "list the heads of audit chains")
}

// ChainLinks returns the subset of the given positions whose events have the given hashes. A position in an audit chain
// consists of an envelope and a number.
func (s *MaintenanceRepository) ChainLinks(ctx context.Context, places []ChainHead) (map[ChainHead]bool, error) {
	found := make(map[ChainHead]bool)
	for range archiveAttempts {
		if len(places) == 0 {
			break
		}
		if err := s.addLinks(ctx, places, found); err != nil {
			return nil, err
		}
		var err error
		if places, err = s.addArchivedLinks(ctx, places, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// addLinks adds the positions whose events are in the database.
func (s *MaintenanceRepository) addLinks(ctx context.Context, places []ChainHead, found map[ChainHead]bool) error {
	pairs, args := make([]string, len(places)), make([]any, 0, 2*len(places))
	for i, p := range places {
		pairs[i] = "(?,?)"
		args = append(args, p.EnvelopeID, p.Seq)
	}
	values := ""
	if !s.postgres {
		values = "VALUES " // SQLite requires VALUES before a list of pairs
	}
	var rows []ChainHead
	err := s.db.WithContext(ctx).Table("audit_events").Select("envelope_id, seq, hash").
		Where("(envelope_id, seq) IN ("+values+strings.Join(pairs, ",")+")", args...).Scan(&rows).Error
	if err != nil {
		return fmt.Errorf("look up events: %w", err)
	}
	maps.Copy(found, setOf(rows))
	return nil
}

// addArchivedLinks adds the positions whose events are in archives. It ignores damaged archives. It returns the
// positions that no archive contains. Their envelopes may have been restored after the rows were read.
func (s *MaintenanceRepository) addArchivedLinks(ctx context.Context, places []ChainHead, found map[ChainHead]bool) (again []ChainHead, err error) {
	missing := make(map[uuid.UUID][]ChainHead)
	for _, p := range places {
		if !found[p] {
			missing[p.EnvelopeID] = append(missing[p.EnvelopeID], p)
		}
	}
	for envelope, of := range missing {
		c, err := s.archives.readArchive(ctx, envelope)
		var broken *ArchiveError
		switch {
		case errors.Is(err, errNotArchived):
			again = append(again, of...)
			continue
		case errors.As(err, &broken):
			continue
		case err != nil:
			return nil, err
		}
		for _, p := range of {
			for _, ev := range c.Events {
				if ev.Seq == p.Seq && ev.Hash == p.Hash {
					found[p] = true
				}
			}
		}
	}
	return again, nil
}

// AnchorFiles returns the subset of the keys that belong to lists of recorded anchors.
func (s *MaintenanceRepository) AnchorFiles(ctx context.Context, keys []string) (map[string]bool, error) {
	var found []string
	if err := s.db.WithContext(ctx).Model(&Anchor{}).Where("blob_key IN ?", keys).Pluck("blob_key", &found).Error; err != nil {
		return nil, fmt.Errorf("list anchors: %w", err)
	}
	return setOf(found), nil
}
