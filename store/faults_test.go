package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// breakTable makes one kind of statement on a table fail until mend is called.
func breakTable(ctx context.Context, t *testing.T, db *sql.DB, kind, statement, table string) (mend func()) {
	t.Helper()
	exec := func(query string) {
		t.Helper()
		_, err := db.ExecContext(ctx, query)
		require.NoError(t, err, query)
	}
	if kind == "sqlite" {
		exec("CREATE TRIGGER broken BEFORE " + statement + " ON " + table + " BEGIN SELECT RAISE(ABORT, 'broken on purpose'); END")
		return func() { exec("DROP TRIGGER broken") }
	}
	exec("CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken on purpose'; END $$")
	exec("CREATE TRIGGER broken BEFORE " + statement + " ON " + table + " FOR EACH ROW EXECUTE FUNCTION broken()")
	return func() { exec("DROP TRIGGER broken ON " + table) }
}

// contents returns all rows of all tables, without the numbers that the database assigns.
func contents(t *testing.T, kind string, db *sql.DB) (out []string) {
	t.Helper()
	for _, name := range tableNames(t, kind, db) {
		if name == "sqlite_sequence" {
			continue
		}
		eachRow(t.Context(), t, db, "SELECT * FROM "+name, func(row []any) { out = append(out, fmt.Sprintf("%s %q", name, row)) })
	}
	slices.Sort(out)
	return out
}

