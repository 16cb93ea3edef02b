package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestSearch checks that envelopes are found by any part of the subject or a name, by an address, and by a domain.
// Searches ignore case in every script, on both databases.
func TestSearch(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		url := kit.MigratedURL(t, kind)
		s, err := store.Open(t.Context(), store.Config{URL: url, BaseURL: "https://sign.example.com", PasswordCost: kit.PasswordCost, Vault: kit.Vault(t), Now: clock, NewID: newID})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		other, _, err := s.CreateApp(t.Context(), "Other", models.PlanEnterprise, nil)
		require.NoError(t, err)
		house := draft(t, s, app.ID, "t", "Mietvertrag Straße 50%_\\")
		greek := draft(t, s, app.ID, "t", "ΟΔΟΣ Ἀθῆναι")
		numbers := draft(t, s, app.ID, "t", "Order 1234567/890123 of １２３４５, AB987654321")
		draft(t, s, other.ID, "t", "Straße 1234567")
		_, err = s.Change(t.Context(), app.ID, greek.ID, func(e *models.Envelope) error {
			for _, in := range []models.SignerInput{{Name: "Łukasz É\u0301", Email: "Late@Example.com"}, {Name: "54321", Email: "late@54321"}} {
				in.RoutingOrder, in.AuthMethod = 1, models.AuthNone
				if _, err := e.AddSigner(models.ActionContext{At: clock(), Actor: "system", NewID: newID}, in); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		_, err = s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "Ἀδελφός", Email: "A@example.com"}, false)
		require.NoError(t, err)
		for text, want := range map[string][]*models.Envelope{
			"STRASSE": {house}, "straße 50%": {house}, `%_\`: {house}, "%%": nil, "οδος": {greek}, "ΆΘ": nil, "ŁUKASZ": {greek},
			"LATE@example": nil, "late@EXAMPLE.com ": {greek}, "ada mietvertrag": {house}, "vertrag\nada": nil, "ADA@EXAMPLE.COM": {numbers, greek, house},
			"@example.com": {numbers, greek, house}, "Example.COM": {numbers, greek, house}, "example.co": nil, "nobody": nil,
			"1234567": {numbers}, "34567": {numbers}, "67/89012": {numbers}, "7/890123 OF": {numbers}, "ab987654321": {numbers}, "１２３４５６７": {numbers},
			"2345678": nil, "12345678": nil, "1234567 890123": nil, "23456 ": nil, "4567": {numbers}, "54321": {numbers, greek}, "@54321": {greek},
			house.ID.String(): {house}, " " + strings.ToUpper(greek.ID.String()): {greek},
		} {
			found, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Search: text, Page: 1, Size: 10})
			require.NoError(t, err)
			require.EqualValues(t, len(want), total, "%q", text)
			require.Len(t, found, len(want), "%q", text)
			for i := range found {
				require.Equal(t, want[i].ID, found[i].ID, "%q, newest first", text)
			}
		}
		contacts, _, err := s.Contacts(t.Context(), app.ID, "ἀδελφΌΣ", 1, 1000)
		require.NoError(t, err)
		require.Len(t, contacts, 1)
		if kind != "postgres" {
			return
		}
		plan := ""
		db := openRaw(t, kind, url)
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		_, err = conn.ExecContext(t.Context(), "SET enable_seqscan = off")
		require.NoError(t, err)
		err = conn.QueryRowContext(t.Context(), `EXPLAIN (FORMAT JSON) SELECT envelope_id FROM envelope_search WHERE text LIKE '%strasse%' ESCAPE '\'`).Scan(&plan)
		require.NoError(t, err)
		require.Contains(t, plan, "envelope_search_text")
		for searched, want := range map[string]string{"123456 of 98765": "filo fc9", "1234 of 9876": "", "a00000z": "000"} {
			var groups sql.NullString
			require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT number_groups($1)", searched).Scan(&groups))
			require.Equal(t, want, groups.String, searched)
		}
	})
}

// otherColumns lists the columns of a table except for the given ones, for a statement that copies rows.
func otherColumns(t *testing.T, s *store.Store, table string, except ...string) string {
	t.Helper()
	rows, err := pool(t, s).QueryContext(t.Context(), "SELECT * FROM "+table+" LIMIT 0")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	names, err := rows.Columns()
	require.NoError(t, errors.Join(err, rows.Err()))
	return strings.Join(slices.DeleteFunc(names, func(c string) bool { return slices.Contains(except, c) }), ", ")
}

func execute(t *testing.T, s *store.Store, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := pool(t, s).ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
}

func idsOf(list []*models.Envelope) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

