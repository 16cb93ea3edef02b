package models_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestCheckAttach_Limits checks that files are accepted only for the signer's own attachment fields and within the
// limits.
func TestCheckAttach_Limits(t *testing.T) {
	t.Parallel()
	e := signing(t, 0, of("A", models.FieldAttachment, "id"), of("A", models.FieldText, "text"), of("B", models.FieldAttachment, "other"), of("A", models.FieldAttachment, "more"))
	me, other, field := e.Signers[0].ID, e.Signers[1].ID, e.Fields[0].ID
	file := func(of, in uuid.UUID, size int64) *models.Attachment {
		return &models.Attachment{ID: uuid.New(), SignerID: of, FieldID: in, Size: size}
	}
	full := []*models.Attachment{file(me, field, 1), file(me, field, 1), file(me, field, 1)}
	for _, c := range []struct {
		name  string
		field uuid.UUID
		size  int64
		known []*models.Attachment
		code  string // empty if the file is accepted
	}{
		{"the field of a text", e.Fields[1].ID, 1, nil, "validation_error"},
		{"another signer's field", e.Fields[2].ID, 1, nil, "validation_error"},
		{"no field", uuid.New(), 1, nil, "validation_error"},
		{"a third", field, 1, full[1:], ""},
		{"a fourth", field, 1, full, "too_many_attachments"},
		{"a first of another field", e.Fields[3].ID, 1, full, ""},
		{"all of one signer", field, models.MaxSignerAttachments - 5, []*models.Attachment{file(me, e.Fields[3].ID, 5), file(other, e.Fields[2].ID, 9)}, ""},
		{"more than all of one signer", field, models.MaxSignerAttachments - 4, []*models.Attachment{file(me, e.Fields[3].ID, 5)}, "attachments_too_large"},
		{"all of the envelope", field, 5, []*models.Attachment{file(other, e.Fields[2].ID, models.MaxEnvelopeAttachments-5)}, ""},
		{"more than all of the envelope", field, 6, []*models.Attachment{file(other, e.Fields[2].ID, models.MaxEnvelopeAttachments-5)}, "attachments_too_large"},
	} {
		in := models.Attachment{
			ID: uuid.New(), Name: "a.pdf", MimeType: "application/pdf", SHA256: "ab", Size: c.size, BlobKey: "key", Encrypted: true,
		}
		e.Attached = nil
		a, err := e.Attach(act(start), link(e, 0), c.field, in, c.known)
		if c.code != "" {
			require.Equal(t, c.code, code(t, err), c.name)
			require.Empty(t, e.Attached, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, models.Attachment{
			ID: in.ID, EnvelopeID: e.ID, FieldID: c.field, SignerID: me, Name: "a.pdf", MimeType: "application/pdf", SHA256: "ab", Size: c.size,
			BlobKey: "key", Encrypted: true, CreatedAt: start,
		}, *a, c.name)
		require.Equal(t, []*models.Attachment{a}, e.Attached, c.name)
	}
	_, err := e.Attach(act(start), models.Link{SignerID: me, ID: uuid.New()}, field, models.Attachment{}, nil)
	require.Equal(t, "signing_link_invalid", code(t, err))

	used := file(me, field, 1)
	used.Used = true
	all := []*models.Attachment{used, full[0], file(other, field, 1)}
	require.Equal(t, full[:1], models.AttachmentsOf(all, me))
	require.Len(t, all, 3)
	require.Same(t, full[0], models.FindAttachment(all, full[0].ID))
	require.Same(t, used, models.FindAttachment(all, used.ID))
	require.Nil(t, models.FindAttachment(all, uuid.New()))
}

// TestAttachmentName_HasOneExtension checks that the extension of the file's type replaces the original extension.
func TestAttachmentName_HasOneExtension(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"passport.PDF": "passport.png", "scan.jpeg": "scan.png", "a.jpg.jpg": "a.jpg.png", "": "attachment.png", ".png": "png.png",
		"notes.txt": "notes.txt.png",
	} {
		require.Equal(t, want, models.AttachmentName(given, "image/png"), given)
	}
	require.Equal(t, "a.jpg", models.AttachmentName("a", "image/jpeg"))
}

