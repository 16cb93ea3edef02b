package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/vault"
	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestRewrap checks that, after Rewrap has applied a new master key to all secrets, the former key is no longer
// needed.
func TestRewrap(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		first := d.open(t, 1)
		app, _, err := first.CreateApp(t.Context(), "A", models.PlanEnterprise, nil)
		require.NoError(t, err)
		_, err = first.CreateWebhook(t.Context(), app.ID, "https://example.com/1", []models.EventName{models.EventEnvelopeSent}, "secret of the hook")
		require.NoError(t, err)
		_, err = first.CreateWebhook(t.Context(), app.ID, "https://example.com/2", []models.EventName{models.EventEnvelopeSent}, "")
		require.NoError(t, err)
		const apps = 150 // more rows than one transaction processes
		for range apps - 1 {
			_, _, err = first.CreateApp(t.Context(), "B", models.PlanEnterprise, nil)
			require.NoError(t, err)
		}
		before, err := first.Keys(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		_, err = d.open(t, 2).Keys(t.Context(), models.KeyTokens)
		require.ErrorIs(t, err, vault.ErrUnknownKey)

		both := d.open(t, 2, 1)
		n, err := both.Rewrap(t.Context())
		require.NoError(t, err)
		assert.Equal(t, store.RewrapCounts{Secrets: apps + 2}, n, "client secrets, a signing key and a webhook's secret")
		n, err = both.Rewrap(t.Context())
		require.NoError(t, err)
		assert.Zero(t, n, "nothing is left to re-encrypt")

		after := d.open(t, 2)
		keys, err := after.Keys(t.Context(), models.KeyTokens)
		require.NoError(t, err)
		assert.True(t, keys[0].Private.Equal(before[0].Private))
		n, err = after.Rewrap(t.Context())
		require.NoError(t, err, "every secret can be decrypted with the new key")
		assert.Zero(t, n)
		_, err = first.Keys(t.Context(), models.KeyTokens)
		require.ErrorIs(t, err, vault.ErrUnknownKey)
	})
}

// TestRewrap_NamesUnreadableRows checks that rows that are damaged or encrypted with an unknown key are listed, and
// that all other rows are re-encrypted.
func TestRewrap_NamesUnreadableRows(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		first := d.open(t, 1)
		good, _, err := first.CreateApp(t.Context(), "Good", models.PlanEnterprise, nil)
		require.NoError(t, err)
		damaged, err := first.SaveContact(t.Context(), models.Contact{AppID: good.ID, Name: "Bob", Email: "bob@example.com"}, false)
		require.NoError(t, err)
		execute(t, first, "UPDATE contacts SET email = substr(email, 1, length(email) - 4) || 'AAAA' WHERE app_id = '"+good.ID.String()+"'")
		stranger, _, err := d.open(t, 9).CreateApp(t.Context(), "Stranger", models.PlanEnterprise, nil)
		require.NoError(t, err)
		contact, err := d.open(t, 9).SaveContact(t.Context(), models.Contact{AppID: stranger.ID, Name: "Ada", Email: "ada@example.com"}, false)
		require.NoError(t, err)

		n, err := d.open(t, 2, 1).Rewrap(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, n.Secrets, "the client secret of the other app")
		require.Len(t, n.Unreadable, 3)
		assert.Regexp(t, "^client_secrets ", n.Unreadable[0])
		assert.ElementsMatch(t, []string{"contacts " + contact.ID.String(), "contacts " + damaged.ID.String()}, n.Unreadable[1:])
		again, err := d.open(t, 2).Rewrap(t.Context())
		require.NoError(t, err)
		assert.Equal(t, n.Unreadable, again.Unreadable)
	})
}

// TestArchiveKeys_ReadThePrimaryKey checks that PostgreSQL finds archive keys through the primary key instead of a
// full scan.
func TestArchiveKeys_ReadThePrimaryKey(t *testing.T) {
	t.Parallel()
	kit.OnPostgres(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f := newFixture(t, s, clock)
		e := f.prepared()
		execute(t, s,
			fmt.Sprintf(`INSERT INTO envelope_archives (id, envelope_id, sha256, size, key, events, last_event_at, created_at, released_at)
				SELECT gen_random_uuid(), '%s', '', 1, 'k', 1, now(), now(), now() FROM generate_series(1, 20000)`, e.ID),
			"ANALYZE envelope_archives",
		)
		plans, err := s.PlansOfArchiveKeys(t.Context(), "70000000-0000-4000-8000-000000000000")
		require.NoError(t, err)
		for _, plan := range plans {
			require.Contains(t, plan, `"Index Name": "envelope_archives_pkey"`)
			require.Contains(t, plan, `"Index Cond"`)
			require.NotContains(t, plan, `"Sort"`)
		}
	})
}

