package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
)

func clock() time.Time { return time.Now().UTC() }

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// eachDatabase runs a test on both databases.
func eachDatabase(t *testing.T, test func(*testing.T, *store.Store)) {
	t.Helper()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v, err := vault.New("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
			require.NoError(t, err)
			s, err := store.Open(t.Context(), store.Config{
				URL: testkit.MigratedURL(t, kind), PasswordCost: testkit.PasswordCost, BaseURL: "https://sign.example.com", Vault: v, Now: clock,
				NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) },
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			test(t, s)
		})
	}
}

func draft(t *testing.T, s *store.Store, app uuid.UUID, tenant, subject string) *models.Envelope {
	t.Helper()
	act := models.ActionContext{At: clock().Truncate(time.Microsecond), Actor: models.AppActor(app), NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) }}
	e, err := models.NewEnvelope(act, models.Envelope{AppID: app, TenantID: tenant, CreatedBy: "test", Subject: &subject})
	require.NoError(t, err)
	_, err = e.AddSigner(act, models.SignerInput{Name: "Ada " + subject, Email: "ada@example.com", RoutingOrder: 1, AuthMethod: models.AuthNone})
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), e))
	return e
}

func void(t *testing.T, s *store.Store, e *models.Envelope) {
	t.Helper()
	_, err := s.Change(t.Context(), e.AppID, e.ID, func(e *models.Envelope) error {
		return e.Void(models.ActionContext{At: clock().Truncate(time.Microsecond), Actor: "system", NewID: uuid.New}, nil)
	})
	require.NoError(t, err)
}

func TestCountsFollowEveryChange(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		for i := range 250 {
			e := draft(t, s, app.ID, fmt.Sprintf("t%d", i%2), fmt.Sprintf("no %d", i))
			if i%5 == 0 {
				void(t, s, e)
			}
		}
		expect := func(tenant string, status models.Status, want int64) {
			t.Helper()
			list, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Tenant: tenant, Status: status, Page: 1, Size: 7})
			require.NoError(t, err)
			require.Equal(t, want, total)
			require.Len(t, list, int(min(want, 7)))
			for i := 1; i < len(list); i++ {
				require.Greater(t, list[i-1].ID.String(), list[i].ID.String(), "newest first")
			}
		}
		for range 3 { // before, during and after folding
			expect("", "", 250)
			expect("t0", "", 125)
			expect("", models.StatusDraft, 200)
			expect("", models.StatusVoided, 50)
			expect("t1", models.StatusVoided, 25)
			expect("t1", models.StatusInProgress, 0)
			_, err := s.CompactCounts(t.Context())
			require.NoError(t, err)
		}
		list, total, err := s.Envelopes(t.Context(), store.EnvelopeFilter{App: app.ID, Search: "ADA no 24", Page: 1, Size: 20})
		require.NoError(t, err)
		require.EqualValues(t, 11, total) // 24 and 240 to 249
		require.Len(t, list, 11)
	})
}

func TestSettingsLayers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		seven, thirty, name := 7, 30, "Legal"
		require.NoError(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, DefaultExpiryDays: &thirty, SenderName: &name}))
		require.NoError(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, TenantID: "t", DefaultExpiryDays: &seven}))
		own, eff, err := s.Settings(t.Context(), app.ID, "t")
		require.NoError(t, err)
		require.Nil(t, own.SenderName)
		require.Equal(t, 7, *eff.DefaultExpiryDays)
		require.Equal(t, "Legal", *eff.SenderName)
		_, other, err := s.Settings(t.Context(), app.ID, "u")
		require.NoError(t, err)
		require.Equal(t, 30, *other.DefaultExpiryDays)
		require.NoError(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, TenantID: "t"}))
		_, eff, err = s.Settings(t.Context(), app.ID, "t")
		require.NoError(t, err)
		require.Equal(t, 30, *eff.DefaultExpiryDays)
		bad := 0
		require.Error(t, s.SaveSettings(t.Context(), models.Settings{AppID: app.ID, DefaultExpiryDays: &bad}))
	})
}

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

// TestSoManyContacts: an app's list has an end, since it is searched outside the
// database; what is there already can be changed.
func TestSoManyContacts(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url, clock := testkit.DatabaseURL(t, kind), testkit.NewClock()
			s := openStore(t, url, masterKeys(t, 1), clock)
			_, err := s.Migrate(t.Context())
			require.NoError(t, err)
			app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
			require.NoError(t, err)
			db, v := openRaw(t, kind, url), masterKeys(t, 1)
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
			// More than two pages.
			fill(10_001, 12_499, func(id, n string) string { return v.EncryptText("Contact "+n, "contacts.name "+id) })
			list, total, err := s.Contacts(t.Context(), app.ID, "CONTACT", 1, 1000)
			require.NoError(t, err)
			require.Len(t, list, 1000)
			require.Equal(t, 2500, total, "what the page leaves out is counted")
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
}

// TestSoManyWebhooks: an app cannot take all places for deliveries by
// registering endless endpoints.
func TestSoManyWebhooks(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, _ *testkit.Clock) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanEnterprise, nil)
		require.NoError(t, err)
		create := func() (*models.Webhook, error) {
			return s.CreateWebhook(t.Context(), app.ID, "https://example.com/h", []models.EventName{models.EventEnvelopeSent}, "")
		}
		var last *models.Webhook
		for range models.MaxWebhooks {
			last, err = create()
			require.NoError(t, err)
		}
		_, err = create()
		require.ErrorContains(t, err, "too_many_webhooks")
		require.NoError(t, s.DeleteWebhook(t.Context(), app.ID, last.ID))
		_, err = create()
		require.NoError(t, err)
	})
}

// TestDeliveryIsOneSnapshot: the attempts that are listed are those that are
// counted, while others are made.
func TestDeliveryIsOneSnapshot(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, s *store.Store) {
		app, _, err := s.CreateApp(t.Context(), "Acme", models.PlanPro, nil)
		require.NoError(t, err)
		hook, err := s.CreateWebhook(t.Context(), app.ID, "https://example.com/h", []models.EventName{models.EventEnvelopeSent}, "")
		require.NoError(t, err)
		d, err := s.PingWebhook(t.Context(), app.ID, hook.ID)
		require.NoError(t, err)
		written := make(chan error, 1)
		go func() {
			for i := range 40 {
				_, err := s.RecordAttempt(t.Context(), models.DeliveryAttempt{DeliveryID: d.ID, At: clock(), Status: 500}, models.DeliveryOutcome{WebhookID: hook.ID, Delivered: i == 39})
				if err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		for reading := true; reading; {
			select {
			case err := <-written:
				require.NoError(t, err)
				reading = false
			default:
			}
			got, _, log, err := s.Delivery(t.Context(), app, d.ID)
			require.NoError(t, err)
			require.Len(t, log, got.Attempts)
			require.Equal(t, len(log) == 40, got.Status == models.DeliveryDelivered)
		}
		_, _, _, err = s.Delivery(t.Context(), &models.App{ID: uuid.New()}, d.ID)
		require.ErrorIs(t, err, models.ErrNotFound)
	})
}
