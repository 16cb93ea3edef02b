package models_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// sealing returns an envelope that all signers have signed.
func sealing(t *testing.T) *models.Envelope {
	t.Helper()
	e := sent(t, nil, models.AuthNone, 1)
	signs(t, e, 0, start)
	require.Equal(t, models.StatusSealing, e.Status)
	return e
}

func completed(t *testing.T) *models.Envelope {
	t.Helper()
	e := sealing(t)
	require.NoError(t, e.Complete(act(start), []models.SealedFile{{OriginalID: e.Originals()[0].ID, SHA256: "11", Size: 2000, PageCount: 3, BlobKey: "sealed", TimestampPending: true}}))
	return e
}

func newest(e *models.Envelope) models.Event { return e.Events[len(e.Events)-1] }

// TestRetention_CountsFromCompletion checks that the retention period starts at completion, and that an envelope is
// purged only once and not before the period ends.
func TestRetention_CountsFromCompletion(t *testing.T) {
	t.Parallel()
	draft := sealing(t)
	draft.SetRetention(7)
	require.Nil(t, draft.RetainedUntil(), "the envelope is not completed")
	e := completed(t)
	for _, days := range []int{0, -1} {
		e.SetRetention(days)
		require.Nil(t, e.RetainedUntil())
		require.Equal(t, "retention_not_due", code(t, e.Purge(act(start.AddDate(9, 0, 0)))))
	}
	e.SetRetention(1)
	due := start.AddDate(0, 0, 1)
	require.Equal(t, due, *e.RetainedUntil())
	require.Equal(t, due, *e.RetentionDueAt)
	require.Equal(t, "retention_not_due", code(t, e.Purge(act(due.Add(-time.Microsecond)))))
	for _, d := range e.Documents {
		require.Equal(t, models.PurgeActive, d.PurgeStatus)
		require.Equal(t, due, *d.RetentionUntil)
	}
	before := len(e.Events)
	require.NoError(t, e.Purge(act(due)))
	for i, d := range e.Documents {
		require.Equal(t, models.PurgePurged, d.PurgeStatus)
		ev := e.Events[before+i]
		require.Equal(t, models.EventDocumentPurged, ev.Name)
		require.Equal(t, models.Detail{"documentId": d.ID.String(), "kind": string(d.Kind), "sha256": d.SHA256}, ev.Detail)
	}
	require.Len(t, e.Events, before+len(e.Documents))
	require.NoError(t, e.Purge(act(due)))
	require.Len(t, e.Events, before+len(e.Documents), "purging again changes nothing")
	require.ErrorIs(t, e.Downloaded(act(due), uuid.New(), e.Sealed()[0].ID), models.ErrPurged)
	require.ErrorIs(t, e.Timestamped(act(due), e.Sealed()[0].ID, "11", models.SealedFile{}), models.ErrPurged)
}

// TestDownloads_AreRecordedOncePerHour checks that a recipient's downloads of a document are recorded at most once per
// hour. Every download by an app's client is recorded.
func TestDownloads_AreRecordedOncePerHour(t *testing.T) {
	t.Parallel()
	e := completed(t)
	sealed, ada := e.Sealed()[0].ID, e.Signers[0].ID
	require.ErrorIs(t, e.Downloaded(act(start), ada, e.Originals()[0].ID), models.ErrNotFound)
	require.ErrorIs(t, e.Downloaded(act(start), ada, uuid.New()), models.ErrNotFound)
	downloads := func() (n int) {
		for _, ev := range e.Events {
			if ev.Name == models.EventDocumentDownloaded {
				n++
			}
		}
		return n
	}
	require.Zero(t, downloads())
	loaded := e.Signers[0].Downloads
	for _, c := range []struct {
		recipient uuid.UUID
		after     time.Duration
		want      int
	}{
		{ada, 0, 1},
		{ada, time.Minute, 1},
		{ada, time.Hour - 1, 1},
		{ada, time.Hour, 2},
		{ada, time.Hour - time.Minute, 2},
		{uuid.New(), time.Hour, 3},
		{uuid.New(), time.Hour, 4},
		{ada, time.Hour + time.Minute, 4},
		{ada, 2 * time.Hour, 5},
	} {
		require.NoError(t, e.Downloaded(act(start.Add(c.after)), c.recipient, sealed))
		require.Equal(t, c.want, downloads(), c.after)
	}
	require.Empty(t, loaded, "the loaded map must not be modified")
	before := e.Signers[0].Downloads
	require.NoError(t, e.Downloaded(act(start.Add(4*time.Hour)), ada, sealed))
	require.NotEqual(t, before[sealed], e.Signers[0].Downloads[sealed])
	require.Equal(t, models.Detail{"documentId": sealed.String(), "sha256": "11"}, newest(e).Detail)
}

