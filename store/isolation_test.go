package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/test/kit"
)

// TestApps_AreIsolated checks that an app cannot read, count or change the rows of another app, even if it knows their
// IDs.
func TestApps_AreIsolated(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		ctx := t.Context()
		type owned struct {
			f                            *fixture
			envelope                     *models.Envelope
			hook                         *models.Webhook
			contact                      *models.Contact
			user                         *models.ConsoleUser
			delivery, otherEventDelivery models.Delivery
			secret                       uuid.UUID
		}
		own := func(name string) *owned {
			f := newFixture(t, s, clock)
			o := &owned{f: f}
			var err error
			o.hook, err = s.CreateWebhook(ctx, f.app.ID, "https://example.com/"+name, models.WebhookEvents, "")
			require.NoError(t, err)
			o.contact, err = s.SaveContact(ctx, models.Contact{AppID: f.app.ID, Name: "Ada", Email: "ada@example.com"}, false)
			require.NoError(t, err)
			o.user, err = s.CreateUser(ctx, f.app.ID, name+"@example.com", "Ada", "correct horse battery "+name, models.RoleAdmin)
			require.NoError(t, err)
			_, err = s.AddSecret(ctx, f.app.ID, time.Hour)
			require.NoError(t, err)
			o.envelope = f.sent(2, nil)
			require.NoError(t, f.sign(o.envelope, 0))
			require.NoError(t, change(ctx, f, o.envelope.ID, func(e *models.Envelope) error { e.OwnerID = &o.user.ID; return nil }))
			drainOutbox(t, s)
			list, total, err := s.Deliveries(ctx, store.DeliveryFilter{App: f.app.ID, Page: 1, Size: 100})
			require.NoError(t, err)
			require.EqualValues(t, len(list), total)
			require.Greater(t, len(list), 2)
			for _, d := range list {
				require.Equal(t, f.app.ID, d.AppID)
				require.Equal(t, o.hook.ID, d.WebhookID)
				if d.Event == models.EventSignerSigned {
					o.delivery = d
				} else {
					o.otherEventDelivery = d
				}
			}
			secrets, err := s.ClientSecrets(ctx, f.app.ID)
			require.NoError(t, err)
			require.Len(t, secrets, 2)
			o.secret = secrets[1].ID
			return o
		}
		a, b := own("a"), own("b")
		app := a.f.app.ID

		hooks, err := s.Webhooks(ctx, app)
		require.NoError(t, err)
		require.Len(t, hooks, 1)
		require.Equal(t, a.hook.ID, hooks[0].ID)
		users, err := s.Users(ctx, app)
		require.NoError(t, err)
		require.Len(t, users, 1)
		require.Equal(t, a.user.ID, users[0].ID)
		details, err := s.UserDetails(ctx, app)
		require.NoError(t, err)
		require.Len(t, details, 1)
		for _, search := range []string{"", "ada", "ada@example.com"} {
			contacts, total, err := s.Contacts(ctx, app, search, 1, 10)
			require.NoError(t, err)
			require.Equal(t, 1, total, search)
			require.Equal(t, a.contact.ID, contacts[0].ID, search)
			recent, err := s.RecentRecipients(ctx, app, b.user.ID, "", search)
			require.NoError(t, err)
			require.Empty(t, recent, search)
			list, n, err := s.Envelopes(ctx, store.EnvelopeFilter{App: app, Search: search, Page: 1, Size: 10})
			require.NoError(t, err)
			require.Len(t, list, int(n))
			for _, e := range list {
				require.Equal(t, a.envelope.ID, e.ID, search)
			}
		}
		used, err := s.EnvelopesUsed(ctx, app)
		require.NoError(t, err)
		require.Equal(t, 1, used)
		names, err := s.DeliveryContext(ctx, app, []models.Delivery{a.delivery, b.delivery})
		require.NoError(t, err)
		require.Len(t, names.URLs, 1)
		require.Contains(t, names.URLs, a.hook.ID)

		// Check each filter for deliveries individually.
		for name, c := range map[string]struct {
			filter store.DeliveryFilter
			want   func(d models.Delivery) bool
		}{
			"event":             {store.DeliveryFilter{Event: models.EventSignerSigned}, func(d models.Delivery) bool { return d.Event == models.EventSignerSigned }},
			"status":            {store.DeliveryFilter{Status: a.delivery.Status}, func(d models.Delivery) bool { return d.Status == a.delivery.Status }},
			"another status":    {store.DeliveryFilter{Status: "none"}, func(models.Delivery) bool { return false }},
			"endpoint":          {store.DeliveryFilter{Webhook: a.hook.ID}, func(models.Delivery) bool { return true }},
			"the other's":       {store.DeliveryFilter{Webhook: b.hook.ID}, func(models.Delivery) bool { return false }},
			"envelope":          {store.DeliveryFilter{Envelope: a.envelope.ID}, func(d models.Delivery) bool { return d.EnvelopeID == a.envelope.ID }},
			"the other's, also": {store.DeliveryFilter{Envelope: b.envelope.ID}, func(models.Delivery) bool { return false }},
		} {
			all, _, err := s.Deliveries(ctx, store.DeliveryFilter{App: app, Page: 1, Size: 100})
			require.NoError(t, err)
			var want []uuid.UUID
			for _, d := range all {
				if c.want(d) {
					want = append(want, d.ID)
				}
			}
			c.filter.App, c.filter.Page, c.filter.Size = app, 1, 100
			found, total, err := s.Deliveries(ctx, c.filter)
			require.NoError(t, err)
			require.EqualValues(t, len(want), total, name)
			require.Len(t, found, len(want), name)
			for i := range want {
				require.Equal(t, want[i], found[i].ID, name)
			}
		}

		url, role, off := "https://example.com/moved", models.RoleViewer, false
		for name, call := range map[string]func(app uuid.UUID, o *owned) error{
			"load the endpoint": func(app uuid.UUID, o *owned) error { _, err := s.Webhook(ctx, app, o.hook.ID); return err },
			"change the endpoint": func(app uuid.UUID, o *owned) error {
				_, err := s.PatchWebhook(ctx, app, o.hook.ID, store.WebhookPatch{WebhookChange: models.WebhookChange{URL: &url}})
				return err
			},
			"switch the endpoint": func(app uuid.UUID, o *owned) error {
				_, err := s.PatchWebhook(ctx, app, o.hook.ID, store.WebhookPatch{Active: new(off)})
				return err
			},
			"another secret": func(app uuid.UUID, o *owned) error {
				_, err := s.PatchWebhook(ctx, app, o.hook.ID, store.WebhookPatch{Secret: new("a secret of its own"), Overlap: time.Hour})
				return err
			},
			"ping": func(app uuid.UUID, o *owned) error { _, err := s.PingWebhook(ctx, app, o.hook.ID); return err },
			"send again": func(app uuid.UUID, o *owned) error {
				_, err := s.Resend(ctx, &models.App{ID: app}, o.delivery.ID)
				return err
			},
			"send all again": func(app uuid.UUID, o *owned) error {
				_, err := s.ResendSince(ctx, &models.App{ID: app}, o.hook.ID, clock.Now().Add(-time.Hour))
				return err
			},
			"load the delivery": func(app uuid.UUID, o *owned) error {
				_, _, _, err := s.Delivery(ctx, &models.App{ID: app}, o.delivery.ID)
				return err
			},
			"load the envelope": func(app uuid.UUID, o *owned) error { _, err := s.Envelope(ctx, app, o.envelope.ID); return err },
			"change the user": func(app uuid.UUID, o *owned) error {
				_, err := s.UpdateUser(ctx, app, o.user.ID, store.UserChange{Role: &role})
				return err
			},
			"disable the user":    func(app uuid.UUID, o *owned) error { return s.DisableUser(ctx, app, o.user.ID) },
			"end the secret":      func(app uuid.UUID, o *owned) error { return s.EndClientSecret(ctx, app, o.secret) },
			"delete the contact":  func(app uuid.UUID, o *owned) error { return s.DeleteContact(ctx, app, o.contact.ID) },
			"delete the endpoint": func(app uuid.UUID, o *owned) error { return s.DeleteWebhook(ctx, app, o.hook.ID) },
		} {
			require.ErrorIs(t, call(app, b), models.ErrNotFound, name)
		}
		// The other app's objects are unchanged.
		hook, err := s.Webhook(ctx, b.f.app.ID, b.hook.ID)
		require.NoError(t, err)
		require.Equal(t, []any{b.hook.URL, true}, []any{hook.URL, hook.Active})
		user, err := s.User(ctx, b.user.ID)
		require.NoError(t, err)
		require.Equal(t, models.RoleAdmin, user.Role)
		secrets, err := s.ClientSecrets(ctx, b.f.app.ID)
		require.NoError(t, err)
		require.Len(t, secrets, 2)
		_, total, err := s.Contacts(ctx, b.f.app.ID, "", 1, 10)
		require.NoError(t, err)
		require.Equal(t, 1, total)
	})
}

