package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

func changed[T any](v T) models.Change[T] { return models.Change[T]{Present: true, Value: v} }

func metadata(n int) map[string]string {
	out := make(map[string]string, n)
	for i := range n {
		out[strings.Repeat("n", i+1)] = "v"
	}
	return out
}

// TestSenderTexts_AreBounded checks that the same limits apply to a new envelope and an edited draft, and that a
// rejected edit changes nothing.
func TestSenderTexts_AreBounded(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("é", n) }
	for _, c := range []struct {
		in   models.Envelope
		path string // empty if the input is accepted
	}{
		{models.Envelope{Subject: ptr(x(255)), Message: ptr(x(2000))}, ""},
		{models.Envelope{Subject: ptr(x(256))}, "subject"},
		{models.Envelope{Subject: ptr("a\nb")}, "subject"},
		{models.Envelope{Message: ptr(x(2001))}, "message"},
		{models.Envelope{ExpiresInDays: ptr(0)}, "expiresInDays"},
		{models.Envelope{ExpiresInDays: ptr(1), ReminderHours: ptr(0)}, ""},
		{models.Envelope{ExpiresInDays: ptr(3650), ReminderHours: ptr(8760)}, ""},
		{models.Envelope{ExpiresInDays: ptr(3651)}, "expiresInDays"},
		{models.Envelope{ReminderHours: ptr(-1)}, "reminderHours"},
		{models.Envelope{ReminderHours: ptr(8761)}, "reminderHours"},
		{models.Envelope{Metadata: metadata(20)}, ""},
		{models.Envelope{Metadata: metadata(21)}, "metadata"},
		{models.Envelope{Metadata: map[string]string{"": "v"}}, "metadata"},
		{models.Envelope{Metadata: map[string]string{"a\x00": "v"}}, "metadata"},
		{models.Envelope{Metadata: map[string]string{"a": "\x00"}}, "metadata"},
		{models.Envelope{Metadata: map[string]string{x(500): x(500), "empty": ""}}, ""},
		{models.Envelope{Metadata: map[string]string{x(501): "v"}}, "metadata"},
		{models.Envelope{Metadata: map[string]string{"a": x(501)}}, "metadata"},
	} {
		in := c.in
		in.TenantID, in.CreatedBy = "t", "me"
		made, err := models.NewEnvelope(act(start), in)
		e := draft(t, nil, models.AuthNone)
		edit := models.EnvelopeEdit{
			Subject: changed(in.Subject), Message: changed(in.Message), ExpiresInDays: changed(in.ExpiresInDays),
			ReminderHours: changed(in.ReminderHours), Metadata: changed(in.Metadata),
		}
		edited := e.Patch(act(start.Add(time.Hour)), edit)
		if c.path != "" {
			require.Equal(t, []string{c.path}, problemsOf(t, err), "%+v", c.in)
			require.Equal(t, []string{c.path}, problemsOf(t, edited), "%+v", c.in)
			require.Empty(t, e.Editors)
			require.Nil(t, e.Subject)
			continue
		}
		require.NoError(t, err, "%+v", c.in)
		require.NoError(t, edited, "%+v", c.in)
		require.Equal(t, []string{models.ActorSystem}, e.Editors)
		for _, of := range []*models.Envelope{made, e} {
			require.Equal(t, in.Subject, of.Subject)
			require.Equal(t, in.Message, of.Message)
			require.Equal(t, in.Metadata, of.Metadata)
			require.Equal(t, in.ReminderHours, of.ReminderHours)
			require.Equal(t, in.ExpiresInDays, of.ExpiresInDays)
			if in.ExpiresInDays != nil {
				require.Equal(t, start.AddDate(0, 0, *in.ExpiresInDays), *of.ExpiresAt, "the deadline of a draft counts from its creation")
			}
		}
		require.NoError(t, e.Edit(act(start), models.EnvelopeEdit{}))
		require.Equal(t, in.Message, e.Message, "omitted members do not change")
		require.Len(t, e.Editors, 1, "each editor is listed once")
	}
	for id, ok := range map[string]bool{"": false, "x": true, x(200): true, x(201): false, "a\nb": false} {
		e, err := models.NewEnvelope(act(start), models.Envelope{TenantID: "t", CreatedBy: "me", ExternalID: &id})
		if ok {
			require.NoError(t, err)
			require.Equal(t, id, *e.ExternalID)
			continue
		}
		require.Equal(t, []string{"externalId"}, problemsOf(t, err))
	}
	e := draft(t, nil, models.AuthNone)
	require.Equal(t, []string{"expiresAt"}, problemsOf(t, e.Patch(act(start), models.EnvelopeEdit{ExpiresAt: changed(ptr(start.Add(time.Hour)))})))
	require.ErrorContains(t, e.Edit(act(start), models.EnvelopeEdit{Metadata: changed(metadata(21))}), "at most 20 members")
	require.ErrorContains(t, e.Edit(act(start), models.EnvelopeEdit{Metadata: changed(map[string]string{"": "v"})}), "names of 1 to 500 characters")
}

