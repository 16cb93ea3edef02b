package models_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestDocumentWarnings_AreAudited checks that warnings about display differences are recorded in the audit trail, and
// that no warnings are recorded for a document without any.
func TestDocumentWarnings_AreAudited(t *testing.T) {
	t.Parallel()
	for _, warnings := range [][]string{nil, {"font_not_embedded", "overprint"}} {
		e, err := models.NewEnvelope(act(start), models.Envelope{AppID: uuid.New(), TenantID: "t1", CreatedBy: "me"})
		require.NoError(t, err)
		in := page()
		in.Warnings = warnings
		_, err = e.AddDocument(act(start), in, 1)
		require.NoError(t, err)
		last := e.Events[len(e.Events)-1]
		require.Equal(t, models.EventDocumentAdded, last.Name)
		got, has := last.Detail["warnings"]
		require.Equal(t, warnings != nil, has)
		if has {
			require.Equal(t, warnings, got)
		}
	}
}

// TestFileNames_AreTruncated checks that names above the limit are truncated between characters, and that shorter names
// are not truncated.
func TestFileNames_AreTruncated(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	for name, want := range map[string]string{
		strings.Repeat("é", 100): strings.Repeat("é", 100) + ".pdf", strings.Repeat("é", 101): strings.Repeat("é", 100) + ".pdf",
		"a.pdf": "a.pdf", ".pdf": "document.pdf", "pdf": "pdf.pdf", "": "document.pdf", "a.PDF": "a.pdf", "é": "é.pdf",
	} {
		e.Documents[0].Name = name
		assert.Equal(t, want, e.DocumentName(e.Documents[0]), name)
	}
	// If there are several documents, one without a usable name is identified only by its number.
	subject := "Lease"
	e.Subject = &subject
	e.Documents = append(e.Documents, &models.Document{ID: uuid.New(), Kind: models.DocumentOriginal, Order: 2, Name: "plan.pdf"})
	for name, want := range map[string]string{"": "Lease (1).pdf", " . ": "Lease (1).pdf", "document.pdf": "Lease (1).pdf", "floor.pdf": "Lease (1) floor.pdf"} {
		e.Documents[0].Name = name
		assert.Equal(t, want, e.FileName(e.Documents[0]), name)
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	for subject, want := range map[string]string{
		"Contract": "Contract.pdf", "../../etc/passwd": "_.._etc_passwd.pdf", "  ": "a.pdf", "Vertrag für Łukasz": "Vertrag für Łukasz.pdf",
		"a\u202egpj.exe": "a_gpj.exe.pdf", "x.pdf": "x.pdf",
	} {
		e.Subject = &subject
		assert.Equal(t, want, e.FileName(e.Originals()[0]))
	}
}

// TestFileNames_DistinguishDocuments checks that several documents have different names wherever users see them.
func TestFileNames_DistinguishDocuments(t *testing.T) {
	t.Parallel()
	e := draft(t, nil, models.AuthNone, 1)
	for i, name := range []string{"nda.pdf", "Floor plan.PDF", "nda.pdf", "document.pdf", strings.Repeat("ü", 200) + ".pdf"} {
		in := page()
		in.Name = name
		if i == 0 {
			e.Originals()[0].Name = name
			continue
		}
		_, err := e.AddDocument(act(start), in, 9)
		require.NoError(t, err)
	}
	names := func(of func(*models.Document) string) (out []string) {
		for _, d := range e.Originals() {
			out = append(out, of(d))
		}
		return out
	}
	own := []string{"nda (1).pdf", "Floor plan.pdf", "nda (3).pdf", "document.pdf", strings.Repeat("ü", 100) + ".pdf"}
	e.Subject = nil
	assert.Equal(t, own, names(e.DocumentName))
	assert.Equal(t, own, names(e.FileName), "without a subject, the file name is used")
	subject := "Lease"
	e.Subject = &subject
	assert.Equal(t, own, names(e.DocumentName))
	assert.Equal(t, []string{
		"Lease (1) nda.pdf", "Lease (2) Floor plan.pdf", "Lease (3) nda.pdf", "Lease (4).pdf", "Lease (5) " + strings.Repeat("ü", 60) + ".pdf",
	}, names(e.FileName))
	sealed := *e.Originals()[1]
	sealed.ID, sealed.Kind = uuid.New(), models.DocumentSealed
	e.Documents = append(e.Documents, &sealed)
	assert.Equal(t, "Lease (2) Floor plan.pdf", e.FileName(&sealed))
	assert.Equal(t, "Floor plan.pdf", e.DocumentName(&sealed))
}