// TestTemplatesAndBulkSends_AreIsolated checks that an app can find and change only its own templates and bulk sends.
func TestTemplatesAndBulkSends_AreIsolated(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, other, ctx := newFixture(t, s, clock), newFixture(t, s, clock), t.Context()
		mine, also, theirs := must(f.bulk(2, 0)), must(f.bulk(3, 0)), must(other.bulk(4, 0))
		external := ptr("lease")
		template, second, foreign := f.templateOf("one", external), f.templateOf("two", nil), other.templateOf("three", external)
		assert.NotEqual(t, template.ID, foreign.ID, "an external id is unique per app and tenant")

		allow := func(*models.BulkSend) error { return nil }
		for name, call := range map[string]func(app uuid.UUID) error{
			"load a bulk send": func(app uuid.UUID) error { return errOf(s.BulkSend(ctx, app, theirs.ID)) },
			"take its rows":    func(app uuid.UUID) error { return errOf(s.BulkWork(ctx, app, theirs.ID, 9, 9)) },
			"pause it": func(app uuid.UUID) error {
				return errOf(s.ChangeBulkSend(ctx, app, theirs.ID, models.BulkPause, allow))
			},
			"load a template": func(app uuid.UUID) error { return errOf(s.Template(ctx, app, foreign.ID, 0)) },
			"load a version":  func(app uuid.UUID) error { return errOf(s.Template(ctx, app, foreign.ID, 1)) },
			"archive it": func(app uuid.UUID) error {
				return errOf(s.ArchiveTemplate(ctx, app, foreign.ID, func(*models.Template) error { return nil }))
			},
			"change it": func(app uuid.UUID) error {
				return errOf(s.ChangeTemplate(ctx, app, foreign.ID, func(*models.LoadedTemplate) error { return nil }))
			},
		} {
			require.ErrorIs(t, call(f.app.ID), models.ErrNotFound, name)
		}
		_, err := f.createFromTemplate(ctx, foreign.ID, 1)
		assert.Equal(t, "validation_error templateId", rejectionOf(t, err))
		assert.Equal(t, models.BulkQueued, must(s.BulkSend(ctx, other.app.ID, theirs.ID)).Status, "no other request has claimed the key")
		assert.Equal(t, 4, other.counts(theirs).Pending)

		// Each of several bulk sends and templates has its own rows, versions and state.
		assert.Len(t, f.work(mine, 9).Rows, 2)
		assert.Equal(t, models.BulkQueued, must(s.BulkSend(ctx, f.app.ID, also.ID)).Status)
		_, err = s.ChangeBulkSend(ctx, f.app.ID, mine.ID, models.BulkCancel, allow)
		require.NoError(t, err)
		assert.Equal(t, models.BulkCounts{Canceled: 2}, f.counts(mine))
		assert.Equal(t, models.BulkCounts{Pending: 3}, f.counts(also))
		assert.Equal(t, models.BulkCounts{Pending: 4}, other.counts(theirs))
		rows, err := s.BulkRows(ctx, also.ID, "", 0, 2)
		require.NoError(t, err)
		require.Len(t, rows, 2)
		assert.Equal(t, []int{1, 2}, []int{rows[0].Row, rows[1].Row})
		rows, err = s.BulkRows(ctx, also.ID, "", 2, 2)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		assert.Equal(t, 3, rows[0].Row)
		rows, err = s.BulkRows(ctx, also.ID, models.BulkRowCanceled, 0, 9)
		require.NoError(t, err)
		assert.Empty(t, rows)

		next := f.templateOf("one again", external)
		assert.Equal(t, []any{template.ID, 2}, []any{next.ID, next.Version})
		assert.Equal(t, 1, must(s.Template(ctx, f.app.ID, second.ID, 0)).Version)
		assert.Equal(t, 1, must(s.Template(ctx, other.app.ID, foreign.ID, 0)).Version)
		_, err = s.Template(ctx, f.app.ID, second.ID, 2)
		require.ErrorIs(t, err, models.ErrNotFound)
		require.NoError(t, errOf(s.ArchiveTemplate(ctx, f.app.ID, template.ID, func(*models.Template) error { return nil })))
		assert.NotNil(t, must(s.Template(ctx, f.app.ID, template.ID, 0)).ArchivedAt)
		assert.Nil(t, must(s.Template(ctx, f.app.ID, second.ID, 0)).ArchivedAt)
		assert.Nil(t, must(s.Template(ctx, other.app.ID, foreign.ID, 0)).ArchivedAt)
	})
}

