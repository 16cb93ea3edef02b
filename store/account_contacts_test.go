package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

func TestContacts(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		first, err := s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "Änne Übel", Email: "Anne@Example.com"}, false)
		require.NoError(t, err)
		again, err := s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "Änne Über", Email: "anne@example.com"}, false)
		require.NoError(t, err)
		require.Equal(t, first.ID, again.ID)
		_, err = s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "Zoë", Email: "zoe@example.org"}, false)
		require.NoError(t, err)
		_, err = s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "adam", Email: "adam@example.org"}, false)
		require.NoError(t, err)
		all, total, err := s.Contacts(t.Context(), app.ID, "example.ORG", 1, 1000)
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, 2, total)
		require.Equal(t, "adam", all[0].Name, "by name")
		for search, n := range map[string]int{"": 3, "ÄNNE": 1, "EXAMPLE": 3, "%": 0, "_": 0, `\`: 0, "bel": 0} {
			got, _, err := s.Contacts(t.Context(), app.ID, search, 1, 1000)
			require.NoError(t, err)
			require.Len(t, got, n, search)
		}
		require.ErrorIs(t, s.DeleteContact(t.Context(), uuid.New(), first.ID), models.ErrNotFound)
		require.NoError(t, s.DeleteContact(t.Context(), app.ID, first.ID))
	})
}

// TestContacts_AreLimited checks that the number of an app's contacts is limited, and that existing contacts can be
// changed when the limit is reached.
func TestContacts_AreLimited(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		s := d.open(t, 1)
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		db, v := openRaw(t, d.kind, d.url), kit.VaultOf(t, 1)
		fill := func(from, to int, name func(id, n string) string) {
			var rows []string
			for n := from; n <= to; n++ {
				id := fmt.Sprintf("00000000-0000-7000-8000-0000000%d", n)
				rows = append(rows, fmt.Sprintf("('%s', '%s', '%s', '', 'key %d', '2026-01-02 03:04:05+00:00')", id, app.ID, name(id, strconv.Itoa(n)), n))
			}
			for page := range slices.Chunk(rows, 1000) {
				_, err := db.ExecContext(t.Context(), "INSERT INTO contacts (id, app_id, name, email, email_key, created_at) VALUES "+strings.Join(page, ","))
				require.NoError(t, err)
			}
		}
		known, err := s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "Contact 10000", Email: "10000@example.com"}, false)
		require.NoError(t, err)
		other, _, err := s.CreateApp(t.Context(), "Other", models.PlanPro, nil)
		require.NoError(t, err)
		// With the contact above, there are 2,500 contacts, which fill two and a half pages.
		fill(10_001, 12_499, func(id, n string) string { return v.EncryptText("Contact "+n, "contacts.name "+id) })
		list, total, err := s.Contacts(t.Context(), app.ID, "CONTACT", 1, 1000)
		require.NoError(t, err)
		require.Len(t, list, 1000)
		require.Equal(t, 2500, total, "contacts beyond the page are counted")
		last, _, err := s.Contacts(t.Context(), app.ID, "CONTACT", 3, 1000)
		require.NoError(t, err)
		require.Len(t, last, 500)
		require.Equal(t, "Contact 12499", last[499].Name)
		none, _, err := s.Contacts(t.Context(), app.ID, "CONTACT", 4, 1000)
		require.NoError(t, err)
		require.Empty(t, none)
		require.Equal(t, "Contact 10000", list[0].Name)
		require.Equal(t, "Contact 10999", list[999].Name)

		fill(12_500, 9_999+store.MaxContacts, func(string, string) string { return "" })
		_, err = s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "One more", Email: "new@example.com"}, false)
		require.ErrorContains(t, err, "too_many_contacts")
		_, err = s.SaveContact(t.Context(), models.Contact{AppID: other.ID, Name: "Another app's", Email: "new@example.com"}, false)
		require.NoError(t, err)
		_, err = s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "Changed", Email: "10000@EXAMPLE.com"}, false)
		require.NoError(t, err)
		require.Equal(t, known.ID, list[0].ID)
		require.NoError(t, s.DeleteContact(t.Context(), app.ID, list[0].ID))
		_, err = s.SaveContact(t.Context(), models.Contact{AppID: app.ID, Name: "One more", Email: "new@example.com"}, false)
		require.NoError(t, err)
	})
}

// TestContacts_BelongToTheirApp checks that a contact is loaded as it was saved, including the phone number, and that
// several apps can have contacts with the same address.
func TestContacts_BelongToTheirApp(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		app, _, err := s.CreateApp(ctx, "A", models.PlanFree, nil)
		require.NoError(t, err)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		phone, another := "+442079460958", "+12025550143"
		save := func(app *models.App, name string, phone *string, keep bool) *models.Contact {
			c, err := s.SaveContact(ctx, models.Contact{AppID: app.ID, Name: name, Email: "ada@example.com", Phone: phone}, keep)
			require.NoError(t, err)
			return c
		}
		first := save(app, "Ada", &phone, false)
		foreign := save(other, "Other Ada", nil, false)
		require.NotEqual(t, first.ID, foreign.ID)
		made := clock.Now()
		clock.Add(time.Minute)
		for _, c := range []struct {
			phone *string
			keep  bool
			want  *string
		}{{nil, true, &phone}, {&another, true, &phone}, {&another, false, &another}, {nil, false, nil}} {
			save(app, "Ada L", c.phone, c.keep)
			list, total, err := s.Contacts(ctx, app.ID, "", 1, 9)
			require.NoError(t, err)
			require.Equal(t, 1, total)
			assert.Equal(t, []any{first.ID, "Ada L", made}, []any{list[0].ID, list[0].Name, list[0].CreatedAt.UTC()})
			assert.Equal(t, c.want, list[0].Phone)
		}
		list, _, err := s.Contacts(ctx, other.ID, "", 1, 9)
		require.NoError(t, err)
		assert.Equal(t, "Other Ada", list[0].Name)
		require.NoError(t, s.DeleteContact(ctx, app.ID, first.ID))
		require.ErrorIs(t, s.DeleteContact(ctx, app.ID, first.ID), models.ErrNotFound)
		assert.Len(t, listOf(s.Contacts(ctx, other.ID, "", 1, 9)), 1)
	})
}