// TestFormerMasterKeys_StillDecrypt checks that short links created with any former master key still work, and that a
// contact is re-encrypted even if only its values are outdated.
func TestFormerMasterKeys_StillDecrypt(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		ctx := t.Context()
		old := d.open(t, 1)
		f := newFixture(t, old, d.clock)
		e := f.sent(1, nil)
		short := []string{old.ShortLink(*e.Signers[0].LinkID)}
		both := d.open(t, 2, 1)
		short = append(short, both.ShortLink(*e.Signers[0].LinkID))
		require.NotEqual(t, short[0], short[1])
		for _, link := range short {
			app, l, err := both.LinkByShortForm(ctx, link)
			require.NoError(t, err)
			assert.Equal(t, []uuid.UUID{f.app.ID, e.ID, e.Signers[0].ID}, []uuid.UUID{app, l.EnvelopeID, l.SignerID})
			_, _, err = both.LinkByShortForm(ctx, link[:len(link)-1]+"*")
			require.ErrorIs(t, err, models.ErrNotFound)
			for _, wrong := range []string{link + "a", link[:len(link)-1], link[:22], "a", ""} {
				_, _, err = both.LinkByShortForm(ctx, wrong)
				require.ErrorIs(t, err, models.ErrNotFound)
			}
		}

		c, err := old.SaveContact(ctx, models.Contact{AppID: f.app.ID, Name: "Ada", Email: "ada@example.com"}, false)
		require.NoError(t, err)
		db := openRaw(t, d.kind, d.url)
		var name, email string
		require.NoError(t, db.QueryRowContext(ctx, "SELECT name, email FROM contacts WHERE id = '"+c.ID.String()+"'").Scan(&name, &email))
		_, err = both.SaveContact(ctx, models.Contact{AppID: f.app.ID, Name: "Ada", Email: "ada@example.com"}, false)
		require.NoError(t, err)
		_, err = db.ExecContext(ctx, "UPDATE contacts SET name = '"+name+"', email = '"+email+"' WHERE id = '"+c.ID.String()+"'")
		require.NoError(t, err)
		_, err = both.Rewrap(ctx)
		require.NoError(t, err)
		list, _, err := d.open(t, 2).Contacts(ctx, f.app.ID, "ada@", 1, 9)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, c.ID, list[0].ID)
	})
}

// TestRewrap_SignIns checks that second factors and sessions survive the replacement of the master key.
func TestRewrap_SignIns(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		first := d.open(t, 1)
		app, _, err := first.CreateApp(t.Context(), "A", models.PlanEnterprise, nil)
		require.NoError(t, err)
		user, err := first.CreateUser(t.Context(), app.ID, "ada@example.com", "Ada", "correct horse", models.RoleViewer)
		require.NoError(t, err)
		secret, err := first.EnrollFactor(t.Context(), user)
		require.NoError(t, err)
		on := store.Device{IP: "192.0.2.7", UserAgent: "Test/1"}
		session, err := first.StartConsoleSession(t.Context(), user.ID, on, time.Hour, nil)
		require.NoError(t, err)

		_, err = d.open(t, 2, 1).Rewrap(t.Context())
		require.NoError(t, err)
		fresh := d.open(t, 2)
		code, err := totp.GenerateCode(secret.Text, d.clock.Now())
		require.NoError(t, err)
		_, err = fresh.ConfirmFactor(t.Context(), user.ID, code, session.ID)
		require.NoError(t, err)
		sessions, devices, err := fresh.ConsoleSessions(t.Context(), user.ID, time.Hour)
		require.NoError(t, err)
		require.Len(t, sessions, 1)
		require.Equal(t, []store.Device{on}, devices)
		in, err := fresh.ConsoleSession(t.Context(), session.ID, time.Hour, true)
		require.NoError(t, err)
		require.True(t, in.Factor)
		require.Equal(t, "ada@example.com", in.User.Email)
	})
}

// TestMasterKeyReplacement_FindsRowsOfBothKeys checks that rows with either master key are found during the
// replacement, that no row is created twice, and that the former key is not needed afterwards.
func TestMasterKeyReplacement_FindsRowsOfBothKeys(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, d database) {
		ctx := t.Context()
		former := d.open(t, 1)
		sc := newScenario(t, former, d.clock)
		both := d.open(t, 2, 1)
		sc.check(both)

		_, err := both.CreateUser(ctx, sc.app.ID, "clerk@STAFF.example", "Another", "correct horse", models.RoleViewer)
		require.ErrorContains(t, err, "user_exists")
		again, err := both.SaveContact(ctx, *sc.contact, false)
		require.NoError(t, err)
		assert.Equal(t, sc.contact.ID, again.ID)
		assert.Equal(t, sc.contact.CreatedAt.UTC(), again.CreatedAt.UTC())
		later := newFixture(t, both, d.clock)
		e := later.sent(1, nil)
		other, err := former.SaveContact(ctx, models.Contact{AppID: later.app.ID, Name: "Ada", Email: "ada@other.example", Phone: sc.contact.Phone}, false)
		require.NoError(t, err)

		n, err := both.Rewrap(ctx)
		require.NoError(t, err)
		assert.Positive(t, n.Rows)
		n, err = both.Rewrap(ctx)
		require.NoError(t, err)
		assert.Zero(t, n, "nothing is left to re-encrypt")
		after := d.open(t, 2)
		sc.check(after)
		again, err = after.SaveContact(ctx, models.Contact{AppID: later.app.ID, Name: "Renamed", Email: other.Email}, true)
		require.NoError(t, err)
		assert.Equal(t, []any{other.ID, other.Phone}, []any{again.ID, again.Phone}, "the row is found with only the new key")
		got, err := after.Envelope(ctx, later.app.ID, e.ID)
		require.NoError(t, err)
		assert.Equal(t, e.Signers[0].Email, got.Signers[0].Email)
		drainOutbox(t, after)
		assert.Len(t, unfinishedWork(t, after, store.WorkEnvelopes), 1, "a signer has to sign")
		assert.Len(t, unfinishedWork(t, after, store.WorkClosings), 1, "a copy has not been sent")
		_, err = former.Envelope(ctx, sc.app.ID, sc.envelope.ID)
		require.ErrorIs(t, err, vault.ErrUnknownKey)
		assertNoPlaintext(t, dumpTables(t, d.kind, d.url))
	})
}