// TestChangeOfRow_KeepsOtherRows checks that a change to one row of an app does not affect the app's other rows.
func TestChangeOfRow_KeepsOtherRows(t *testing.T) {
	t.Parallel()
	kit.OnBoth(t, func(t *testing.T, s *store.Store, clock *kit.Clock) {
		f, other, ctx := newFixture(t, s, clock), newFixture(t, s, clock), t.Context()
		e := f.sent(2, nil)
		for i := range 2 {
			app, l, err := s.LinkByShortForm(ctx, s.ShortLink(*e.Signers[i].LinkID))
			require.NoError(t, err)
			assert.Equal(t, []any{f.app.ID, link(e, i)}, []any{app, l})
		}
		_, _, err := s.LinkByShortForm(ctx, s.ShortLink(uuid.New()))
		require.ErrorIs(t, err, models.ErrNotFound)

		p := newEndpoint(f)
		d := p.ping()
		url := "https://other.example/hook"
		change := store.WebhookPatch{WebhookChange: models.WebhookChange{URL: &url}}
		_, err = s.PatchWebhook(ctx, other.app.ID, p.hook.ID, change)
		require.ErrorIs(t, err, models.ErrNotFound)
		assert.Equal(t, "https://example.com/hook", p.now().URL)
		_, err = s.PatchWebhook(ctx, f.app.ID, p.hook.ID, change)
		require.NoError(t, err)
		assert.Equal(t, []any{url, true, models.DeliveryPending}, []any{p.now().URL, p.now().Active, p.status(d)})
		_, err = s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{Active: ptr(true)})
		require.NoError(t, err)
		assert.Equal(t, models.DeliveryPending, p.status(d))
		_, err = s.PatchWebhook(ctx, f.app.ID, p.hook.ID, store.WebhookPatch{Active: ptr(false)})
		require.NoError(t, err)
		assert.Equal(t, []any{false, models.DeliveryFailed}, []any{p.now().Active, p.status(d)})

		deliveries := []models.Delivery{{WebhookID: p.hook.ID, EnvelopeID: e.ID}, {WebhookID: newEndpoint(other).hook.ID, EnvelopeID: must(other.draft(models.Envelope{Subject: ptr("theirs")})).ID}}
		names, err := s.DeliveryContext(ctx, f.app.ID, deliveries)
		require.NoError(t, err)
		assert.Equal(t, map[uuid.UUID]string{p.hook.ID: url}, names.URLs)
		assert.Empty(t, names.Subjects, "another app's endpoint is not returned")

		require.NoError(t, errOf(s.BeginMail(ctx, models.Mail{ID: "m", EnvelopeID: e.ID, SignerID: e.Signers[0].ID, Kind: models.MailInvitation})))
		mails := must(s.Mails(context.WithoutCancel(ctx), e.ID))
		require.Len(t, mails, 1)
		assert.Equal(t, clock.Now(), mails[0].CreatedAt.UTC())
	})
}
