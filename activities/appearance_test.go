package activities

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/models"
	"countersign/seal/limits"
	"countersign/seal/manifest"
	"countersign/store"
)

// manyPages returns a sent envelope with the given number of signers, and one document with the given number of
// pages.
func manyPages(t *testing.T, signers, pages int) *models.Envelope {
	t.Helper()
	act := models.ActionContext{At: time.Now().UTC().Truncate(time.Microsecond), Actor: models.ActorSystem, NewID: uuid.New}
	e, err := models.NewEnvelope(act, models.Envelope{AppID: uuid.New(), TenantID: "t", CreatedBy: "me"})
	require.NoError(t, err)
	_, err = e.AddDocument(act, models.DocumentInput{Document: models.Document{SHA256: fmt.Sprintf("%064d", 1), PageCount: pages, Pages: []models.PageRun{{From: 1, Width: 595, Height: 842}}, BlobKey: "k"}}, 1)
	require.NoError(t, err)
	for i := range signers {
		s, err := e.AddSigner(act, models.SignerInput{Name: "Ada", Email: fmt.Sprintf("ada%d@example.com", i), RoutingOrder: 1, AuthMethod: models.AuthNone})
		require.NoError(t, err)
		_, err = e.AddFields(act, []models.FieldInput{{SignerRef: s.ID.String(), Type: models.FieldText, Page: 1, X: 1, Y: 1, W: 9, H: 9, Origin: models.OriginTopLeft}}, models.NoPrefix)
		require.NoError(t, err)
	}
	require.NoError(t, e.Send(act, nil))
	return e
}

func deliver(t *testing.T, e *models.Envelope, signer, page, level int) {
	t.Helper()
	s := e.Signers[signer]
	l := models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}
	require.NoError(t, e.RecordDelivery(l, time.Now(), e.Documents[0].ID, page, level))
}

func TestDocumentAppearance_ListsPagesOnceAndRangesOfSigners(t *testing.T) {
	t.Parallel()
	e := manyPages(t, 2, 9)
	for _, page := range []int{1, 3, 2, 9} {
		deliver(t, e, 0, page, 2)
	}
	deliver(t, e, 0, 1, 4)
	deliver(t, e, 0, 1, models.TextLevel)
	deliver(t, e, 0, 5, 1) // the record of this picture was lost
	rows := []store.PageFile{
		{BlobKey: "k", Page: 1, Level: 2, Appearance: "12"},
		{BlobKey: "k", Page: 2, Level: 2, Appearance: "22"},
		{BlobKey: "k", Page: 3, Level: 2, Appearance: "32"},
		{BlobKey: "k", Page: 9, Level: 2, Appearance: "92"},
		{BlobKey: "k", Page: 1, Level: 4, Appearance: "14"},
		{BlobKey: "k", Page: 1, Level: 0, Appearance: "10"},
		{BlobKey: "k", Page: 5, Level: 2, Appearance: "52"}, // rendered for the sender
	}
	got := documentAppearance(e, e.Documents[0], picturesOf(rows))
	require.Equal(t, []manifest.PagePicture{{Page: 1, Level: 2, SHA256: "12"}, {Page: 1, Level: 4, SHA256: "14"}, {Page: 2, Level: 2, SHA256: "22"}, {Page: 3, Level: 2, SHA256: "32"}, {Page: 9, Level: 2, SHA256: "92"}}, got.Pages)
	require.Equal(t, []manifest.PageText{{Page: 1, SHA256: "10"}}, got.Texts)
	require.Equal(t, []manifest.SignerPages{
		{SignerID: e.Signers[0].ID.String(), Levels: []manifest.LevelPages{{Level: 0, Pages: [][2]int{{1, 1}}}, {Level: 2, Pages: [][2]int{{1, 3}, {9, 9}}}, {Level: 4, Pages: [][2]int{{1, 1}}}}},
		// This service displayed no pages to this signer.
		{SignerID: e.Signers[1].ID.String(), Levels: []manifest.LevelPages{}},
	}, got.Signers)
	require.Equal(t, 1, got.Profile.Number)
	e.AppearanceProfile = 99
	require.Nil(t, documentAppearance(e, e.Documents[0], nil))
}

// TestDocumentAppearance_ManyPagesAndSigners_Fit checks that the appearance entry of the seal record stays within its
// size limit, regardless of the pages that the signers request.
func TestDocumentAppearance_ManyPagesAndSigners_Fit(t *testing.T) {
	t.Parallel()
	e := manyPages(t, 100, 4000)
	var rows []store.PageFile
	for page := 1; page <= 4000; page++ {
		for _, level := range []int{0, 1, 2, 4} {
			rows = append(rows, store.PageFile{BlobKey: "k", Page: page, Level: level, Appearance: fmt.Sprintf("%064d", page)})
		}
	}
	for i, s := range e.Signers { // every signer requests every page, and alternates between levels
		all := map[int][][2]int{0: {{1, 4000}}, 1: {{1, 4000}}, 2: {{1, 4000}}, 4: {}}
		for page := 1; page < 2*(limits.MaxRanges/100-5); page += 2 {
			all[4] = append(all[4], [2]int{page, page})
		}
		s.Pages.Delivered = map[uuid.UUID]map[int][][2]int{e.Documents[0].ID: all}
		for page := 1001; page < 1100; page += 2 {
			deliver(t, e, i, page, 4)
		}
		finish(t, e, i)
	}
	b, err := json.Marshal(documentAppearance(e, e.Documents[0], picturesOf(rows)))
	require.NoError(t, err)
	require.Less(t, len(b), limits.Appearances)
	require.Greater(t, len(b), limits.Appearances/4)
}

// finish reports more finished pages for a signer than fit into the record.
func finish(t *testing.T, e *models.Envelope, signer int) {
	t.Helper()
	s := e.Signers[signer]
	act := models.ActionContext{At: time.Now().UTC().Truncate(time.Microsecond), Actor: models.SignerActor(s.ID), NewID: uuid.New}
	l := models.Link{EnvelopeID: e.ID, SignerID: s.ID, ID: *s.LinkID}
	s.ConsentAt = &act.At
	for page := range 2 * limits.MaxFinishedPages / len(e.Signers) {
		require.NoError(t, e.RecordFinished(act, l, nil, "", models.FinishedPage{Document: e.Documents[0].ID, Page: page + 1, Level: 4, Appearance: fmt.Sprintf("%064d", page)}))
	}
	require.Len(t, s.Pages.Finished.Pages, limits.MaxFinishedPages/len(e.Signers))
}
