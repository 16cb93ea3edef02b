package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/internal/testkit"
	"countersign/models"
	"countersign/store"
)

// TestSettingsAreTheAppsAndTenants: of one app and tenant, and those that are
// named alone.
func TestSettingsAreTheAppsAndTenants(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx := t.Context()
		app, _, err := s.CreateApp(ctx, "A", models.PlanFree, nil)
		require.NoError(t, err)
		other, _, err := s.CreateApp(ctx, "Other", models.PlanFree, nil)
		require.NoError(t, err)
		name, reply, days, foreign := "Legal", "legal@example.com", 7, "Foreign"
		require.NoError(t, s.SaveSettings(ctx, models.Settings{AppID: other.ID, SenderName: &foreign}))
		require.NoError(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, TenantID: "u", SenderName: &foreign}))
		require.NoError(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, TenantID: "t", SenderName: &name, ReplyTo: &reply}))
		own, effective, err := s.Settings(ctx, app.ID, "t")
		require.NoError(t, err)
		assert.Equal(t, []any{"Legal", "legal@example.com", clock.Now()}, []any{*own.SenderName, *own.ReplyTo, own.UpdatedAt.UTC()})
		assert.Equal(t, own.SenderName, effective.SenderName)
		general, _, err := s.Settings(ctx, app.ID, "")
		require.NoError(t, err)
		assert.Nil(t, general.SenderName)

		clock.Add(time.Minute)
		require.NoError(t, s.ChangeSettings(ctx, models.Settings{AppID: app.ID, TenantID: "t", RetentionDays: &days}, []string{"RetentionDays", "SenderName"}))
		own, _, err = s.Settings(ctx, app.ID, "t")
		require.NoError(t, err)
		assert.Nil(t, own.SenderName, "it was named, and is taken back")
		assert.Equal(t, []any{7, "legal@example.com", clock.Now()}, []any{*own.RetentionDays, *own.ReplyTo, own.UpdatedAt.UTC()})
		zero := 0
		assert.Equal(t, "validation_error defaultExpiryDays", refusalOf(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, DefaultExpiryDays: &zero})))
		assert.Equal(t, "validation_error tenantId", refusalOf(t, s.SaveSettings(ctx, models.Settings{AppID: app.ID, TenantID: "a\nb"})))
	})
}

// TestSavedSignaturesAreTheirOwners: of the app, the tenant, the address and the
// way in which it was proved; the newest one.
func TestSavedSignaturesAreTheirOwners(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		e := f.sent(1, nil)
		save := func(image string) {
			require.NoError(t, change(ctx, f, e.ID, func(e *models.Envelope) error {
				e.Adopted = &models.SavedSignature{AppID: f.app.ID, TenantID: "t", AuthMethod: models.AuthEmailOTP, Email: "ada@example.com", Image: []byte(image), UpdatedAt: clock.Now()}
				return nil
			}))
		}
		save("one")
		save("two")
		find := func(app uuid.UUID, tenant string, method models.AuthMethod, email string) string {
			v, err := s.SavedSignature(ctx, &models.Envelope{AppID: app, TenantID: tenant}, &models.Signer{AuthMethod: method, Email: email})
			require.NoError(t, err)
			if v == nil {
				return ""
			}
			return string(v.Image)
		}
		assert.Equal(t, "two", find(f.app.ID, "t", models.AuthEmailOTP, "Ada@Example.com"))
		assert.Empty(t, find(uuid.New(), "t", models.AuthEmailOTP, "ada@example.com"))
		assert.Empty(t, find(f.app.ID, "u", models.AuthEmailOTP, "ada@example.com"))
		assert.Empty(t, find(f.app.ID, "t", models.AuthSMSOTP, "ada@example.com"))
		assert.Empty(t, find(f.app.ID, "t", models.AuthEmailOTP, "bob@example.com"))
	})
}