// TestComplete_RecordsSealedFiles checks that the envelope and its audit trail contain the sealed files.
func TestComplete_RecordsSealedFiles(t *testing.T) {
	t.Parallel()
	e := sealing(t)
	require.NoError(t, e.SealingFailed(act(start), models.SealingFailing))
	until := start.AddDate(5, 0, 0)
	file := models.SealedFile{OriginalID: e.Originals()[0].ID, SHA256: "11", Size: 2000, PageCount: 3, BlobKey: "sealed", TimestampedUntil: until, Encrypted: true}
	require.NoError(t, e.Complete(act(start.Add(time.Hour)), []models.SealedFile{file}))
	require.Equal(t, models.StatusCompleted, e.Status)
	require.Nil(t, e.SealingProblem)
	require.Nil(t, e.SealingProblemAt)
	require.Equal(t, start.Add(time.Hour), *e.CompletedAt)
	require.Equal(t, "11", *e.HashFinal)
	d := e.Sealed()[0]
	require.Equal(t, []any{file.OriginalID, "11", int64(2000), 3, "sealed", until, false, true, models.PurgeActive, e.Originals()[0].Name, 1},
		[]any{*d.OriginalID, d.SHA256, d.Size, d.PageCount, d.BlobKey, *d.TimestampedUntil, d.TimestampPending, d.Encrypted, d.PurgeStatus, d.Name, d.Order})
	require.Equal(t, []models.EventName{models.EventDocumentSealed, models.EventEnvelopeCompleted}, names(e)[len(e.Events)-2:])
	require.NotContains(t, e.Events[len(e.Events)-2].Detail, "timestamp")

	e = completed(t) // without a time-stamp
	d = e.Sealed()[0]
	require.Equal(t, "pending", e.Events[len(e.Events)-2].Detail["timestamp"])
	require.Nil(t, d.TimestampedUntil)
	require.ErrorIs(t, e.Timestamped(act(start), e.Originals()[0].ID, "00", file), models.ErrNotFound)
	require.ErrorIs(t, e.Timestamped(act(start), uuid.New(), "11", file), models.ErrNotFound)
	require.Equal(t, "document_replaced", code(t, e.Timestamped(act(start), d.ID, "22", file)))
	file.SHA256, file.BlobKey, file.Size = "33", "stamped", 3000
	require.NoError(t, e.Timestamped(act(start), d.ID, "11", file))
	require.Equal(t, []any{"33", int64(3000), "stamped", true, until, false}, []any{d.SHA256, d.Size, d.BlobKey, d.Encrypted, *d.TimestampedUntil, d.TimestampPending})
	require.Equal(t, "33", *e.HashFinal)
	require.Equal(t, models.EventDocumentStamped, newest(e).Name)
	require.Equal(t, models.Detail{"sealedDocumentId": d.ID.String(), "sha256Before": "11", "sha256": "33", "documentHashFinal": "33"}, newest(e).Detail)
}