// TestSign_WithAttachments checks that a field accepts only an unused file that the same signer uploaded for it, and
// that the audit chain records the file.
func TestSign_WithAttachments(t *testing.T) {
	t.Parallel()
	must := func(in *models.FieldInput) { in.Required = true }
	fields := []models.FieldInput{
		of("A", models.FieldAttachment, "id", must), of("A", models.FieldAttachment, "free"), of("A", models.FieldText, "text"),
		of("A", models.FieldText, "why", must, when(filled("free"))),
	}
	e := signing(t, 0, fields...)
	me := e.Signers[0].ID
	good := models.Attachment{ID: uuid.New(), FieldID: e.Fields[0].ID, SignerID: me, Name: "a.pdf", SHA256: "abcd", Size: 7, MimeType: "application/pdf"}
	free := models.Attachment{ID: uuid.New(), FieldID: e.Fields[1].ID, SignerID: me, Name: "b.png", SHA256: "ef"}
	give := func(i int, a models.Attachment) models.FieldSubmission {
		return models.FieldSubmission{FieldID: e.Fields[i].ID, AttachmentID: &a.ID, Attachment: &a}
	}
	for name, c := range map[string]struct {
		edit func(in *models.FieldSubmission)
		path string
	}{
		"text":         {func(in *models.FieldSubmission) { in.Text = ptr("x") }, "fields[0].textValue"},
		"picture":      {func(in *models.FieldSubmission) { in.Image = []byte("png") }, "fields[0].signatureImageBase64"},
		"nothing":      {func(in *models.FieldSubmission) { in.Attachment, in.AttachmentID = nil, nil }, "fields[0].attachmentId"},
		"no such file": {func(in *models.FieldSubmission) { in.Attachment = nil }, "fields[0].attachmentId"},
		"other field":  {func(in *models.FieldSubmission) { in.Attachment.FieldID = e.Fields[1].ID }, "fields[0].attachmentId"},
		"other signer": {func(in *models.FieldSubmission) { in.Attachment.SignerID = e.Signers[1].ID }, "fields[0].attachmentId"},
		"used":         {func(in *models.FieldSubmission) { in.Attachment.Used = true }, "fields[0].attachmentId"},
		"for a text":   {func(in *models.FieldSubmission) { in.FieldID = e.Fields[2].ID }, "fields[0].attachmentId"},
	} {
		in := give(0, good)
		c.edit(&in)
		_, err := e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{in}})
		require.Contains(t, problemsOf(t, err), c.path, name)
		require.Equal(t, models.SignerSent, e.Signers[0].Status)
	}
	e.Attached = nil
	_, err := e.Sign(act(start), link(e, 0), models.Submission{})
	require.Equal(t, []string{"fields"}, problemsOf(t, err))
	_, err = e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{give(0, good), give(1, free)}})
	require.ErrorContains(t, err, "why", "the file refers to its field")

	e = signing(t, 0, fields...)
	me = e.Signers[0].ID
	good.FieldID, good.SignerID = e.Fields[0].ID, me
	_, err = e.Sign(act(start), link(e, 0), models.Submission{Fields: []models.FieldSubmission{give(0, good), {FieldID: e.Fields[1].ID}}})
	require.NoError(t, err)
	require.Len(t, e.Values, 1)
	require.Equal(t, []any{"a.pdf", "abcd", []byte(nil)}, []any{e.Values[0].Text, e.Values[0].ImageSHA256, e.Values[0].Image})
	require.Len(t, e.Attached, 1)
	require.True(t, e.Attached[0].Used)
	require.False(t, good.Used, "the original file does not change")
	i := len(e.Events) - 2
	require.Equal(t, []models.EventName{models.EventAttachmentAdded, models.EventSignerSigned}, names(e)[i:])
	require.Equal(t, models.Detail{
		"signerId": me.String(), "attachmentId": good.ID.String(), "fieldId": good.FieldID.String(), "sha256": "abcd", "size": int64(7), "mimeType": "application/pdf",
	}, e.Events[i].Detail)
}