// TestMailsAreKept: each of its envelope, with how it ended; a signer is not
// reached if the last mail to them was given up.
func TestMailsAreKept(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		ctx, e, other := t.Context(), newID(), newID()
		ada, bob := newID(), newID()
		begin := func(id string, envelope, signer uuid.UUID) bool {
			clock.Add(time.Second)
			begun, err := s.BeginMail(ctx, models.Mail{ID: id, EnvelopeID: envelope, SignerID: signer, Kind: models.MailInvitation})
			require.NoError(t, err)
			return begun.Settled()
		}
		require.False(t, begin("1", e, ada))
		begun := clock.Now()
		require.False(t, begin("1", e, ada))
		require.False(t, begin("2", e, bob))
		require.False(t, begin("3", other, ada))
		require.NoError(t, s.MailFailed(ctx, "1", "no such user"))
		require.NoError(t, s.MailSent(ctx, "2"))
		require.True(t, begin("1", e, ada), "it was given up")
		require.True(t, begin("2", e, bob))
		require.False(t, begin("3", other, ada))
		mails, err := s.Mails(ctx, e)
		require.NoError(t, err)
		require.Len(t, mails, 2)
		assert.Equal(t, []any{"1", 3, "no such user", begun}, []any{mails[0].ID, mails[0].Attempts, mails[0].Error, mails[0].CreatedAt.UTC()})
		assert.Nil(t, mails[0].SentAt)
		assert.NotNil(t, mails[0].FailedAt)
		assert.Equal(t, []any{"2", 2, ""}, []any{mails[1].ID, mails[1].Attempts, mails[1].Error})
		assert.Nil(t, mails[1].FailedAt)
		undelivered := func() map[uuid.UUID][]uuid.UUID { return must(s.Undelivered(ctx, []uuid.UUID{e, other})) }
		assert.Equal(t, map[uuid.UUID][]uuid.UUID{e: {ada}}, undelivered())
		begin("4", e, ada)
		assert.Equal(t, map[uuid.UUID][]uuid.UUID{e: {ada}}, undelivered(), "it may yet be given up")
		require.NoError(t, s.MailSent(ctx, "4"))
		assert.Empty(t, undelivered(), "the last one went out")
		require.NoError(t, s.MailFailed(ctx, "3", "no such user"))
		assert.Equal(t, map[uuid.UUID][]uuid.UUID{other: {ada}}, undelivered())
		assert.Empty(t, must(s.Undelivered(ctx, []uuid.UUID{e})))
	})
}

// TestContactsAreTheApps: with what they were saved with, up to the phone number
// that is kept; other apps have their own of the same address.
func TestContactsAreTheApps(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
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
		assert.Len(t, must2nd(s.Contacts(ctx, other.ID, "", 1, 9)), 1)
	})
}

// must2nd is the first result of a list that also says how many there are.
func must2nd[T any](list []T, _ int, err error) []T {
	if err != nil {
		panic(err)
	}
	return list
}

// TestTheOutboxSaysWhatWaits: how many rows, and since when the oldest; a row
// names its signer and goes to the lane of its app.
func TestTheOutboxSaysWhatWaits(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		n, age, err := s.OutboxDepth(ctx)
		require.NoError(t, err)
		assert.Equal(t, []any{int64(0), time.Duration(0)}, []any{n, age})
		e := f.sent(2, nil)
		clock.Add(3 * time.Minute)
		require.NoError(t, f.sign(e, 1))
		n, age, err = s.OutboxDepth(ctx)
		require.NoError(t, err)
		assert.Equal(t, []any{int64(2), 3 * time.Minute}, []any{n, age})
		rows := drainOutbox(t, s)
		require.Len(t, rows, 2)
		assert.Nil(t, rows[0].Refs.SignerID)
		assert.Equal(t, e.Signers[1].ID, *rows[1].Refs.SignerID)
		for _, r := range rows {
			assert.Equal(t, []any{f.app.ID, "t", 1, r.Refs.FairnessKey()}, []any{r.Refs.AppID, r.Refs.TenantID, r.Attempts, r.FairnessKey})
			assert.NotEmpty(t, r.FairnessKey)
		}
		require.NoError(t, s.Requeue(ctx, nil))
		assert.Empty(t, drainOutbox(t, s))
		f.awake()
		require.NoError(t, s.Requeue(ctx, []models.OutboxRow{{ID: newID(), Key: e.ID, Kind: models.OutboxStart, Refs: rows[0].Refs, NotBefore: clock.Now(), CreatedAt: clock.Now()}}))
		assert.True(t, f.awake())
		require.Len(t, drainOutbox(t, s), 1)

		// What is put off is put off for five minutes at most; later than that it is due at once.
		row := models.OutboxRow{ID: newID(), Key: e.ID, Kind: models.OutboxStart, Refs: rows[0].Refs, NotBefore: clock.Now().Add(5 * time.Minute), CreatedAt: clock.Now()}
		require.NoError(t, s.Requeue(ctx, []models.OutboxRow{row}))
		assert.Empty(t, must(s.ClaimOutbox(ctx, 9, time.Minute)), "in five minutes")
		clock.Add(-time.Microsecond)
		taken := must(s.ClaimOutbox(ctx, 9, time.Minute))
		require.Len(t, taken, 1, "the clock was set back")
		require.NoError(t, s.RetryOutbox(ctx, taken[0].Seq, time.Hour))
		clock.Add(5*time.Minute - time.Microsecond)
		assert.Empty(t, must(s.ClaimOutbox(ctx, 9, time.Minute)))
		clock.Add(time.Microsecond)
		assert.Len(t, must(s.ClaimOutbox(ctx, 9, time.Minute)), 1)
	})
}

