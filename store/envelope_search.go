package store

import (
	"database/sql/driver"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"countersign/models"
)

// searchRow contains the text and addresses by which an envelope can be found.
type searchRow struct {
	EnvelopeID uuid.UUID
	AppID      uuid.UUID
	Text       string    // normalized subject and names, each on its own line
	Addresses  textArray // hashes of addresses and their domains
}

// containsPattern returns the LIKE pattern for strings that contain the given text.
func containsPattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

func (s *EnvelopeListRepository) searchRowOf(e *models.Envelope) searchRow {
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

// indexForSearch adds an envelope to the search index, or updates its entry.
func (s *EnvelopeListRepository) indexForSearch(b *batch, e *models.Envelope) {
	row := s.searchRowOf(e)
	b.exec(`INSERT INTO envelope_search (envelope_id, app_id, text, addresses) VALUES ($1, $2, $3, $4)
		ON CONFLICT (envelope_id) DO UPDATE SET text = excluded.text, addresses = excluded.addresses`,
		row.EnvelopeID, row.AppID, row.Text, row.Addresses)
}

// textArray is a PostgreSQL array of strings without special characters. SQLite stores the same representation as text.
type textArray []string

// Value implements driver.Valuer.
func (h textArray) Value() (driver.Value, error) { return "{" + strings.Join(h, ",") + "}", nil }

// search selects the envelopes whose subject or a signer's name contains the given text, or that have a signer with
// that address or domain. If few is set, few matches are expected. This affects only the query plan, not the result.
func (s *EnvelopeListRepository) search(app uuid.UUID, text string, few bool) (query string, args []any) {
	part, parts := s.textCondition(text, few)
	address, hashes := s.addressCondition(app, text, few)
	return "SELECT envelope_id FROM envelope_search WHERE app_id = ? AND (" + part + " OR " + address + ")",
		slices.Concat([]any{app}, parts, hashes)
}

// searchText selects the envelopes whose subject or a signer's name contains the given text. The parameter few has the
// same meaning as in search.
func (s *EnvelopeListRepository) searchText(app uuid.UUID, text string, few bool) (query string, args []any) {
	part, parts := s.textCondition(text, few)
	return "SELECT envelope_id FROM envelope_search WHERE app_id = ? AND " + part, append([]any{app}, parts...)
}

// searchAddress selects the envelopes that have a signer with the given address or domain. The parameter few has the
// same meaning as in search.
func (s *EnvelopeListRepository) searchAddress(app uuid.UUID, text string, few bool) (query string, args []any) {
	address, hashes := s.addressCondition(app, text, few)
	return "SELECT envelope_id FROM envelope_search WHERE app_id = ? AND (" + address + ")", append([]any{app}, hashes...)
}

// longNumber matches a number that the PostgreSQL function number_groups splits into groups.
var longNumber = regexp.MustCompile("[0-9]{5}")

// textCondition returns the condition that a row of envelope_search contains the given text. The parameter few has the
// same meaning as in search.
//
// If few matches are expected, PostgreSQL finds a number through the index of its groups (see the SQL function
// number_groups). The collation of the second comparison prevents PostgreSQL from also reading the text index.
func (s *EnvelopeListRepository) textCondition(text string, few bool) (condition string, args []any) {
	text = normalizeForSearch(text)
	if s.postgres && few && longNumber.MatchString(text) {
		return `(numbers LIKE '%' || number_groups(?) || '%' AND text COLLATE "C" LIKE ? ESCAPE '\')`, []any{text, containsPattern(text)}
	}
	return `text LIKE ? ESCAPE '\'`, []any{containsPattern(text)}
}

// addressCondition returns the condition that a row of envelope_search has an address or domain. A domain may begin
// with "@".
//
// PostgreSQL estimates that an address outside its statistics occurs in one of 200 rows, regardless of the size of the
// table. It would then scan a table with millions of rows for matches, and might find none. If few matches are
// expected, the condition is therefore repeated. PostgreSQL then estimates 1/200 of 1/200 of the rows, and prefers the
// index.
func (s *EnvelopeListRepository) addressCondition(app uuid.UUID, text string, few bool) (condition string, args []any) {
	hashes := s.addressHashes(app, strings.TrimPrefix(strings.TrimSpace(text), "@"))
	switch {
	case s.postgres && few:
		return "(addresses && ? AND addresses && ?)", []any{hashes, hashes}
	case s.postgres:
		return "addresses && ?", []any{hashes}
	}
	hits := mapSlice(hashes, func(string) string { return "instr(addresses, ?) > 0" })
	return strings.Join(hits, " OR "), mapSlice(hashes, func(hash string) any { return hash })
}

// addressHashes returns the hashes of an address or domain, as an app's search stores them.
func (s *EnvelopeListRepository) addressHashes(app uuid.UUID, text string) textArray {
	return s.index.Hashes("search "+app.String(), normalizeForSearch(strings.TrimSpace(text)))
}