// TestEditSigners_Renumbers checks that mailboxes and positions are renumbered, and that each role belongs to only one
// signer.
func TestEditSigners_Renumbers(t *testing.T) {
	t.Parallel()
	e := unfilled(t)
	ids := []uuid.UUID{e.Signers[0].ID, e.Signers[1].ID, e.Signers[2].ID}
	in := signer(0, 3, models.AuthSMSOTP)
	in.Phone, in.Role, in.AllowDelegation, in.Name = ptr("+4915112345678"), "B", true, "Bea"
	s, err := e.EditSigner(act(start), ids[1], in)
	require.NoError(t, err, "the signer's role does not change")
	require.Equal(t, models.Signer{
		ID: ids[1], EnvelopeID: e.ID, Position: 1, Mailbox: 0, Name: "Bea", Email: in.Email, Phone: in.Phone, RoutingOrder: 3, Role: "B", Kind: models.RecipientSigner,
		Status: models.SignerPending, AuthMethod: models.AuthSMSOTP, AllowDelegation: true,
	}, *s)
	require.Equal(t, []string{models.ActorSystem}, e.Editors)

	in.Role = "A"
	_, err = e.EditSigner(act(start), ids[1], in)
	require.Equal(t, []string{"role"}, problemsOf(t, err))
	in.Role, in.Email = "", "nobody"
	_, err = e.EditSigner(act(start), ids[1], in)
	require.Equal(t, []string{"email"}, problemsOf(t, err))
	_, err = e.EditSigner(act(start), uuid.New(), in)
	require.ErrorIs(t, err, models.ErrNotFound)
	require.ErrorIs(t, e.RemoveSigner(act(start), uuid.New()), models.ErrNotFound)

	_, err = e.AddFields(act(start), []models.FieldInput{of("A", models.FieldText, "a"), of("B", models.FieldText, "b"), of("C", models.FieldText, "c")}, models.IndexedPath)
	require.NoError(t, err)
	e.Editors = nil
	require.NoError(t, e.RemoveSigner(act(start), ids[0]))
	require.Equal(t, []string{models.ActorSystem}, e.Editors)
	require.Len(t, e.Signers, 2)
	require.Equal(t, [4]int{0, 0, 1, 1}, [4]int{e.Signers[0].Position, e.Signers[0].Mailbox, e.Signers[1].Position, e.Signers[1].Mailbox})
	require.Equal(t, "b", e.Fields[0].Name, "the fields of the removed signer are removed")
	require.Equal(t, [2]int{0, 1}, [2]int{e.Fields[0].Position, e.Fields[1].Position})
}

// TestEditFields_KeepIDAndPosition checks that an edited field keeps its ID and position, and must follow the rules
// for a new field.
func TestEditFields_KeepIDAndPosition(t *testing.T) {
	t.Parallel()
	e := unfilled(t)
	made, err := e.AddFields(act(start), []models.FieldInput{of("A", models.FieldText, ""), of("A", models.FieldText, "b"), of("A", models.FieldText, "c")}, models.IndexedPath)
	require.NoError(t, err)
	f, err := e.EditField(act(start), made[1].ID, of("B", models.FieldDate, "b2"))
	require.NoError(t, err)
	require.Equal(t, made[1].ID, f.ID)
	require.Same(t, f, e.Field(f.ID))
	require.Equal(t, []any{1, models.FieldDate, "b2", e.Signers[1].ID, true}, []any{f.Position, f.Type, f.Name, f.SignerID, f.Attributes.Named})
	f, err = e.EditField(act(start), made[0].ID, of("A", models.FieldText, "text_1"))
	require.NoError(t, err)
	require.False(t, f.Attributes.Named, "the generated name was not chosen by a user")
	f, err = e.EditField(act(start), made[2].ID, of("A", models.FieldNumber, ""))
	require.NoError(t, err)
	require.Equal(t, "number_1", f.Name)
	require.Equal(t, []string{models.ActorSystem}, e.Editors)

	for path, in := range map[string]models.FieldInput{
		"fields":   of("A", models.FieldText, "b2"),
		"type":     of("A", "hologram", "x"),
		"signerId": field("9", models.FieldText),
		"anchor":   of("A", models.FieldText, "x", func(in *models.FieldInput) { in.Anchor, in.Page = &models.Anchor{Text: "Sign here:"}, 0 }),
	} {
		_, err := e.EditField(act(start), made[0].ID, in)
		require.Equal(t, []string{path}, problemsOf(t, err))
		require.Equal(t, "text_1", e.Fields[0].Name, "a rejected edit changes nothing")
	}
	_, err = e.EditField(act(start), uuid.New(), of("A", models.FieldText, ""))
	require.ErrorIs(t, err, models.ErrNotFound)

	e.Editors = nil
	require.ErrorIs(t, e.RemoveField(act(start), uuid.New()), models.ErrNotFound)
	require.NoError(t, e.RemoveField(act(start), made[0].ID))
	require.Equal(t, []string{models.ActorSystem}, e.Editors)
	require.Nil(t, e.Field(made[0].ID))
	require.Equal(t, [2]int{0, 1}, [2]int{e.Fields[0].Position, e.Fields[1].Position})
	require.Equal(t, []string{"text_1"}, fieldNames(e.AddFields(act(start), []models.FieldInput{of("A", models.FieldText, "")}, models.NoPrefix)))
	require.Equal(t, 2, e.Fields[2].Position)
}