// TestWhatEachEventStarts: the rows that workflows are started and told by.
func TestWhatEachEventStarts(t *testing.T) {
	t.Parallel()
	testkit.OnBoth(t, func(t *testing.T, s *store.Store, clock *testkit.Clock) {
		f, ctx := newFixture(t, s, clock), t.Context()
		kinds := func(fn func(e *models.Envelope) error, e *models.Envelope) (out []models.OutboxKind) {
			drainOutbox(t, s)
			require.NoError(t, change(ctx, f, e.ID, fn))
			for _, r := range drainOutbox(t, s) {
				require.Equal(t, e.ID, r.Key)
				out = append(out, r.Kind)
			}
			return out
		}
		e := f.sent(2, nil)
		assert.Equal(t, []models.OutboxKind{models.OutboxReinvite}, kinds(func(e *models.Envelope) error { return e.Reinvite(f.act(), e.Signers[0].ID) }, e))
		assert.Empty(t, kinds(func(e *models.Envelope) error { return e.Invited(f.act(), e.Signers[0].ID, true, "m") }, e))
		assert.Equal(t, []models.OutboxKind{models.OutboxDeclined}, kinds(func(e *models.Envelope) error {
			_, err := e.Decline(f.act(), link(e, 0), nil, false)
			return err
		}, e))
		e = f.sent(2, nil)
		assert.Equal(t, []models.OutboxKind{models.OutboxReinvite}, kinds(func(e *models.Envelope) error {
			_, err := e.Replace(f.act(), e.Signers[0].ID, models.Replacement{Name: "Bo", Email: "bo@example.com"})
			return err
		}, e))
		assert.Equal(t, []models.OutboxKind{models.OutboxSigned}, kinds(func(e *models.Envelope) error {
			value := "yes"
			_, err := e.Sign(f.act(), link(e, 1), models.Submission{Fields: []models.FieldSubmission{{FieldID: e.Fields[1].ID, Text: &value}}})
			return err
		}, e))
		e = f.sent(1, nil)
		require.NoError(t, f.sign(e, 0))
		assert.Equal(t, []models.OutboxKind{models.OutboxSealingFailed}, kinds(func(e *models.Envelope) error { return e.SealingFailed(f.act(), models.SealingRefused) }, e))
		days := 1
		e = f.sent(1, &days)
		clock.Add(24 * time.Hour)
		assert.Empty(t, kinds(func(e *models.Envelope) error { return e.Expire(f.act()) }, e), "its workflow did that")
		clock.Add(-24 * time.Hour)
		assert.Empty(t, kinds(func(e *models.Envelope) error { return e.Void(f.act(), nil) }, draft(t, s, f.app.ID, "t", "a draft")), "a draft has no workflow")
		begun, err := s.BeginMail(ctx, models.Mail{ID: "m7", EnvelopeID: e.ID, Kind: models.MailInvitation})
		require.NoError(t, err)
		require.False(t, begun.Settled())
		e = f.sent(1, nil)
		assert.Empty(t, kinds(func(e *models.Envelope) error { return e.Invited(f.act(), e.Signers[0].ID, false, "m7") }, e))
		begun, err = s.BeginMail(ctx, models.Mail{ID: "m7", EnvelopeID: e.ID, Kind: models.MailInvitation})
		require.NoError(t, err)
		assert.True(t, begun.Settled(), "the event says that it went out")
	})
}
