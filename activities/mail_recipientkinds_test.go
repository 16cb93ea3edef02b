package activities_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
	"countersign/temporal"
)

// sentTo stores a sent envelope that has one document and awaits the given recipients. Each recipient that can have
// fields has one field.
func (env *fakeEnv) sentTo(ins ...models.SignerInput) (*models.Envelope, temporal.EnvelopeInput) {
	env.t.Helper()
	act := env.act()
	e, err := models.NewEnvelope(act, models.Envelope{AppID: env.app.ID, TenantID: "t", CreatedBy: "me"})
	require.NoError(env.t, err)
	key := fmt.Sprintf("envelopes/%s/original/0.pdf", e.ID)
	f, err := env.Blobs.Temp()
	require.NoError(env.t, err)
	require.NoError(env.t, env.Blobs.Put(env.t.Context(), f, key))
	blob.Discard(f)
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{SHA256: emptyHash, PageCount: 1, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: key}}, 1)
	require.NoError(env.t, err)
	for _, in := range ins {
		if in.AuthMethod == "" {
			in.AuthMethod = models.AuthNone
		}
		s, err := e.AddSigner(act, in)
		require.NoError(env.t, err)
		if s.Kind == models.RecipientSigner || s.Kind == models.RecipientInPerson {
			_, err = e.AddFields(act, []models.FieldInput{{
				SignerRef: s.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 9, H: 9, Origin: models.OriginTopLeft,
			}}, models.NoPrefix)
			require.NoError(env.t, err)
		}
	}
	require.NoError(env.t, e.Send(act, nil))
	require.NoError(env.t, env.Store.Create(env.t.Context(), e))
	return e, temporal.EnvelopeInput{AppID: env.app.ID, EnvelopeID: e.ID}
}

// mailedTo returns the kind and recipient of each email sent since the last call.
func (env *fakeEnv) mailedTo() []string {
	out := []string{}
	for _, m := range env.mails.mails {
		out = append(out, m.Kind+" "+m.To.Email)
	}
	env.mails.mails = nil
	return out
}

// finishes performs every action of a signer of the stored envelope: viewing every document, consenting and signing.
func (env *fakeEnv) finishes(of *models.Envelope, i int) {
	env.t.Helper()
	env.change(of, func(e *models.Envelope) error {
		l := models.Link{EnvelopeID: e.ID, SignerID: e.Signers[i].ID, ID: *e.Signers[i].LinkID}
		for _, d := range e.Originals() {
			require.NoError(env.t, e.ViewPage(env.act(), l, d.ID, 1, 1, nil))
		}
		_, err := e.Consent(env.act(), l, new(models.Signer).Disclosure("en"))
		require.NoError(env.t, err)
		_, err = e.Sign(env.act(), l, models.Submission{})
		return err
	})
}

// TestMails_ByKindOfRecipient checks the addressees and languages of all emails, from the invitation to the copies,
// for each kind of recipient.
func TestMails_ByKindOfRecipient(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		ctx := env.t.Context()
		e, in := env.sentTo(
			models.SignerInput{Name: "Ida", Email: "ida@example.com", RoutingOrder: 1, Kind: models.RecipientInPerson, Host: &models.Host{Name: "Hal", Email: "hal@example.com"}, Role: "Tenant", Language: "fr"},
			models.SignerInput{Name: "Will", Email: "will@example.com", WitnessFor: "Tenant"},
			models.SignerInput{Name: "Cora", Email: "cora@example.com", RoutingOrder: 1, Kind: models.RecipientCopy, Language: "de"},
			models.SignerInput{Name: "Sam", Email: "sam@example.com", RoutingOrder: 1, Silent: true},
			models.SignerInput{Name: "Carl", Email: "carl@example.com", RoutingOrder: 1, Kind: models.RecipientCopy, Silent: true},
		)
		plan, err := env.LoadPlan(ctx, in)
		require.NoError(env.t, err)
		ida, will, sam := e.Signers[0], e.Signers[1], e.Signers[2]
		require.Equal(env.t, models.Routing{{ID: ida.ID, Group: 1}, {ID: will.ID, Group: 1, After: &ida.ID}, {ID: sam.ID, Group: 1}}, plan.Signers)
		require.Equal(env.t, models.Routing{{ID: e.Copies[0].ID, Group: 1}, {ID: e.Copies[1].ID, Group: 1}}, plan.Copies)

		for range 2 { // an activity may run more than once
			for _, s := range e.Recipients() {
				require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: s.ID}))
			}
		}
		require.Equal(env.t, "Bonjour Hal,", firstLineOf(env.mails.mails[0].Text))
		require.Contains(env.t, env.mails.mails[1].Text, "Sie erhalten eine Kopie")
		require.Equal(env.t, []string{"invitation hal@example.com", "copy_notice cora@example.com"}, env.mailedTo(), "the witness waits, and two recipients receive no email from the service")
		require.Equal(env.t, 1, env.events(e, models.EventCopyAnnounced))
		require.Equal(env.t, 1, env.events(e, models.EventInvitationSent))

		env.clock.Add(env.ReminderInterval)
		env.reminded(in)
		require.Equal(env.t, []string{"reminder hal@example.com"}, env.mailedTo())
		env.clock.Add(time.Minute)
		env.change(e, func(e *models.Envelope) error {
			_, err := e.Resend(env.act(), sam.ID)
			return err
		})
		require.Equal(env.t, 1, env.claimReinvites(in))
		require.Equal(env.t, []string{"invitation sam@example.com"}, env.mailedTo(), "the sender requested the link")
		env.clock.Add(40 * 24 * time.Hour)
		_, err = env.RenewLinks(ctx, in)
		require.NoError(env.t, err)
		now, err := env.Store.Envelope(ctx, in.AppID, e.ID)
		require.NoError(env.t, err)
		require.True(env.t, now.Signers[2].LinkIssuedAt.Before(*now.Signers[0].LinkIssuedAt), "the sender's link does not change")
		env.change(e, func(e *models.Envelope) error { // the link has expired in the meantime
			_, err := e.IssueLink(env.act(), sam.ID, false)
			return err
		})

		env.finishes(e, 0)
		require.NoError(env.t, env.Invite(ctx, temporal.InviteInput{EnvelopeInput: in, SignerID: will.ID}))
		require.Equal(env.t, []string{"invitation will@example.com"}, env.mailedTo())
		env.finishes(e, 1)
		env.finishes(e, 2)
		env.sealed(in)
		require.True(env.t, env.unfinished(e), "the copies have not been sent yet")
		for range 2 {
			require.NoError(env.t, env.SendCopies(ctx, in))
		}
		require.Equal(env.t, []string{"completed ida@example.com", "completed will@example.com", "completed cora@example.com"}, env.mailedTo())
		require.False(env.t, env.unfinished(e), "no other recipient must be emailed")
		require.NoError(env.t, env.SendCopiesAgain(ctx, temporal.CopiesInput{EnvelopeInput: in, SignerID: e.Copies[1].ID, Request: uuid.New()}))
		require.Equal(env.t, []string{"completed carl@example.com"}, env.mailedTo(), "the sender requested the copies")
	})
}