// TestSearch_AmongMany checks that pages and totals are correct for any number of matches.
func TestSearch_AmongMany(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.prepared()
		ids := []uuid.UUID{e.ID}
		_, err := pool(t, s).ExecContext(ctx, "UPDATE envelope_search SET text = text || ' 1234567'")
		require.NoError(t, err)
		others := otherColumns(t, s, "envelopes", "id")
		for _, n := range []int{199, 200, 203} {
			tx, err := pool(t, s).BeginTx(ctx, nil)
			require.NoError(t, err)
			for len(ids) < n {
				id := newID()
				ids = append(ids, id)
				for _, sql := range []string{
					"INSERT INTO envelopes (id, " + others + ") SELECT '" + id.String() + "', " + others + " FROM envelopes WHERE id = '" + e.ID.String() + "'",
					"INSERT INTO envelope_search (envelope_id, app_id, text, addresses) SELECT '" + id.String() + "', app_id, text, addresses FROM envelope_search WHERE envelope_id = '" + e.ID.String() + "'",
				} {
					_, err := tx.ExecContext(ctx, sql)
					require.NoError(t, err)
				}
			}
			require.NoError(t, tx.Commit())
			slices.SortFunc(ids, func(a, b uuid.UUID) int { return strings.Compare(b.String(), a.String()) })
			for _, filter := range []store.EnvelopeFilter{
				{Search: "mill"},
				{Search: "mill", Status: models.StatusDraft},
				{Text: "mill", Tenant: e.TenantID},
				{Search: "234567"},
				{Search: "1234567", Status: models.StatusDraft},
				{Text: "12345", Tenant: e.TenantID},
				{CreatedAfter: e.CreatedAt},
				{CreatedBefore: e.CreatedAt.Add(time.Second), Status: models.StatusInProgress},
				{CreatedAfter: e.CreatedAt, CreatedBefore: e.CreatedAt.Add(time.Second), Text: "mill", Tenant: e.TenantID},
				{UpdatedSince: e.UpdatedAt, Tenant: e.TenantID},
			} {
				want := ids
				if filter.Status == models.StatusInProgress {
					want = []uuid.UUID{}
				}
				filter.App, filter.Size = f.app.ID, 100
				for _, page := range []int{1, 2, 3, 4} {
					filter.Page = page
					found, total, err := s.Envelopes(ctx, filter)
					require.NoError(t, err)
					require.EqualValues(t, len(want), total, "%+v", filter)
					require.Equal(t, want[min(len(want), 100*page-100):min(len(want), 100*page)], idsOf(found), "%d: %+v", n, filter)
				}
				got := []uuid.UUID{} // using cursors
				for filter.Page = 1; ; filter.After = (&store.ListPosition{ID: got[len(got)-1], At: e.CreatedAt}) {
					found, _, err := s.Envelopes(ctx, filter)
					require.NoError(t, err)
					if got = append(got, idsOf(found)...); len(found) < filter.Size {
						break
					}
				}
				require.Equal(t, want, got, "%d: %+v", n, filter)
			}
		}
	})
}

// TestSearch_FindsEveryPart checks that a search for any part of a subject finds exactly the envelopes that contain
// it.
func TestSearch_FindsEveryPart(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, _ *kit.Clock) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(1, 2))
		of := func(alphabet string, n int) string {
			var b strings.Builder
			for range n {
				b.WriteByte(alphabet[random.IntN(len(alphabet))])
			}
			return b.String()
		}
		subjects := make([]string, 40)
		for i := range subjects {
			// Numbers consist of only a few different digits, so their parts occur in many subjects.
			subjects[i] = of("0123", 8) + of(" -/x", 1) + of("01", 6) + of("1% x", 3) + of("0123", 5)
			draft(t, s, app.ID, "t", subjects[i])
		}
		for range 300 {
			subject := subjects[random.IntN(len(subjects))]
			from := random.IntN(len(subject) - 3)
			part := subject[from : from+3+random.IntN(len(subject)-from-2)]
			if random.IntN(3) == 0 {
				part += of("01x", 1)
			}
			var want []string
			for _, v := range slices.Backward(subjects) {
				if strings.Contains("Ada "+v, part) { // draft adds the signer's name, followed by the subject
					want = append(want, v)
				}
			}
			for _, filter := range []store.EnvelopeFilter{{Search: part}, {Text: part}, {Search: part, Tenant: "t"}} {
				filter.App, filter.Page, filter.Size = app.ID, 1, 100
				found, total, err := s.Envelopes(t.Context(), filter)
				require.NoError(t, err)
				var got []string
				for _, e := range found {
					got = append(got, *e.Subject)
				}
				require.Equal(t, want, got, "%q", part)
				require.EqualValues(t, len(want), total)
			}
		}
	})
}

