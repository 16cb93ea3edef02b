package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// Limits for contacts. Lists of contacts are sorted and filtered by the process rather than by the database, because
// contacts are encrypted.
const (
	MaxContacts    = 50_000
	MaxContactPage = 1000
)

// errConcurrentInsert means that another transaction inserted the row first.
var errConcurrentInsert = errors.New("store: another process inserted the row first")

// SaveContact creates a contact, or updates the contact with the same address. If keepPhone is set, the stored phone
// number is kept.
func (s *AppRepository) SaveContact(ctx context.Context, c models.Contact, keepPhone bool) (*models.Contact, error) {
	err := s.tx(ctx, func(tx *gorm.DB) error {
		err := s.saveContact(tx, &c, keepPhone)
		if errors.Is(err, errConcurrentInsert) { // the contact exists now
			err = s.saveContact(tx, &c, keepPhone)
		}
		return err
	})
	return &c, wrap(err, "save contact")
}

func (s *AppRepository) saveContact(tx *gorm.DB, c *models.Contact, keepPhone bool) error {
	keys := s.contactKeys(c.AppID, c.Email)
	old, err := first[models.Contact](s.locked(tx).Where("app_id = ? AND email_key IN ?", c.AppID, keys).Order("id"))
	if err != nil {
		return err
	}
	c.EmailKey = keys[0]
	if old != nil {
		c.ID, c.CreatedAt = old.ID, old.CreatedAt
		if keepPhone {
			if err := decrypt(s.engine, old); err != nil {
				return err
			}
			c.Phone = old.Phone
		}
		row := encrypt(s.engine, c)
		return tx.Model(row).Select("*").Updates(row).Error
	}
	c.ID, c.CreatedAt = s.newID(), s.now()
	if err := checkContactLimit(tx, c.AppID); err != nil {
		return err
	}
	return requireRows(tx.Clauses(clause.OnConflict{DoNothing: true}).Create(encrypt(s.engine, c)), errConcurrentInsert)
}

// checkContactLimit returns an error if an app already has the maximum number of contacts.
func checkContactLimit(tx *gorm.DB, app uuid.UUID) error {
	n, err := count(tx.Model(&models.Contact{}).Where("app_id = ?", app))
	if err != nil {
		return err
	}
	if n >= MaxContacts {
		return models.Reject(models.KindConflict, "too_many_contacts", "An app can have at most %d contacts. Delete one first.", MaxContacts)
	}
	return nil
}

// Contacts returns a page of an app's contacts sorted by name, and the total number of matching contacts. The search
// string can match any part of the name or address. Page numbers start at one.
func (s *AppRepository) Contacts(ctx context.Context, app uuid.UUID, search string, pageNumber, size int) (_ []models.Contact, total int, err error) {
	search = normalizeForSearch(search)
	var list []searchableContact
	var page []models.Contact
	start, end := (pageNumber-1)*size, pageNumber*size
	err = s.db.WithContext(ctx).Where("app_id = ?", app).FindInBatches(&page, MaxContactPage, func(*gorm.DB, int) error {
		for _, c := range page {
			if err := decrypt(s.engine, &c); err != nil {
				return err
			}
			if text := normalizeForSearch(c.Name, c.Email); strings.Contains(text, search) {
				list = append(list, searchableContact{text, c})
				total++
			}
		}
		slices.SortFunc(list, func(a, b searchableContact) int { return cmp.Compare(a.text, b.text) })
		list = list[:min(len(list), end)]
		return nil
	}).Error
	if err != nil {
		return nil, 0, fmt.Errorf("list contacts: %w", err)
	}
	list = list[min(start, len(list)):]
	return mapSlice(list, func(c searchableContact) models.Contact { return c.contact }), total, nil
}

// searchableContact is a contact with the normalized text that is used for searching and sorting.
type searchableContact struct {
	text    string
	contact models.Contact
}

// DeleteContact deletes an app's contact.
func (s *AppRepository) DeleteContact(ctx context.Context, app, id uuid.UUID) error {
	result := s.db.WithContext(ctx).Where("id = ? AND app_id = ?", id, app).Delete(&models.Contact{})
	return wrap(requireRows(result, models.ErrNotFound), "delete contact %s", id)
}

func (s *AppRepository) contactKeys(app uuid.UUID, email string) []string {
	return s.addressKeys("contacts "+app.String(), email)
}

// rehashContact updates a contact's lookup hash to the newest key. It deletes the contact if another row already has
// that hash. Such duplicates arise if processes with different keys create the same contact.
func (s *AppRepository) rehashContact(tx *gorm.DB, c *models.Contact) error {
	c.EmailKey = s.contactKeys(c.AppID, c.Email)[0]
	others, err := count(tx.Model(c).Where("app_id = ? AND email_key = ? AND id <> ?", c.AppID, c.EmailKey, c.ID))
	if err != nil || others == 0 {
		return err
	}
	return tx.Delete(&models.Contact{}, "id = ?", c.ID).Error
}