// TestPrepare_ReplacesFoundContents checks that preparing a document again replaces the prepared file and the detected
// fields.
func TestPrepare_ReplacesFoundContents(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone)
	_, err := e.AddSigner(act(start), signer(0, 1, models.AuthNone))
	require.NoError(t, err)
	first := e.Documents[0]
	require.Equal(t, models.EventDocumentAdded, e.Events[1].Name)
	require.NotContains(t, names(e), models.EventDocumentPrepared)
	require.Same(t, first, first.Presented())
	require.Equal(t, []string{""}, first.BlobKeys())

	changes := []models.PreparedChange{{Kind: "script", Count: 2}, {Kind: "tag", Page: 1, Count: 1, Detail: "x"}}
	in := page()
	in.BlobKey, in.SealFacts = "original", "facts"
	in.PreparedSHA256, in.PreparedSize, in.PreparedKey, in.PreparedEncrypted, in.Preparation, in.PreparedChanges = "pp", 5, "prepared", true, "how", changes
	d, err := e.AddDocument(act(start), in, 2)
	require.NoError(t, err)
	recorded := models.Detail{
		"documentId": d.ID.String(), "sha256": "pp", "size": int64(5),
		"changes": []any{map[string]any{"kind": "script", "count": 2}, map[string]any{"kind": "tag", "count": 1, "page": 1, "detail": "x"}},
	}
	require.Equal(t, models.EventDocumentPrepared, newest(e).Name)
	require.Equal(t, recorded, newest(e).Detail)
	shown := d.Presented()
	require.Equal(t, []any{"pp", int64(5), "prepared", true, d.ID}, []any{shown.SHA256, shown.Size, shown.BlobKey, shown.Encrypted, shown.ID})
	require.Equal(t, []any{"00", "original", "how", changes}, []any{d.SHA256, d.BlobKey, d.Preparation, d.PreparedChanges})
	require.Equal(t, []string{"original", "prepared"}, d.BlobKeys())

	found := func(source models.FieldSource, on uuid.UUID, name string) models.FieldInput {
		in := field("0", models.FieldText)
		in.DocumentID, in.Source, in.Name = &on, source, name
		return in
	}
	_, err = e.AddFields(act(start), []models.FieldInput{
		found(models.SourceTag, d.ID, "tag"), found(models.SourceForm, d.ID, "form"), found(models.SourceRequest, d.ID, "asked"), found(models.SourceTag, first.ID, "elsewhere"),
	}, models.IndexedPath)
	require.NoError(t, err)
	no := func(*models.Document) ([]models.FieldInput, error) { return nil, nil }
	_, err = e.Prepare(act(start), uuid.New(), in, no, models.IndexedPath)
	require.ErrorIs(t, err, models.ErrNotFound)
	sealed := &models.Document{ID: uuid.New(), Kind: models.DocumentSealed, SHA256: "00"}
	e.Documents = append(e.Documents, sealed)
	_, err = e.Prepare(act(start), sealed.ID, in, no, models.IndexedPath)
	require.ErrorIs(t, err, models.ErrNotFound)
	e.Documents = e.Documents[:2]
	other := in
	other.SHA256 = "99"
	_, err = e.Prepare(act(start), d.ID, other, no, models.IndexedPath)
	require.Equal(t, "document_changed", code(t, err))
	failed := errors.New("cannot be read")
	_, err = e.Prepare(act(start), d.ID, in, func(*models.Document) ([]models.FieldInput, error) { return nil, failed }, models.IndexedPath)
	require.ErrorIs(t, err, failed)
	require.Len(t, e.Fields, 4)

	in = page()
	in.SealFacts = "anew"
	later := act(start.Add(time.Minute))
	got, err := e.Prepare(later, d.ID, in, func(of *models.Document) ([]models.FieldInput, error) {
		require.Same(t, d, of)
		return []models.FieldInput{found(models.SourceTag, d.ID, "new")}, nil
	}, models.IndexedPath)
	require.NoError(t, err)
	require.False(t, got.IsPrepared())
	require.Equal(t, []any{"anew", "", []models.PreparedChange(nil)}, []any{got.SealFacts, got.Preparation, got.PreparedChanges})
	require.Equal(t, []string{"asked", "elsewhere", "new"}, fieldNames(e.Fields, nil))
	i := len(e.Events) - 2
	require.Equal(t, []models.EventName{models.EventDocumentPrepared, models.EventFieldAdded}, names(e)[i:])
	require.Equal(t, "00", e.Events[i].Detail["sha256"], "signers read the original again")
	require.Equal(t, []any{}, e.Events[i].Detail["changes"])
}
