package sealing_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/test/kit/sealkit"
)

// TestMissingObjects checks that an entry that refers to a missing object is treated as absent (ISO 32000-2, 7.3.10),
// even if sealing rewrites that entry.
func TestMissingObjects(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	s := k.Sealer(t)
	for _, entry := range []string{
		"/AcroForm 900 0 R", "/Names 900 0 R", "/Names<</EmbeddedFiles 900 0 R>>", "/AF 900 0 R", "/Perms 900 0 R", "/StructTreeRoot 900 0 R",
		"/MarkInfo<</Marked true>>/StructTreeRoot 1000 0 R", "/Outlines 900 0 R", "/OpenAction 900 0 R", "/ViewerPreferences 900 0 R", "/OCProperties 900 0 R",
	} {
		original := sealkit.ClassicPDF(sealkit.Layout{
			Catalog: entry, Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]/Annots 900 0 R" + sealkit.OwnResources}},
			Objects: []string{"<</Type/StructTreeRoot/K 900 0 R/ParentTree 900 0 R>>"},
		})
		_, err := admission.Admit(t.Context(), bytes.NewReader(original), int64(len(original)), admission.DefaultLimits())
		require.NoError(t, err, entry)
		_, b := sealkit.Sealed(t, s, sealkit.Job(t, original))
		r := sealkit.Verified(t, b, k.Trust())
		require.True(t, r.OK(), "%s: %s", entry, sealkit.TextOf(t, r))
	}
}