// TestLinks_AreRenewedBeforeTheyExpire checks that the links of awaited signers are renewed three days before they
// expire, unless the deadline is earlier.
func TestLinks_AreRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1, 1, 2)
	renewal := start.Add(models.LinkLifetime - models.RenewBefore)
	require.Equal(t, renewal, *e.RenewLinkAt(e.Signers[0]))
	require.Nil(t, e.RenewLinkAt(e.Signers[2]), "it is not the signer's turn")
	require.Equal(t, renewal, *e.NextRenewal())
	require.NoError(t, e.RenewLink(act(start.Add(time.Hour)), e.Signers[0].ID))
	require.Equal(t, renewal, *e.NextRenewal(), "the other signer's signature comes first")
	require.Equal(t, "signer_not_awaited", code(t, e.RenewLink(act(start), e.Signers[2].ID)))
	require.ErrorIs(t, e.RenewLink(act(start), uuid.New()), models.ErrNotFound)
	signs(t, e, 1, start)
	require.Nil(t, e.RenewLinkAt(e.Signers[1]))
	require.Equal(t, renewal.Add(time.Hour), *e.NextRenewal())
	old := *e.Signers[0].LinkID
	require.NoError(t, e.Reinvite(act(start.Add(2*time.Hour)), e.Signers[0].ID))
	require.NotEqual(t, old, *e.Signers[0].LinkID)
	require.Equal(t, models.EventLinkRenewed, newest(e).Name)
	require.Equal(t, e.Signers[0].ID, newest(e).SignerID)
	require.NoError(t, e.Void(act(start), nil))
	require.Nil(t, e.NextRenewal(), "the envelope is closed")
	require.Nil(t, newest(e).Detail)

	for days, renewed := range map[int]bool{29: false, 30: false, 31: true} {
		e := sent(t, &days, models.AuthNone, 1)
		require.Equal(t, renewed, e.RenewLinkAt(e.Signers[0]) != nil, days)
		require.Equal(t, start.AddDate(0, 0, 30), *e.Signers[0].LinkExpiresAt)
		require.Equal(t, start.AddDate(0, 0, min(days, 30)), *e.LinkExpiry(e.Signers[0]))
	}
}

// TestSend_RequiresAllParts checks that sending requires signers, fields, documents and a valid message.
func TestSend_RequiresAllParts(t *testing.T) {
	t.Parallel()
	empty, err := models.NewEnvelope(act(start), models.Envelope{TenantID: "t", CreatedBy: "c"})
	require.NoError(t, err)
	var rejection *models.Error
	require.ErrorAs(t, empty.Send(act(start), nil), &rejection)
	require.Len(t, rejection.Fields, 3)
	require.Contains(t, rejection.Fields, "signers")
	require.Contains(t, rejection.Fields, "fields")
	require.Contains(t, rejection.Fields, "documents")
	for message, good := range map[string]bool{"": true, "Please\nsign.": true, strings.Repeat("x", 2000): true, strings.Repeat("x", 2001): false, "a\x00": false} {
		e := draft(t, ptr(3), models.AuthNone, 1)
		err := e.Send(act(start.Add(time.Hour)), &message)
		if !good {
			require.Equal(t, "validation_error", code(t, err))
			require.Equal(t, models.StatusDraft, e.Status)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, message, *e.Message)
		require.Equal(t, start.Add(time.Hour), *e.SentAt)
		require.Equal(t, start.Add(time.Hour).AddDate(0, 0, 3), *e.ExpiresAt, "the deadline counts from sending")
		require.Equal(t, models.Detail{"signers": 1, "documents": 1}, newest(e).Detail)
		require.Equal(t, models.EventEnvelopeSent, newest(e).Name)
	}
	for reason, good := range map[string]bool{"": true, "no\nmore": true, strings.Repeat("x", 1000): true, strings.Repeat("x", 1001): false} {
		e := sent(t, nil, models.AuthNone, 1)
		err := e.Void(act(start.Add(time.Hour)), &reason)
		require.Equal(t, good, err == nil)
		if good {
			require.Equal(t, start.Add(time.Hour), *e.VoidedAt)
			require.Equal(t, reason != "", newest(e).Detail != nil)
		}
	}
}

// TestInvitations_AreRecorded checks that each invitation is recorded with its kind and the ID of its email.
func TestInvitations_AreRecorded(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	id := e.Signers[0].ID
	for name, record := range map[models.EventName]func() error{
		models.EventInvitationSent:   func() error { return e.Invited(act(start), id, false, "mail") },
		models.EventReminderSent:     func() error { return e.Invited(act(start), id, true, "mail") },
		models.EventInvitationFailed: func() error { return e.InvitationFailed(act(start), id, "no such address", "mail") },
	} {
		require.NoError(t, record())
		require.Equal(t, name, newest(e).Name)
		require.Equal(t, id, newest(e).SignerID)
		require.Equal(t, id.String(), newest(e).Detail["signerId"])
		require.Equal(t, "mail", newest(e).MailID)
		if name == models.EventInvitationFailed {
			require.Equal(t, "no such address", newest(e).Detail["reason"])
			require.Equal(t, "no such address", newest(e).MailRejection)
		} else {
			require.Empty(t, newest(e).MailRejection)
		}
	}
	require.NoError(t, e.Void(act(start), nil))
	require.Error(t, e.Invited(act(start), id, false, "mail"))
	require.Error(t, e.InvitationFailed(act(start), id, "why", "mail"))
	require.Error(t, e.Reinvite(act(start), id))
}

