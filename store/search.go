package store

import (
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"countersign/models"
)

// searchRow is what a search looks through for one envelope.
type searchRow struct {
	EnvelopeID uuid.UUID
	AppID      uuid.UUID
	Text       string    // subject and names, folded, a line each
	Addresses  textArray // of addresses and their domains
}

// normalizeForSearch makes texts equal that differ in case or in how their characters are
// composed (Unicode 3.13, D144 and D145).
func normalizeForSearch(parts ...string) string {
	return norm.NFKC.String(cases.Fold().String(strings.Join(parts, "\n")))
}

// containsPattern is the LIKE pattern for what has text in it.
func containsPattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

func (s *Store) searchRowOf(e *models.Envelope) searchRow {
	row := searchRow{EnvelopeID: e.ID, AppID: e.AppID, Addresses: textArray{}}
	var parts []string
	if e.Subject != nil {
		parts = append(parts, *e.Subject)
	}
	for _, v := range e.Recipients() {
		parts = append(parts, v.Name)
		for _, text := range []string{v.Email, v.Email[strings.LastIndex(v.Email, "@")+1:]} {
			if h := s.addressHashes(e.AppID, text)[0]; !slices.Contains(row.Addresses, h) {
				row.Addresses = append(row.Addresses, h)
			}
		}
	}
	row.Text = normalizeForSearch(parts...)
	return row
}

// indexForSearch adds what a search finds the envelope by.
func (s *Store) indexForSearch(b *batch, e *models.Envelope) {
	row := s.searchRowOf(e)
	b.exec(`INSERT INTO envelope_search (envelope_id, app_id, text, addresses) VALUES ($1, $2, $3, $4)
		ON CONFLICT (envelope_id) DO UPDATE SET text = excluded.text, addresses = excluded.addresses`,
		row.EnvelopeID, row.AppID, row.Text, row.Addresses)
}

// textArray are a PostgreSQL array of texts without special characters; SQLite has
// the same text.
type textArray []string

// Value implements driver.Valuer.
func (h textArray) Value() (driver.Value, error) { return "{" + strings.Join(h, ",") + "}", nil }

// search selects the envelopes that have text in them, or an address of those hashes.
func (s *Store) search(app uuid.UUID, text string) (query string, args []any) {
	found := s.searchedHashes(app, text)
	args = []any{app, containsPattern(normalizeForSearch(text))}
	query = `SELECT envelope_id FROM envelope_search WHERE app_id = ? AND (text LIKE ? ESCAPE '\'`
	if s.postgres {
		return query + " OR addresses && ?)", append(args, found)
	}
	for _, h := range found {
		query += " OR instr(addresses, ?) > 0"
		args = append(args, h)
	}
	return query + ")", args
}

// searchAddress selects the envelopes with a signer of that address or domain.
func (s *Store) searchAddress(app uuid.UUID, text string) (query string, args []any) {
	found := s.searchedHashes(app, text)
	if s.postgres {
		return "SELECT envelope_id FROM envelope_search WHERE app_id = ? AND addresses && ?", []any{app, found}
	}
	hits := make([]string, 0, len(found))
	args = []any{app}
	for _, h := range found {
		hits, args = append(hits, "instr(addresses, ?) > 0"), append(args, h)
	}
	return "SELECT envelope_id FROM envelope_search WHERE app_id = ? AND (" + strings.Join(hits, " OR ") + ")", args
}

// addressHashes are those of an address or a domain, as an app's search looks
// for them.
func (s *Store) addressHashes(app uuid.UUID, text string) textArray {
	return s.index.Hashes("search "+app.String(), normalizeForSearch(strings.TrimSpace(text)))
}

// searchedHashes are those that a search text has if it is an address, or a
// domain, which may begin with "@".
func (s *Store) searchedHashes(app uuid.UUID, text string) textArray {
	return s.addressHashes(app, strings.TrimPrefix(strings.TrimSpace(text), "@"))
}
