package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// searchRow is what a search looks through for one envelope.
type searchRow struct {
	EnvelopeID uuid.UUID `gorm:"primaryKey"`
	AppID      uuid.UUID
	Text       string // subject and names, folded, a line each
}

// addressRow is a hash that an envelope is found by: that of a signer's address,
// or of its domain.
type addressRow struct {
	Hash       string    `gorm:"primaryKey"`
	EnvelopeID uuid.UUID `gorm:"primaryKey"`
}

// TableName is the table of addressRow.
func (addressRow) TableName() string { return "envelope_addresses" }

// TableName is the table of searchRow.
func (searchRow) TableName() string { return "envelope_search" }

// fold makes texts equal that differ in case or in how their characters are
// composed (Unicode 3.13, D144 and D145).
func fold(parts ...string) string {
	return norm.NFKC.String(cases.Fold().String(strings.Join(parts, "\n")))
}

// contains is the LIKE pattern, without its wildcards, for what has text in it.
func contains(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(fold(text)) + "%"
}

func searchRowOf(e *models.Envelope) searchRow {
	var parts []string
	if e.Subject != nil {
		parts = append(parts, *e.Subject)
	}
	for _, v := range e.Signers {
		parts = append(parts, v.Name)
	}
	return searchRow{EnvelopeID: e.ID, AppID: e.AppID, Text: fold(parts...)}
}

// makeFindable keeps what a search finds the envelope by; signers are the only
// part of it that comes later.
func (s *Store) makeFindable(tx *gorm.DB, e *models.Envelope, signersBefore int) error {
	if signersBefore > 0 && len(e.Signers) == signersBefore {
		return nil
	}
	row := searchRowOf(e)
	if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("make findable: %w", err)
	}
	return s.addAddresses(tx, e, e.Signers[signersBefore:])
}

func (s *Store) addAddresses(tx *gorm.DB, e *models.Envelope, signers []*models.Signer) error {
	var rows []addressRow
	for _, v := range signers {
		domain := v.Email[strings.LastIndex(v.Email, "@")+1:]
		rows = append(rows,
			addressRow{Hash: s.addressHashes(e.AppID, v.Email)[0], EnvelopeID: e.ID},
			addressRow{Hash: s.addressHashes(e.AppID, domain)[0], EnvelopeID: e.ID})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(rows, 200).Error; err != nil {
		return fmt.Errorf("make findable by address: %w", err)
	}
	return nil
}

// addressHashes are those of an address or a domain, as an app's search looks
// for them.
func (s *Store) addressHashes(app uuid.UUID, text string) []string {
	return s.index.Hashes("search "+app.String(), fold(strings.TrimSpace(text)))
}

// searchedHashes are those that a search text has if it is an address, or a
// domain, which may begin with "@".
func (s *Store) searchedHashes(app uuid.UUID, text string) []string {
	return s.addressHashes(app, strings.TrimPrefix(strings.TrimSpace(text), "@"))
}

// foldAll is a migration: it makes what is there findable. Addresses are still
// in plain then; Rewrap takes them out.
func (s *Store) foldAll(ctx context.Context, conn *sql.Tx) error {
	tx := s.db.Session(&gorm.Session{NewDB: true, Context: ctx, PrepareStmt: false})
	tx.Statement.ConnPool = conn
	const batch = 1000
	for last := uuid.Nil; ; {
		var list []*models.Envelope
		if err := tx.Select("id", "app_id", "subject").Where("id > ?", last).Order("id").Limit(batch).Find(&list).Error; err != nil {
			return fmt.Errorf("read envelopes: %w", err)
		}
		if len(list) == 0 {
			break
		}
		first := list[0].ID
		last = list[len(list)-1].ID
		byID := make(map[uuid.UUID]*models.Envelope, len(list))
		for _, e := range list {
			byID[e.ID] = e
		}
		var signers []*models.Signer
		err := tx.Select("envelope_id", "name", "email").Where("envelope_id BETWEEN ? AND ?", first, last).Order("position").Find(&signers).Error
		if err != nil {
			return fmt.Errorf("read signers: %w", err)
		}
		for _, v := range signers {
			byID[v.EnvelopeID].Signers = append(byID[v.EnvelopeID].Signers, v)
		}
		rows := make([]searchRow, 0, len(list))
		for _, e := range list {
			row := searchRowOf(e)
			for _, v := range e.Signers {
				row.Text += "\n" + fold(v.Email)
			}
			rows = append(rows, row)
		}
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).CreateInBatches(rows, batch).Error; err != nil {
			return fmt.Errorf("make findable: %w", err)
		}
	}
	return nil
}
