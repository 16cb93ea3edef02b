package admission_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal/admission"
)

// TestAssociatedFiles checks that a PDF 2.0 file with associated files, like a sealed document, is admitted and
// prepared normally.
func TestAssociatedFiles(t *testing.T) {
	t.Parallel()
	b := bytes.Replace(file("/AF[6 0 R]/Names<</EmbeddedFiles<</Names[(a.json)6 0 R]>>>>", "",
		"<</Type/Filespec/F(a.json)/UF(a.json)/AFRelationship/Data/EF<</F 7 0 R>>>>", "<</Type/EmbeddedFile/Length 2>>\nstream\n{}\nendstream"),
		[]byte("%PDF-1.7"), []byte("%PDF-2.0"), 1)
	_, rev, err := admission.AdmitPrepared(t.Context(), bytes.NewReader(b), int64(len(b)), sha256.Sum256(b), admission.DefaultLimits(), prepare.Options{})
	require.NoError(t, err)
	require.Nil(t, rev)
	_, rev, err = admission.AdmitPrepared(t.Context(), bytes.NewReader(b), int64(len(b)), sha256.Sum256(b), admission.DefaultLimits(), prepare.Options{Tags: prepare.TagsDetect})
	require.NoError(t, err)
	require.Len(t, rev.Tags, 1)
}