func fieldNames(fields []*models.Field, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, f := range fields {
		out = append(out, f.Name)
	}
	return out
}

// TestEditDocuments_Renumbers checks that documents are numbered from 1, and that removing a document removes its
// fields.
func TestEditDocuments_Renumbers(t *testing.T) {
	t.Parallel()
	e := unfilled(t)
	var ids []uuid.UUID
	for i, hash := range []string{"00", "11", "22"} {
		if i > 0 {
			in := page()
			in.SHA256, in.BlobKey = hash, "blob"+hash
			_, err := e.AddDocument(act(start), in, 3)
			require.NoError(t, err)
		}
		ids = append(ids, e.Documents[i].ID)
	}
	order := func() (out []uuid.UUID) {
		for i, d := range e.Documents {
			require.Equal(t, i+1, d.Order)
			out = append(out, d.ID)
		}
		require.Equal(t, models.CombineHashes(e.Documents), e.HashOriginal)
		return out
	}
	for _, bad := range []models.DocumentEdit{{Order: changed(0)}, {Order: changed(4)}, {Order: changed(-1)}} {
		_, err := e.EditDocument(act(start), ids[0], bad)
		require.Equal(t, []string{"document_order"}, problemsOf(t, err))
	}
	_, err := e.EditDocument(act(start), ids[0], models.DocumentEdit{Name: changed(strings.Repeat("n", 201))})
	require.Equal(t, []string{"name"}, problemsOf(t, err))
	_, err = e.EditDocument(act(start), uuid.New(), models.DocumentEdit{})
	require.ErrorIs(t, err, models.ErrNotFound)
	require.Empty(t, e.Editors)

	d, err := e.EditDocument(act(start), ids[0], models.DocumentEdit{Name: changed(strings.Repeat("n", 200)), Order: changed(3)})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("n", 200), d.Name)
	require.Equal(t, []string{models.ActorSystem}, e.Editors)
	require.Equal(t, []uuid.UUID{ids[1], ids[2], ids[0]}, order())
	require.Equal(t, ids[1], e.FirstDocumentID, "fields without a document are on the first document")
	_, err = e.EditDocument(act(start), ids[2], models.DocumentEdit{Order: changed(1)})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{ids[2], ids[1], ids[0]}, order())
	_, err = e.EditDocument(act(start), ids[1], models.DocumentEdit{Name: changed("new.pdf")})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{ids[2], ids[1], ids[0]}, order())

	on := of("A", models.FieldText, "gone")
	on.DocumentID = &ids[1]
	_, err = e.AddFields(act(start), []models.FieldInput{on, of("A", models.FieldText, "stays")}, models.IndexedPath)
	require.NoError(t, err)
	e.Editors = nil
	_, err = e.RemoveDocument(act(start), uuid.New())
	require.ErrorIs(t, err, models.ErrNotFound)
	e.Document(ids[1]).PreparedKey = "prepared"
	keys, err := e.RemoveDocument(act(start), ids[1])
	require.NoError(t, err)
	require.Equal(t, []string{"blob11", "prepared"}, keys)
	require.Equal(t, []string{models.ActorSystem}, e.Editors)
	require.Equal(t, []uuid.UUID{ids[2], ids[0]}, order())
	require.Len(t, e.Fields, 1)
	require.Equal(t, "stays", e.Fields[0].Name)
	for _, id := range []uuid.UUID{ids[0], ids[2]} {
		_, err = e.RemoveDocument(act(start), id)
		require.NoError(t, err)
	}
	require.NotContains(t, ids, e.FirstDocumentID, "the next document has its own id")
	require.Empty(t, e.Fields)
}