// TestClosing_ByKindOfRecipient checks that the host is notified of the closing, and that recipients who are contacted
// by the sender are not.
func TestClosing_ByKindOfRecipient(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		host := &models.Host{Name: "Hal", Email: "hal@example.com"}
		e, in := env.sentTo(
			models.SignerInput{Name: "Ida", Email: "ida@example.com", RoutingOrder: 1, Kind: models.RecipientInPerson, Host: host},
			models.SignerInput{Name: "Sam", Email: "sam@example.com", RoutingOrder: 1, Silent: true},
			models.SignerInput{Name: "Cora", Email: "cora@example.com", RoutingOrder: 1, Kind: models.RecipientCopy},
		)
		env.change(e, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		require.Equal(env.t, []string{"closed hal@example.com"}, env.mailedTo())
		require.False(env.t, env.unfinished(e))

		silent, in := env.sentTo(models.SignerInput{Name: "Sam", Email: "sam@example.com", RoutingOrder: 1, Silent: true})
		env.change(silent, func(e *models.Envelope) error { return e.Void(env.act(), nil) })
		require.NoError(env.t, env.SendClosing(env.t.Context(), in))
		require.Empty(env.t, env.mailedTo())
		require.False(env.t, env.unfinished(silent), "no recipient has to be notified")
	})
}

// TestCopyNotice_Rejected checks that the envelope continues if a copy notice is rejected, and that its audit chain
// records the rejection.
func TestCopyNotice_Rejected(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(env *fakeEnv) {
		own := "office@acme.example"
		require.NoError(env.t, env.Store.SaveSettings(env.t.Context(), models.Settings{AppID: env.app.ID, NotifyEmail: &own}))
		e, in := env.sentTo(models.SignerInput{Name: "Ada", Email: "ada@example.com", RoutingOrder: 1},
			models.SignerInput{Name: "Cora", Email: "cora@example.com", RoutingOrder: 1, Kind: models.RecipientCopy})
		env.mails.reject = "cora@example.com"
		for range 2 {
			require.NoError(env.t, env.Invite(env.t.Context(), temporal.InviteInput{EnvelopeInput: in, SignerID: e.Copies[0].ID}))
		}
		require.Equal(env.t, []string{"notice " + own}, env.mailedTo())
		require.Equal(env.t, 1, env.events(e, models.EventInvitationFailed))
		require.Zero(env.t, env.events(e, models.EventCopyAnnounced))
	})
}

// unfinished reports whether the database lists the envelope's workflow as unfinished.
func (env *fakeEnv) unfinished(e *models.Envelope) bool {
	env.t.Helper()
	env.drainOutbox()
	rows, _, err := env.Store.Unfinished(env.t.Context(), store.WorkClosings, uuid.Nil, 100)
	require.NoError(env.t, err)
	for _, r := range rows {
		if r.Key == e.ID {
			return true
		}
	}
	return false
}

// firstLineOf returns the greeting of an email.
func firstLineOf(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasSuffix(strings.TrimSpace(line), ",") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
