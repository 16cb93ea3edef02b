package models_test

import (
	"reflect"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/seal/limits"
)

// TestPageLog_DoesNotModifyTheLoadedOne checks that a page view creates a new log, so that the store detects the
// change.
func TestPageLog_DoesNotModifyTheLoadedOne(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	document := e.Originals()[0].ID
	require.NoError(t, e.ViewPage(act(start), link(e, 0), document, 2, 10, nil))
	loaded := e.Signers[0].Pages
	require.NoError(t, e.ViewPage(act(start), link(e, 0), document, 1, 10, nil))
	require.Equal(t, map[uuid.UUID][][2]int{document: {{2, 2}}}, loaded.Seen)
	require.Equal(t, map[uuid.UUID][][2]int{document: {{1, 2}}}, e.Signers[0].Pages.Seen)
}

func TestRecordDelivery_RepeatedPage_ChangesNothing(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	s, document := e.Signers[0], e.Originals()[0].ID
	require.NoError(t, e.RecordDelivery(link(e, 0), start, document, 2, 1))
	require.True(t, s.HasDelivered(document, 2, 1))
	require.False(t, s.HasDelivered(document, 2, 0))
	before := s.Pages.Delivered
	require.NoError(t, e.RecordDelivery(link(e, 0), start, document, 2, 1))
	require.Equal(t, before, s.Pages.Delivered)
	require.Equal(t, reflect.ValueOf(before).Pointer(), reflect.ValueOf(s.Pages.Delivered).Pointer(), "the row does not have to be written")
}

// TestRecordDelivery_FullRecord_IgnoresFurtherPages checks that the number of recorded pages is limited even if the
// documents have more pages.
func TestRecordDelivery_FullRecord_IgnoresFurtherPages(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	s, d := e.Signers[0], e.Originals()[0]
	d.PageCount = limits.MaxHashes
	s.Pages.Delivered = map[uuid.UUID]map[int][][2]int{d.ID: {1: {{1, limits.MaxHashes - 1}}}}
	require.NoError(t, e.RecordDelivery(link(e, 0), start, d.ID, 1, 0))
	require.True(t, s.HasDelivered(d.ID, 1, 0), "the last entry within the limit")
	require.NoError(t, e.RecordDelivery(link(e, 0), start, d.ID, 2, 0))
	require.False(t, s.HasDelivered(d.ID, 2, 0))
	require.Len(t, e.Delivered(), limits.MaxHashes)
}

// TestRecordFinished_SortsPages checks that each page is stored once, ordered by document, page
// and level.
func TestRecordFinished_SortsPages(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	_, err := e.Consent(act(start), link(e, 0), new(models.Signer).Disclosure("en"))
	require.NoError(t, err)
	one, two := uuid.UUID{1}, uuid.UUID{2}
	want := []models.FinishedPage{{one, 1, 1, "a"}, {one, 1, 2, "b"}, {one, 2, 1, "c"}, {two, 1, 1, "d"}}
	for _, i := range []int{3, 2, 1, 0, 2} {
		require.NoError(t, e.RecordFinished(act(start), link(e, 0), nil, "shown", want[i]))
	}
	require.Equal(t, want, e.Signers[0].Pages.Finished.Pages)
	require.NoError(t, e.RecordFinished(act(start), link(e, 0), nil, "other", want[1]))
	require.Equal(t, want[1:2], e.Signers[0].Pages.Finished.Pages, "pages with other values are discarded")
	full := make([]models.FinishedPage, limits.MaxFinishedPages)
	e.Signers[0].Pages.Finished.Pages = full
	require.NoError(t, e.RecordFinished(act(start), link(e, 0), nil, "other", want[3]))
	require.Equal(t, full, e.Signers[0].Pages.Finished.Pages)
	e.Signers[0].Pages.Finished.Pages = full[1:]
	require.NoError(t, e.RecordFinished(act(start), link(e, 0), nil, "other", want[3]))
	require.Len(t, e.Signers[0].Pages.Finished.Pages, limits.MaxFinishedPages)
}

// TestPageView_SealedDocument_IsRejected checks that signers can view only the uploaded documents.
func TestPageView_SealedDocument_IsRejected(t *testing.T) {
	t.Parallel()
	e := sent(t, nil, models.AuthNone, 1)
	e.Documents = append(e.Documents, &models.Document{ID: uuid.New(), Kind: models.DocumentSealed, PageCount: 3})
	err := e.ViewPage(act(start), link(e, 0), e.Documents[1].ID, 1, 0, nil)
	assert.Equal(t, "validation_error", code(t, err))
}

// TestDocumentPages_Sizes checks that grouping page sizes into runs loses no size, and that the number of documents is
// limited.
func TestDocumentPages_Sizes(t *testing.T) {
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
	require.Error(t, err, "the page was delivered")
}