// TestPermissions checks access by tenant, role and second factor, and the fairness keys of outbox rows.
func TestPermissions(t *testing.T) {
	t.Parallel()
	require.NoError(t, (&models.App{}).CheckTenant("any"))
	limited := &models.App{Tenants: []string{"a", "b"}}
	require.NoError(t, limited.CheckTenant("b"))
	require.Equal(t, "tenant_forbidden", code(t, limited.CheckTenant("c")))
	require.Equal(t, "tenant_forbidden", code(t, limited.CheckTenant("")))

	require.Equal(t, []models.Role{models.RoleViewer, models.RoleSupport, models.RoleSender, models.RoleAdmin}, models.Roles)
	for i, role := range models.Roles {
		for j, least := range models.Roles {
			require.Equal(t, i >= j, role.Allows(least), "%s for %s", role, least)
		}
		require.True(t, role.Valid())
		for factor, want := range map[models.SecondFactor]bool{
			models.SecondFactorOptional: false, models.SecondFactorAdmins: role == models.RoleAdmin, models.SecondFactorRequired: true, "": false,
		} {
			require.Equal(t, want, factor.Requires(role), "%s %s", factor, role)
			require.Equal(t, factor != "", factor.Valid(), factor)
		}
	}
	require.False(t, models.Role("king").Allows("nobody"))
	require.False(t, models.Role("king").Valid())

	id, app := uuid.New(), uuid.New()
	require.Equal(t, id, models.OutboxRefs{AppID: app, WebhookID: &id}.FairnessKey())
	require.Equal(t, app, models.OutboxRefs{AppID: app}.FairnessKey())
}

// TestTitle_FallsBack checks that the title is the subject, else the file name, else a generic word.
func TestTitle_FallsBack(t *testing.T) {
	t.Parallel()
	e, err := models.NewEnvelope(act(start), models.Envelope{TenantID: "t", CreatedBy: "c"})
	require.NoError(t, err)
	require.Equal(t, "Document", e.Title())
	unnamed := page()
	unnamed.Name = ""
	_, err = e.AddDocument(act(start), unnamed, 2)
	require.NoError(t, err)
	require.Equal(t, "Document", e.Title())
	e.Originals()[0].Name = "lease.pdf"
	require.Equal(t, "lease", e.Title())
	e.Subject = ptr("  ")
	require.Equal(t, "lease", e.Title())
	e.Subject = ptr("Lease of a flat")
	require.Equal(t, "Lease of a flat", e.Title())
}

// TestComplete_RequiresSealedFiles checks that every document must have a sealed file.
func TestComplete_RequiresSealedFiles(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	_, err := e.AddDocument(act(start), page(), 2)
	require.NoError(t, err)
	require.NoError(t, e.Send(act(start), nil))
	signs(t, e, 0, start)
	file := func(i int) models.SealedFile {
		return models.SealedFile{OriginalID: e.Originals()[i].ID, SHA256: fmt.Sprintf("%064d", i), PageCount: 3}
	}
	for _, files := range [][]models.SealedFile{nil, {file(0)}, {file(1)}, {file(0), file(0)}, {file(0), {OriginalID: uuid.New()}}} {
		assert.Equal(t, "document_not_sealed", code(t, e.Complete(act(start), files)))
		assert.Equal(t, models.StatusSealing, e.Status)
		assert.Empty(t, e.Sealed())
		assert.Nil(t, e.CompletedAt)
	}
	require.NoError(t, e.Complete(act(start), []models.SealedFile{file(1), file(0)}))
	assert.Len(t, e.Sealed(), 2)
}

// TestCanRestart_FromSendToEnd checks that an envelope's workflow can be restarted only between sending and a final
// status.
func TestCanRestart_FromSendToEnd(t *testing.T) {
	t.Parallel()
	want := map[models.Status]string{"draft": "envelope_draft", "sent": "", "in_progress": "", "sealing": ""}
	for _, s := range models.Statuses {
		rejection, known := want[s]
		if !known {
			rejection = "envelope_terminal"
		}
		err := (&models.Envelope{Status: s}).CanRestart()
		if rejection == "" {
			require.NoError(t, err, s)
			continue
		}
		require.Equal(t, rejection, code(t, err), s)
	}
}
