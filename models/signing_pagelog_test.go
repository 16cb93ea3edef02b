package models_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
)

// TestPageLog_LeavesTheLoadedOneAsItWas: a view makes a new log, so that the row that was loaded is seen to differ.
func TestPageLog_LeavesTheLoadedOneAsItWas(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	document := e.Originals()[0].ID
	require.NoError(t, e.ViewPage(act(start), link(e, 0), document, 2, 10, nil))
	loaded := e.Signers[0].Pages
	require.NoError(t, e.ViewPage(act(start), link(e, 0), document, 1, 10, nil))
	require.Equal(t, map[uuid.UUID][][2]int{document: {{2, 2}}}, loaded.Seen)
	require.Equal(t, map[uuid.UUID][][2]int{document: {{1, 2}}}, e.Signers[0].Pages.Seen)
}

// TestPagesOfSealedDocumentsAreNotViewed: signers look at what was uploaded.
func TestPagesOfSealedDocumentsAreNotViewed(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	e.Documents = append(e.Documents, &models.Document{ID: uuid.New(), Kind: models.DocumentSealed, PageCount: 3})
	err := e.ViewPage(act(start), link(e, 0), e.Documents[1].ID, 1, 0, nil)
	assert.Equal(t, "validation_error", code(t, err))
}

// TestPagesOfDocuments: their sizes, shortened to runs and found again, and how many documents there may be.
func TestPagesOfDocuments(t *testing.T) {
	t.Parallel()
	sizes := [][2]float64{{1, 2}, {1, 2}, {1, 3}, {4, 3}, {4, 3}, {1, 2}}
	d := &models.Document{PageCount: len(sizes), Pages: models.PageRuns(sizes)}
	require.Equal(t, []models.PageRun{{From: 1, Width: 1, Height: 2}, {From: 3, Width: 1, Height: 3}, {From: 4, Width: 4, Height: 3}, {From: 6, Width: 1, Height: 2}}, d.Pages)
	for i, size := range sizes {
		w, h, ok := d.PageSize(i + 1)
		require.True(t, ok)
		got := [2]float64{w, h}
		require.Equal(t, size, got, "page %d", i+1)
	}
	for _, n := range []int{0, -1, len(sizes) + 1} {
		_, _, ok := d.PageSize(n)
		require.False(t, ok, n)
	}
	require.Empty(t, models.PageRuns(nil))

	e, err := models.NewEnvelope(act(start), models.Envelope{TenantID: "t", CreatedBy: "c"})
	require.NoError(t, err)
	for i := range models.MaxDocuments {
		d, err := e.AddDocument(act(start), page(), models.MaxDocuments)
		require.NoError(t, err)
		require.Equal(t, i+1, d.Order)
		require.Equal(t, models.PurgeActive, d.PurgeStatus)
		require.Equal(t, models.CombineHashes(e.Originals()), e.HashOriginal)
	}
	_, err = e.AddDocument(act(start), page(), models.MaxDocuments+1)
	require.Equal(t, "too_many_documents", code(t, err))
	_, err = sent(t, nil, models.AuthNone, 1).AddDocument(act(start), page(), 5)
	require.Error(t, err, "it was sent")
}