// TestFailedStatement_ChangesNothing checks that a call with a failed statement returns an error and leaves the
// database unchanged.
func TestFailedStatement_ChangesNothing(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		ctx, clock := t.Context(), kit.NewClock()
		s := kit.Store(t, kind, clock.Now)
		f := newFixture(t, s, clock)
		app := f.app.ID
		_, ada, bob := newUsers(t, s)
		p, failing := newEndpoint(f), newEndpoint(f)
		e, draft := f.sent(1, nil), f.prepared()
		expired := store.IdempotentRequest{Scope: "s", Key: "expired", Fingerprint: []byte("f")}
		claimed, _, err := s.ClaimKey(ctx, expired, time.Minute)
		require.NoError(t, err)
		clock.Add(2 * time.Minute)

		pending, failed, tried := p.ping(), failing.ping(), failing.ping()
		failing.attempt(failed, 500, models.DeliveryOutcome{Last: true})
		contact, err := s.SaveContact(ctx, models.Contact{AppID: app, Name: "A", Email: "a@example.com"}, false)
		require.NoError(t, err)
		secret, recovery := confirmFactor(t, s, clock, ada)
		enrolled := must(s.EnrollFactor(ctx, bob))
		session := must(s.StartConsoleSession(ctx, ada.ID, store.Device{}, time.Hour, nil))
		require.NoError(t, errOf(s.AddSecret(ctx, app, time.Hour)))
		secrets := must(s.ClientSecrets(ctx, app))
		require.NoError(t, errOf(s.BeginMail(ctx, models.Mail{ID: "m", EnvelopeID: e.ID, SignerID: e.Signers[0].ID, Kind: models.MailInvitation})))
		window := clock.Now()
		_, _, err = s.ReserveQuota(ctx, "k", window, time.Minute, 1, 9)
		require.NoError(t, err)
		settings := models.Settings{AppID: app, TenantID: "t"}
		require.NoError(t, s.SaveSettings(ctx, settings))
		require.NotEmpty(t, must(s.Keys(ctx, models.KeyTokens)))
		row := must(s.ClaimOutbox(ctx, 1, time.Nanosecond))[0]
		require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
			e.Attached = []*models.Attachment{{ID: newID(), EnvelopeID: e.ID, FieldID: e.Fields[0].ID, SignerID: e.Signers[0].ID, Name: "a.png", BlobKey: "a", CreatedAt: clock.Now()}}
			return e.Invited(f.act(), e.Signers[0].ID, false, "")
		}))
		attachment := must(s.Attachments(ctx, e.ID))[0]
		clock.Add(2 * time.Minute)

		url, name, off := "https://moved.example.com", "Another", false
		role := models.RoleViewer
		attempt := func() error {
			return errOf(s.RecordAttempt(ctx, models.DeliveryAttempt{DeliveryID: tried, At: clock.Now(), Status: 502, Error: "bad"}, models.DeliveryOutcome{WebhookID: failing.hook.ID, Gone: true}))
		}
		void := func() error {
			return change(ctx, f, draft.ID, func(e *models.Envelope) error { return e.Void(f.act(), nil) })
		}
		ping := func() error { return errOf(s.PingWebhook(ctx, app, p.hook.ID)) }
		resend := func() error { return errOf(s.Resend(ctx, &models.App{ID: app}, failed)) }
		resendAll := func() error { return errOf(s.ResendSince(ctx, &models.App{ID: app}, failing.hook.ID, time.Time{})) }
		deleteHook := func() error { return s.DeleteWebhook(ctx, app, p.hook.ID) }
		patch := func() error {
			return errOf(s.PatchWebhook(ctx, app, p.hook.ID, store.WebhookPatch{Active: &off, Secret: &name}))
		}
		pause := func() error {
			return errOf(s.PatchWebhook(ctx, app, p.hook.ID, store.WebhookPatch{Active: new(false)}))
		}
		password := func() error { return s.SetPassword(ctx, ada, "another horse battery", uuid.Nil) }
		removeFactor := func() error { return s.RemoveFactor(ctx, ada.ID, uuid.Nil) }
		confirm := func() error {
			return errOf(s.ConfirmFactor(ctx, bob.ID, codeAt(t, enrolled.Text, clock.Now()), uuid.Nil))
		}
		passkey := models.ConsolePasskey{UserID: bob.ID, CredentialID: []byte("one"), Credential: []byte("{}"), Name: "Key"}
		require.NoError(t, errOf(s.AddPasskey(ctx, &passkey, uuid.Nil)))
		removePasskey := func() error { return s.RemovePasskey(ctx, bob.ID, passkey.ID, uuid.Nil) }
		reset := func() error { return s.ResetFactors(ctx, bob.ID, uuid.Nil) }
		compact := func() error { return errOf(s.CompactCounts(ctx)) }
		events := func() error { return errOf(s.Events(ctx, store.EventQuery{App: app, Limit: 9})) }
		rotate := func() error { return errOf(s.RotateKey(ctx, models.KeyTokens)) }
		removeExpired := func(rows store.ExpiredRows) func() error {
			return func() error { return errOf(s.RemoveExpired(ctx, rows)) }
		}
		const over = -time.Minute
		_, _, err = s.ClaimKey(ctx, store.IdempotentRequest{Key: newID().String(), Fingerprint: []byte("f")}, over)
		require.NoError(t, err)
		_, _, err = s.ReserveQuota(ctx, "old", clock.Now().Add(-time.Hour), time.Minute, 1, 9)
		require.NoError(t, err)
		require.NoError(t, errOf(s.StartConsoleSession(ctx, bob.ID, store.Device{}, over, nil)))
		for _, c := range []struct {
			name, statement, table string
			call                   func() error
		}{
			{"add a secret", "UPDATE", "client_secrets", func() error { return errOf(s.AddSecret(ctx, app, time.Minute)) }},
			{"add a secret", "INSERT", "client_secrets", func() error { return errOf(s.AddSecret(ctx, app, time.Minute)) }},
			{"end a secret", "UPDATE", "client_secrets", func() error { return s.EndClientSecret(ctx, app, secrets[1].ID) }},
			{"create an app", "INSERT", "apps", func() error { _, _, err := s.CreateApp(ctx, "B", models.PlanFree, nil); return err }},
			{"create an app", "INSERT", "client_secrets", func() error { _, _, err := s.CreateApp(ctx, "B", models.PlanFree, nil); return err }},
			{"change an app", "UPDATE", "apps", func() error { return errOf(s.UpdateApp(ctx, app, store.AppChange{Name: &name})) }},
			{"make a contact", "INSERT", "contacts", func() error {
				return errOf(s.SaveContact(ctx, models.Contact{AppID: app, Name: "B", Email: "b@example.com"}, false))
			}},
			{"change a contact", "UPDATE", "contacts", func() error {
				return errOf(s.SaveContact(ctx, models.Contact{AppID: app, Name: "B", Email: "a@example.com"}, true))
			}},
			{"delete a contact", "DELETE", "contacts", func() error { return s.DeleteContact(ctx, app, contact.ID) }},
			{"make a user", "INSERT", "console_users", func() error {
				return errOf(s.CreateUser(ctx, app, "new@example.com", "New", "correct horse new", models.RoleViewer))
			}},
			{"change a user", "UPDATE", "console_users", func() error {
				return errOf(s.UpdateUser(ctx, ada.AppID, ada.ID, store.UserChange{Name: &name, Role: &role}))
			}},
			{"disable a user", "UPDATE", "console_users", func() error { return s.DisableUser(ctx, ada.AppID, ada.ID) }},
			{"set a password", "UPDATE", "console_users", password},
			{"set a password", "DELETE", "console_sessions", password},
			{"sign in", "INSERT", "console_sessions", func() error { return errOf(s.StartConsoleSession(ctx, ada.ID, store.Device{}, time.Hour, nil)) }},
			{"be seen", "UPDATE", "console_sessions", func() error { return errOf(s.ConsoleSession(ctx, session.ID, time.Hour, true)) }},
			{"end a session", "DELETE", "console_sessions", func() error { return s.EndConsoleSession(ctx, ada.ID, session.ID) }},
			{"end sessions", "DELETE", "console_sessions", func() error { return s.EndConsoleSessions(ctx, ada.ID, uuid.Nil) }},
			{"end all sessions", "DELETE", "console_sessions", func() error { return s.EndAllConsoleSessions(ctx) }},
			{"enrol a factor", "UPDATE", "console_factors", func() error { return errOf(s.EnrollFactor(ctx, bob)) }},
			{"confirm a factor", "UPDATE", "console_factors", confirm},
			{"confirm a factor", "INSERT", "console_recovery_codes", confirm},
			{"use a code", "UPDATE", "console_factors", func() error { return s.ConsumeCode(ctx, ada.ID, codeAt(t, secret, clock.Now())) }},
			{"use a recovery code", "DELETE", "console_recovery_codes", func() error { return s.ConsumeCode(ctx, ada.ID, recovery[0]) }},
			{"replace recovery codes", "DELETE", "console_recovery_codes", func() error { return errOf(s.RenewRecoveryCodes(ctx, ada.ID)) }},
			{"replace recovery codes", "INSERT", "console_recovery_codes", func() error { return errOf(s.RenewRecoveryCodes(ctx, ada.ID)) }},
			{"remove a factor", "DELETE", "console_recovery_codes", removeFactor},
			{"remove a factor", "DELETE", "console_factors", removeFactor},
			{"remove a factor", "DELETE", "console_sessions", removeFactor},
			{"add a passkey", "INSERT", "console_passkeys", func() error {
				return errOf(s.AddPasskey(ctx, &models.ConsolePasskey{UserID: bob.ID, CredentialID: []byte("two"), Credential: []byte("{}"), Name: "Key"}, uuid.Nil))
			}},
			{"use a passkey", "UPDATE", "console_passkeys", func() error { return s.UsePasskey(ctx, &passkey, []byte("{}")) }},
			{"remove a passkey", "DELETE", "console_passkeys", removePasskey},
			{"remove a passkey", "DELETE", "console_recovery_codes", removePasskey},
			{"remove all factors", "DELETE", "console_passkeys", reset},
			{"remove all factors", "DELETE", "console_recovery_codes", reset},
			{"make an endpoint", "INSERT", "webhooks", func() error { return errOf(s.CreateWebhook(ctx, app, url, models.WebhookEvents, "")) }},
			{"change an endpoint", "UPDATE", "webhooks", func() error {
				return errOf(s.PatchWebhook(ctx, app, p.hook.ID, store.WebhookPatch{WebhookChange: models.WebhookChange{URL: &url}}))
			}},
			{"rotate a secret", "UPDATE", "webhooks", func() error {
				return errOf(s.PatchWebhook(ctx, app, p.hook.ID, store.WebhookPatch{Secret: new(""), Overlap: time.Hour}))
			}},
			{"patch an endpoint", "UPDATE", "webhooks", patch},
			{"patch an endpoint", "UPDATE", "webhook_deliveries", patch},
			{"pause an endpoint", "UPDATE", "webhooks", pause},
			{"pause an endpoint", "UPDATE", "webhook_deliveries", pause},
			{"delete an endpoint", "DELETE", "webhooks", deleteHook},
			{"delete an endpoint", "UPDATE", "webhook_deliveries", deleteHook},
			{"ping", "INSERT", "webhook_events", ping},
			{"ping", "INSERT", "webhook_deliveries", ping},
			{"ping", "INSERT", "outbox", ping},
			{"resend", "UPDATE", "webhook_deliveries", resend},
			{"resend", "INSERT", "outbox", resend},
			{"resend all", "UPDATE", "webhook_deliveries", resendAll},
			{"resend all", "INSERT", "outbox", resendAll},
			{"record an attempt", "UPDATE", "webhook_deliveries", attempt},
			{"record an attempt", "INSERT", "delivery_attempts", attempt},
			{"record an attempt", "UPDATE", "webhooks", attempt},
			{"abandon a delivery", "UPDATE", "webhook_deliveries", func() error { return s.AbandonDelivery(ctx, pending, 0) }},
			{"claim a key", "INSERT", "idempotency_keys", func() error {
				_, _, err := s.ClaimKey(ctx, store.IdempotentRequest{Key: "another", Fingerprint: []byte("f")}, time.Hour)
				return err
			}},
			{"claim an expired key", "UPDATE", "idempotency_keys", func() error { _, _, err := s.ClaimKey(ctx, expired, time.Hour); return err }},
			{"store a response", "UPDATE", "idempotency_keys", func() error { return s.StoreResponse(ctx, claimed, store.StoredResponse{Status: 200}) }},
			{"release a key", "DELETE", "idempotency_keys", func() error { return s.ReleaseKey(ctx, claimed, true) }},
			{"work under a key", "UPDATE", "idempotency_keys", func() error {
				return withIdempotencyKey(ctx, s, claimed, func(s *store.Store) error { return errOf(s.UpdateApp(ctx, app, store.AppChange{Name: &name})) })
			}},
			{"begin a mail", "INSERT", "mails", func() error { return errOf(s.BeginMail(ctx, models.Mail{ID: "n", EnvelopeID: e.ID})) }},
			{"begin a mail again", "UPDATE", "mails", func() error { return errOf(s.BeginMail(ctx, models.Mail{ID: "m", EnvelopeID: e.ID})) }},
			{"send a mail", "UPDATE", "mails", func() error { return s.MailSent(ctx, "m") }},
			{"give a mail up", "UPDATE", "mails", func() error { return s.MailFailed(ctx, "m", "refused") }},
			{"take from a window", "UPDATE", "rate_windows", func() error {
				_, _, err := s.ReserveQuota(ctx, "k", window, time.Minute, 1, 9)
				return err
			}},
			{"take from a new window", "INSERT", "rate_windows", func() error {
				_, _, err := s.ReserveQuota(ctx, "l", clock.Now(), time.Minute, 1, 9)
				return err
			}},
			{"remember a caller", "INSERT", "rate_windows", func() error { return s.RememberCaller(ctx, "c", clock.Now()) }},
			{"save settings", "UPDATE", "tenant_settings", func() error { return s.SaveSettings(ctx, settings) }},
			{"change settings", "UPDATE", "tenant_settings", func() error { return s.ChangeSettings(ctx, settings, []string{"replyTo"}) }},
			{"rotate a key", "INSERT", "signing_keys", rotate},
			{"rotate a key", "UPDATE", "signing_keys", rotate},
			{"add an anchor", "INSERT", "audit_anchors", func() error { return s.AddAnchor(ctx, store.Anchor{Number: 1, Token: []byte("t")}) }},
			{"claim rows", "UPDATE", "outbox", func() error { return errOf(s.ClaimOutbox(ctx, 9, time.Minute)) }},
			{"finish a row", "DELETE", "outbox", func() error { return s.FinishOutbox(ctx, row.Seq) }},
			{"put a row off", "UPDATE", "outbox", func() error { return s.RetryOutbox(ctx, row.Seq, time.Minute) }},
			{"requeue a row", "INSERT", "outbox", func() error {
				return s.Requeue(ctx, []models.OutboxRow{{ID: newID(), Key: newID(), Kind: models.OutboxStart}})
			}},
			{"remove an attachment", "DELETE", "attachments", func() error { return errOf(s.RemoveAttachment(ctx, attachment.ID)) }},
			{"purge attachments", "UPDATE", "attachments", func() error { return s.PurgeAttachments(ctx, e.ID, clock.Now()) }},
			{"change an envelope", "UPDATE", "envelopes", void},
			{"change an envelope", "INSERT", "audit_events", void},
			{"change an envelope", "INSERT", "envelope_count_changes", void},
			{"change an envelope", "INSERT", "webhook_events", void},
			{"compact counts", "DELETE", "envelope_count_changes", compact},
			{"compact counts", "INSERT", "envelope_counts", compact},
			{"compact all counts", "DELETE", "envelope_count_changes", func() error { return s.CompactAllCounts(ctx) }},
			{"number events", "INSERT", "event_feeds", events},
			{"number events", "UPDATE", "webhook_events", events},
			{"number events", "UPDATE", "event_feeds", events},
			{"remove expired rows", "DELETE", "idempotency_keys", removeExpired(store.ExpiredKeys)},
			{"remove expired rows", "DELETE", "rate_windows", removeExpired(store.ExpiredRateWindows)},
			{"remove expired rows", "DELETE", "console_sessions", removeExpired(store.ExpiredConsoleSessions)},
		} {
			what := fmt.Sprintf("%s without %s of %s", c.name, c.statement, c.table)
			db, err := s.DB()
			require.NoError(t, err)
			before := contents(t, kind, db)
			mend := breakTable(ctx, t, db, kind, c.statement, c.table)
			err = c.call()
			mend()
			require.ErrorContains(t, err, "broken on purpose", what)
			assert.False(t, models.IsRejection(err), "%s: %v", what, err)
			assert.True(t, slices.Equal(before, contents(t, kind, db)), "%s: the database was changed", what)
		}
	})
}