// TestSearchStatistics_ExpectRareMatches checks that PostgreSQL expects few rows for a rare address or number, and
// many rows for a frequent one. It therefore uses the index only for a rare one.
func TestSearchStatistics_ExpectRareMatches(t *testing.T) {
	t.Parallel()
	const n = 20_000
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.prepared()
		execute(t, s,
			"ALTER TABLE envelope_search DROP CONSTRAINT envelope_search_envelope_id_fkey", // the rows inserted below have no envelopes
			fmt.Sprintf(`INSERT INTO envelope_search (envelope_id, app_id, text, addresses)
				SELECT gen_random_uuid(), app_id, CASE WHEN mod(g, 5) = 0 THEN 'contract of 20261122, ' ELSE 'contract ' END || 3000000 + g, array_append(addresses[2:2], md5(g::text)) FROM envelope_search, generate_series(2, %d) AS g`, n),
			"VACUUM (ANALYZE) envelope_search",
		)
		everybody := e.Signers[0].Email[strings.LastIndex(e.Signers[0].Email, "@")+1:]
		for _, c := range []struct {
			filter      store.EnvelopeFilter
			few         bool
			least, most float64
			byGroups    bool // whether the index of number groups is used
		}{
			{store.EnvelopeFilter{Search: "nobody@example.org"}, true, 0, 10, false},
			{store.EnvelopeFilter{Search: "contract 77"}, true, 1, 1000, false},
			{store.EnvelopeFilter{Search: "1234567"}, true, 0, 10, true},
			{store.EnvelopeFilter{Search: "no 1234567/76543"}, true, 0, 10, true},
			{store.EnvelopeFilter{Search: everybody}, true, n, n, false},
			{store.EnvelopeFilter{Search: everybody}, false, n, n, false},
			{store.EnvelopeFilter{Search: "20261122"}, true, n / 30, n, false},
			{store.EnvelopeFilter{Search: "20261122"}, false, n / 7, n / 4, false},
		} {
			c.filter.App = f.app.ID
			rows, plan, err := s.ExpectedMatches(ctx, c.filter, c.few)
			require.NoError(t, err)
			if c.byGroups {
				require.Contains(t, plan, `"envelope_search_numbers"`, "%+v", c)
				require.NotContains(t, plan, `"envelope_search_text"`, "%+v", c)
			}
			require.GreaterOrEqual(t, rows, c.least, "%+v", c)
			require.LessOrEqual(t, rows, c.most, "%+v", c)
		}
	})
}

// TestTimeFilters_ReadTheirIndex checks that PostgreSQL finds envelopes in a time range through the index on that
// time, instead of scanning the table.
func TestTimeFilters_ReadTheirIndex(t *testing.T) {
	t.Parallel()
	const n = 20_000
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.prepared()
		others := otherColumns(t, s, "envelopes", "id", "created_at", "updated_at")
		execute(t, s,
			fmt.Sprintf(`INSERT INTO envelopes (id, created_at, updated_at, %[1]s)
				SELECT (lpad(to_hex(1700000000000 + g * 3000), 12, '0') || '7a00800000000000000a')::uuid, created_at + make_interval(secs => g), updated_at + make_interval(secs => g), %[1]s
				FROM envelopes, generate_series(1, %[2]d) AS g WHERE id = '%[3]s'`, others, n, e.ID),
			"VACUUM (ANALYZE) envelopes",
		)
		middle := e.CreatedAt.Add(n / 2 * time.Second)
		for name, c := range map[string]struct {
			filter store.EnvelopeFilter
			index  string
		}{
			"made after":             {store.EnvelopeFilter{CreatedAfter: middle}, "envelopes_created"},
			"made before":            {store.EnvelopeFilter{CreatedBefore: middle, Tenant: e.TenantID}, "envelopes_created"},
			"drafts made before":     {store.EnvelopeFilter{CreatedBefore: middle, Status: models.StatusDraft}, "envelopes_created"},
			"changed since":          {store.EnvelopeFilter{UpdatedSince: middle, ByUpdate: true, Tenant: e.TenantID}, "envelopes_updated"},
			"made and changed since": {store.EnvelopeFilter{UpdatedSince: middle, CreatedBefore: middle.Add(time.Hour), Tenant: e.TenantID}, "envelopes_created"},
		} {
			c.filter.App, c.filter.Page, c.filter.Size = f.app.ID, 1, 20
			plans, err := s.Plans(ctx, c.filter)
			require.NoError(t, err)
			for _, plan := range plans {
				require.Contains(t, plan, `"`+c.index+`"`, name)
				require.NotContains(t, plan, `"Seq Scan"`, name)
			}
		}
	})
}

// TestExternalIDs_ReadTheirIndex checks that PostgreSQL finds the envelopes with an external ID, including failed
// ones, through an index.
func TestExternalIDs_ReadTheirIndex(t *testing.T) {
	t.Parallel()
	const n = 20_000
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.prepared()
		others := otherColumns(t, s, "envelopes", "id", "external_id", "status")
		execute(t, s,
			fmt.Sprintf(`INSERT INTO envelopes (id, external_id, status, %[1]s)
				SELECT gen_random_uuid(), CASE WHEN mod(g, 2) = 0 THEN 'order ' || g END, CASE mod(g, 3) WHEN 0 THEN 'voided' WHEN 1 THEN 'in_progress' ELSE 'draft' END, %[1]s FROM envelopes, generate_series(1, %[2]d) AS g WHERE id = '%[3]s'`, others, n, e.ID),
			"VACUUM (ANALYZE) envelopes",
		)
		for _, filter := range []store.EnvelopeFilter{{}, {Status: models.StatusVoided}} {
			filter.App, filter.Tenant, filter.ExternalID, filter.Page, filter.Size = f.app.ID, e.TenantID, "order 14", 1, 20
			plans, err := s.Plans(ctx, filter)
			require.NoError(t, err)
			for _, plan := range plans {
				require.Contains(t, plan, `"envelopes_list_external_id"`, "%+v", filter)
			}
		}
	})
}
