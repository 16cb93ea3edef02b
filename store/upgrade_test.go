package store_test

import (
	"database/sql"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// plainly writes rows as they were before they were sealed; every ? is an argument.
func plainly(t *testing.T, kind string, db *sql.DB, query string, args ...any) {
	t.Helper()
	for i := 1; kind == "postgres" && strings.Contains(query, "?"); i++ {
		query = strings.Replace(query, "?", "$"+strconv.Itoa(i), 1)
	}
	_, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err, query)
}

// TestUpgradeFromPlain: a database from before addresses were sealed is read and
// searched as it was, and changed; `key rewrap` takes what is plain out of it.
func TestUpgradeFromPlain(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.Databases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, url, clock := t.Context(), testkit.DatabaseURL(t, kind), testkit.NewClock()
			db := openRaw(t, kind, url)
			dialect := map[string]goose.Dialect{"postgres": goose.DialectPostgres, "sqlite": goose.DialectSQLite3}[kind]
			before, err := goose.NewProvider(dialect, db, os.DirFS("migrations/"+kind))
			require.NoError(t, err)
			_, err = before.UpTo(ctx, 5)
			require.NoError(t, err)

			app, user, contact, envelope, event, hook, delivery := newID(), newID(), newID(), newID(), newID(), newID(), newID()
			signers, field := []uuid.UUID{newID(), newID()}, newID()
			password, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
			require.NoError(t, err)
			const at, none = "2026-01-02 03:04:05+00:00", models.AuthNone
			exec := func(query string, args ...any) { t.Helper(); plainly(t, kind, db, query, args...) }
			exec(`INSERT INTO apps (id, name, plan, contact, created_at) VALUES (?, 'A', 'enterprise', 'owner@acme.example', ?)`, app.String(), at)
			exec(`INSERT INTO console_users (id, app_id, email, email_key, name, password_hash, role, created_at)
				VALUES (?, ?, 'Clerk@staff.example', 'clerk@staff.example', 'Clerk', ?, 'viewer', ?)`, user.String(), app.String(), password, at)
			exec(`INSERT INTO contacts (id, app_id, name, email, email_key, phone, search, created_at) VALUES (?, ?, 'Grace Hopper', 'Grace.H@navy.example',
				'grace.h@navy.example', '+12025550143', 'grace hopper grace.h@navy.example', ?)`, contact.String(), app.String(), at)
			exec(`INSERT INTO saved_signatures (app_id, email, image, font_label, updated_at)
				VALUES (?, 'ada.l@kitchen.example', ?, 'Courier Hand', ?)`, app.String(), []byte("\x89PNG A hand's stroke"), at)
			exec(`INSERT INTO envelopes (id, app_id, tenant_id, status, subject, created_by, first_document_id, created_at, sent_at, audit_seq, audit_head, version)
				VALUES (?, ?, 't', 'completed', 'Lease', 'me', ?, ?, ?, 0, '', 1)`, envelope.String(), app.String(), newID().String(), at, at)
			for i, email := range []string{"Ada.L@kitchen.example", "ada.l@Kitchen.example"} {
				exec(`INSERT INTO signers (id, envelope_id, position, name, email, phone, routing_order, status, auth_method)
					VALUES (?, ?, ?, 'Ada L', ?, '+442079460958', 1, 'signed', ?)`, signers[i].String(), envelope.String(), i, email, string(none))
			}
			exec(`INSERT INTO fields (id, envelope_id, document_id, signer_id, position, type, page, x, y, w, h, required, origin)
				VALUES (?, ?, ?, ?, 0, 'text', 1, 1, 1, 9, 9, true, 'top-left')`, field.String(), envelope.String(), newID().String(), signers[0].String())
			exec(`INSERT INTO field_values (field_id, envelope_id, signer_id, text, image, created_at) VALUES (?, ?, ?, '4711 Quiet Lane', ?, ?)`,
				field.String(), envelope.String(), signers[0].String(), []byte("\x89PNG A hand's stroke"), at)
			for i, s := range signers {
				exec(`INSERT INTO audit_events (id, envelope_id, seq, name, timestamp, actor, detail, prev_hash, hash) VALUES (?, ?, ?, 'signer.signed', ?, ?, ?, '', '')`,
					newID().String(), envelope.String(), 101+i, at, "signer:"+s.String(), `{"fields":1,"valuesSha256":"hash of `+strconv.Itoa(i)+`"}`)
			}
			exec(`INSERT INTO webhooks (id, app_id, url, events, active, created_at) VALUES (?, ?, 'https://hooks.example.com', '[]', true, ?)`, hook.String(), app.String(), at)
			exec(`INSERT INTO webhook_events (id, app_id, envelope_id, name, body, created_at) VALUES (?, ?, ?, 'envelope.sent', ?, ?)`,
				event.String(), app.String(), envelope.String(), []byte(`{"email":"ada.l@kitchen.example"}`), at)
			exec(`INSERT INTO webhook_deliveries (id, app_id, webhook_id, event_id, envelope_id, event, status, created_at)
				VALUES (?, ?, ?, ?, ?, 'envelope.sent', 'delivered', ?)`, delivery.String(), app.String(), hook.String(), event.String(), envelope.String(), at)
			exec(`INSERT INTO delivery_attempts (id, delivery_id, number, at, status, latency_ms, error, body)
				VALUES (?, ?, 1, ?, 200, 1, '', ?)`, newID().String(), delivery.String(), at, []byte("got ada.l@kitchen.example"))

			s := openStore(t, url, masterKeys(t, 1), clock)
			_, err = s.Migrate(ctx)
			require.NoError(t, err)
			require.NoError(t, s.Migrated(ctx))
			saved := 0
			eachRow(ctx, t, db, "SELECT app_id FROM saved_signatures", func([]any) { saved++ })
			assert.Zero(t, saved, "whose tenant they were of is not known")
			check := func(parts int64) {
				t.Helper()
				a, err := s.App(ctx, app)
				require.NoError(t, err)
				assert.Equal(t, "owner@acme.example", a.Contact)
				u, err := s.Login(ctx, "CLERK@staff.example", "correct horse")
				require.NoError(t, err)
				assert.Equal(t, "Clerk@staff.example", u.Email)
				contacts, _, err := s.Contacts(ctx, app, "HOPPER", 1, 1000)
				require.NoError(t, err)
				require.Len(t, contacts, 1)
				assert.Equal(t, "Grace.H@navy.example +12025550143", contacts[0].Email+" "+*contacts[0].Phone)
				for search, want := range map[string]int64{"lease": 1, "ADA L": 1, "a.l@kitch": parts, "ada.l@kitchen.example": 1, "nobody": 0} {
					_, total, err := s.Envelopes(ctx, store.Filter{App: app, Search: search, Page: 1, Size: 5})
					require.NoError(t, err)
					assert.Equal(t, want, total, search)
				}
				e, err := s.Envelope(ctx, app, envelope)
				require.NoError(t, err)
				assert.Equal(t, "Ada.L@kitchen.example", e.Signers[0].Email)
				assert.Equal(t, "+442079460958", *e.Signers[1].Phone)
				assert.Equal(t, "hash of 0, hash of 1", e.Signers[0].ValuesHash+", "+e.Signers[1].ValuesHash, "as the audit trail has it")
				values, err := s.Values(ctx, envelope)
				require.NoError(t, err)
				assert.Equal(t, "4711 Quiet Lane \x89PNG A hand's stroke", values[0].Text+" "+string(values[0].Image))
				_, ev, attempts, err := s.Delivery(ctx, app, delivery)
				require.NoError(t, err)
				assert.JSONEq(t, `{"email":"ada.l@kitchen.example"}`, string(ev.Body))
				assert.Equal(t, "got ada.l@kitchen.example", string(attempts[0].Body))
			}
			check(1)
			_, err = s.CreateUser(ctx, app, "clerk@STAFF.example", "Another", "correct horse", models.RoleViewer)
			require.ErrorContains(t, err, "user_exists")
			kept, err := s.SaveContact(ctx, models.Contact{AppID: app, Name: "Grace Hopper", Email: "grace.h@navy.example"}, false)
			require.NoError(t, err)
			assert.Equal(t, contact, kept.ID)
			number := "+12025550143"
			_, err = s.SaveContact(ctx, models.Contact{AppID: app, Name: "Grace Hopper", Email: "Grace.H@navy.example", Phone: &number}, false)
			require.NoError(t, err)
			owed := func(copies int) {
				t.Helper()
				rows, err := s.Unfinished(ctx, models.OutboxStart, uuid.Nil, 5)
				require.NoError(t, err)
				assert.Len(t, rows, copies)
			}
			owed(1)
			_, err = s.BeginMail(ctx, models.Mail{ID: "m", EnvelopeID: envelope, SignerID: signers[0], Kind: models.MailCompleted})
			require.NoError(t, err)
			require.NoError(t, s.MailSent(ctx, "m"))
			owed(0) // one person signed twice
			_, err = s.Change(ctx, app, envelope, func(e *models.Envelope) error {
				e.Signers[0].PageViews++
				e.Events = append(e.Events, models.Event{ID: newID(), EnvelopeID: e.ID, Name: models.EventPageViewed, Timestamp: clock.Now(), Actor: models.ActorSystem})
				return nil
			})
			require.NoError(t, err)
			check(1)

			n, err := s.Rewrap(ctx)
			require.NoError(t, err)
			assert.Equal(t, 7, n.Rows, "app, user, two signers, value, event, attempt; the contact was saved since")
			check(0)
			owed(0)
			showsNothing(t, dump(t, kind, url))
			n, err = s.Rewrap(ctx)
			require.NoError(t, err)
			assert.Zero(t, n)
		})
	}
}