// TestFailedStatement_OfBulkSendChangesNothing is like TestFailedStatement_ChangesNothing, for calls that change bulk
// sends.
func TestFailedStatement_OfBulkSendChangesNothing(t *testing.T) {
	t.Parallel()
	kit.EachDatabase(t, func(t *testing.T, kind string) {
		ctx, clock := t.Context(), kit.NewClock()
		s := kit.Store(t, kind, clock.Now)
		f := newFixture(t, s, clock)
		newEndpoint(f)
		b, queued, ended := must(f.bulk(3, 0)), must(f.bulk(1, 0)), must(f.bulk(1, 0))
		template := f.templateOf("file", nil)
		work := f.work(b, 3)
		require.NoError(t, s.FailBulkRow(ctx, f.app.ID, f.work(ended, 1).Rows[0], models.Reject(models.KindConflict, "no", "No.")))
		clock.Add(time.Minute)
		allow := func(*models.BulkSend) error { return nil }
		apply := func(a models.BulkAction, b *models.BulkSend) func() error {
			return func() error { return errOf(s.ChangeBulkSend(ctx, f.app.ID, b.ID, a, allow)) }
		}
		send := func() error { return s.SendBulkRow(ctx, work.Rows[0], f.envelope(nil)) }
		use := func() error { return errOf(f.createFromTemplate(ctx, template.ID, 1)) }
		archive := func() error {
			return errOf(s.ArchiveTemplate(ctx, f.app.ID, template.ID, func(*models.Template) error { return nil }))
		}
		put := func() error {
			return errOf(s.PutTemplate(ctx, store.TemplateTarget{App: f.app.ID, Tenant: "t"}, f.version(f.act(), "more", nil)))
		}
		for _, c := range []struct {
			name, statement, table string
			call                   func() error
		}{
			{"accept rows", "INSERT", "bulk_sends", func() error { return errOf(f.bulk(2, 0)) }},
			{"accept rows", "INSERT", "bulk_send_rows", func() error { return errOf(f.bulk(2, 0)) }},
			{"accept rows", "INSERT", "outbox", func() error { return errOf(f.bulk(2, 0)) }},
			{"begin", "UPDATE", "bulk_sends", func() error { return errOf(s.BulkWork(ctx, f.app.ID, queued.ID, 1, 9)) }},
			{"pause", "UPDATE", "bulk_sends", apply(models.BulkPause, b)},
			{"cancel", "UPDATE", "bulk_sends", apply(models.BulkCancel, b)},
			{"cancel", "UPDATE", "bulk_send_rows", apply(models.BulkCancel, b)},
			{"retry", "UPDATE", "bulk_send_rows", apply(models.BulkRetry, ended)},
			{"fail a row", "UPDATE", "bulk_send_rows", func() error {
				return s.FailBulkRow(ctx, f.app.ID, work.Rows[0], models.Reject(models.KindConflict, "no", "No."))
			}},
			{"send a row", "UPDATE", "bulk_send_rows", send},
			{"send a row", "INSERT", "envelopes", send},
			{"send a row", "INSERT", "outbox", send},
			{"finish", "UPDATE", "bulk_sends", func() error { return errOf(s.FinishBulkSend(ctx, f.app.ID, ended.ID)) }},
			{"finish", "INSERT", "webhook_events", func() error { return errOf(s.FinishBulkSend(ctx, f.app.ID, ended.ID)) }},
			{"store a template", "INSERT", "templates", put},
			{"store a template", "INSERT", "template_versions", put},
			{"store a template", "INSERT", "template_documents", put},
			{"make one of a template", "INSERT", "envelopes", use},
			{"make one of a template", "INSERT", "documents", use},
			{"archive", "UPDATE", "templates", archive},
			{"archive", "UPDATE", "template_documents", archive},
		} {
			what := fmt.Sprintf("%s without %s of %s", c.name, c.statement, c.table)
			db := pool(t, s)
			before := contents(t, kind, db)
			mend := breakTable(ctx, t, db, kind, c.statement, c.table)
			err := c.call()
			mend()
			require.ErrorContains(t, err, "broken on purpose", what)
			assert.False(t, models.IsRejection(err), "%s: %v", what, err)
			assert.True(t, slices.Equal(before, contents(t, kind, db)), "%s: the database was changed", what)
		}
	})
}