// TestDeleteDraft_RemovesContents checks that a deleted draft retains none of its contents.
func TestDeleteDraft_RemovesContents(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	e.Documents[0].BlobKey, e.Documents[0].PreparedKey = "blob", "prepared"
	require.NoError(t, e.Edit(act(start), models.EnvelopeEdit{Subject: changed(ptr("s")), Message: changed(ptr("m")), Metadata: changed(metadata(1))}))
	e.ExternalID = ptr("x")
	keys, err := e.Delete(act(start))
	require.NoError(t, err)
	require.Equal(t, []string{"blob", "prepared"}, keys)
	require.Equal(t, models.StatusDeleted, e.Status)
	require.Equal(t, models.EventEnvelopeDeleted, newest(e).Name)
	require.Empty(t, newest(e).Detail)
	require.Empty(t, e.Signers)
	require.Empty(t, e.Fields)
	require.Empty(t, e.Documents)
	require.Equal(t, []any{(*string)(nil), (*string)(nil), (*string)(nil), map[string]string(nil), (*string)(nil)}, []any{e.Subject, e.Message, e.ExternalID, e.Metadata, e.HashOriginal})
	_, err = e.Delete(act(start))
	require.Error(t, err)
}

// TestSend_RecordsTheEdits checks that sending records the editors of the draft and the digest of its fields.
func TestSend_RecordsTheEdits(t *testing.T) {
	t.Parallel()
	require.NotContains(t, names(sent(t, nil, models.AuthNone, 1)), models.EventDraftPrepared, "a draft that was not edited")
	e := draft(t, nil, models.AuthNone, 1, 1)
	by := act(start)
	by.Actor = "app:1"
	require.NoError(t, e.RemoveField(by, e.Fields[0].ID))
	before, err := e.FieldsDigest()
	require.NoError(t, err)
	require.Len(t, before, 64)
	require.NoError(t, e.Send(act(start), nil))
	i := len(e.Events) - 2
	require.Equal(t, models.EventDraftPrepared, e.Events[i].Name)
	require.Equal(t, models.Detail{
		"editors": []string{"app:1"}, "fieldsSha256": before, "counts": map[string]any{"documents": 1, "signers": 2, "fields": 1},
	}, e.Events[i].Detail)

	// The digest covers every property that affects the content or position of a signature.
	for name, edit := range map[string]func(*models.Field){
		"place": func(f *models.Field) { f.X++ }, "required": func(f *models.Field) { f.Required = false }, "type": func(f *models.Field) { f.Type = models.FieldDate },
		"signer": func(f *models.Field) { f.SignerID = e.Signers[0].ID }, "default": func(f *models.Field) { f.DefaultValue = "x" },
		"label": func(f *models.Field) { f.Attributes.Label = "x" },
	} {
		was := *e.Fields[0]
		edit(e.Fields[0])
		after, err := e.FieldsDigest()
		require.NoError(t, err)
		require.NotEqual(t, before, after, name)
		*e.Fields[0] = was
	}
	e.Fields[0].Name = "other"
	after, err := e.FieldsDigest()
	require.NoError(t, err)
	require.Equal(t, before, after, "a generated name is not part of the digest")
}

// TestEdit_AfterSendIsRejected checks that editing a sent envelope is rejected with an error that matches its status.
func TestEdit_AfterSendIsRejected(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	s, f, d := e.Signers[0].ID, e.Fields[0].ID, e.Documents[0].ID
	for name, do := range map[string]func() error{
		"envelope": func() error { return e.Patch(act(start), models.EnvelopeEdit{Subject: changed(ptr("x"))}) },
		"message":  func() error { return e.Patch(act(start), models.EnvelopeEdit{Message: changed(ptr("x"))}) },
		"metadata": func() error { return e.Patch(act(start), models.EnvelopeEdit{Metadata: changed(metadata(1))}) },
		"edit":     func() error { return e.Edit(act(start), models.EnvelopeEdit{}) },
		"signer":   func() error { _, err := e.EditSigner(act(start), s, signer(0, 1, models.AuthNone)); return err },
		"signers":  func() error { return e.RemoveSigner(act(start), s) },
		"field":    func() error { _, err := e.EditField(act(start), f, field("0", models.FieldText)); return err },
		"fields":   func() error { return e.RemoveField(act(start), f) },
		"document": func() error { _, err := e.EditDocument(act(start), d, models.DocumentEdit{}); return err },
		"remove":   func() error { _, err := e.RemoveDocument(act(start), d); return err },
		"delete":   func() error { _, err := e.Delete(act(start)); return err },
	} {
		var rejection *models.Error
		require.ErrorAs(t, do(), &rejection, name)
		require.Equal(t, models.KindConflict, rejection.Kind, name)
		require.Equal(t, "envelope_not_draft", rejection.Code, name)
	}
	_, err := e.Prepare(act(start), d, page(), nil, models.IndexedPath)
	require.Equal(t, "envelope_not_draft", code(t, err))
	require.Len(t, e.Signers, 1)
	require.Len(t, e.Fields, 1)
	require.Len(t, e.Documents, 1)
	require.Empty(t, e.Editors)
}
