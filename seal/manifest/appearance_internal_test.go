package manifest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckAppearance_FinishedPages_AreThoseOfTheTrail checks that the digest in each signing event covers the finished
// pages of its signer, and that only signers have finished pages.
func TestCheckAppearance_FinishedPages_AreThoseOfTheTrail(t *testing.T) {
	t.Parallel()
	pages := []FinishedPage{{"ada", "d", 1, 2, "aa"}, {"ada", "d", 2, 2, "bb"}}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("d 1 2 aa\nd 2 2 bb\n")))
	signed := func(signer, finished string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"event":"signer.signed","detail":{"signerId":%q,"finished":%q}}`, signer, finished))
	}
	other := json.RawMessage(`{"event":"envelope.created","detail":{"note":"signer.signed"}}`)
	for name, c := range map[string]struct {
		pages  []FinishedPage
		events []json.RawMessage
		says   string
	}{
		"none":                {nil, []json.RawMessage{signed("ada", "")}, ""},
		"all":                 {pages, []json.RawMessage{other, signed("ada", digest), signed("bo", "")}, ""},
		"not in the trail":    {pages, []json.RawMessage{signed("ada", "")}, "event 1 records a signature for pages other than"},
		"not in the record":   {nil, []json.RawMessage{other, signed("ada", digest)}, "event 2 records a signature for pages other than"},
		"one page less":       {pages[:1], []json.RawMessage{signed("ada", digest)}, "for pages other than"},
		"of another signer":   {pages, []json.RawMessage{signed("bo", digest)}, "for pages other than"},
		"without a signature": {pages, []json.RawMessage{signed("bo", "")}, "a person who has not signed"},
		"no event":            {nil, []json.RawMessage{json.RawMessage(`{"event":"signer.signed","detail":[]}`)}, "event 1 cannot be read"},
		"no view":             {nil, []json.RawMessage{other, json.RawMessage(`{"event":"page_viewed","detail":[]}`)}, "event 2 cannot be read"},
	} {
		m := &Manifest{Document: "d", Appearance: &Appearance{Finished: c.pages}, Audit: Audit{Events: c.events}}
		if err := m.checkAppearance(); c.says == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.says, name)
		}
	}
}

// TestCheckAppearance_FileAndOrder_AreChecked checks that the recorded file is the one that was displayed (the prepared
// file, if there is one), and that pages and texts are in order.
func TestCheckAppearance_FileAndOrder_AreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Manifest)
		says   string
	}{
		"as uploaded": {func(*Manifest) {}, ""},
		"prepared": {func(m *Manifest) {
			m.Original.Prepared = &Prepared{SHA256: "p", Size: 9}
			m.Appearance.SHA256, m.Appearance.Size = "p", 9
		}, ""},
		"not as prepared":    {func(m *Manifest) { m.Original.Prepared = &Prepared{SHA256: "p", Size: 9} }, "the file"},
		"another file":       {func(m *Manifest) { m.Appearance.SHA256 = "p" }, "the file"},
		"another size":       {func(m *Manifest) { m.Appearance.Size++ }, "the file"},
		"texts in order":     {func(m *Manifest) { m.Appearance.Texts = []PageText{{1, "a"}, {2, "b"}} }, ""},
		"texts in disorder":  {func(m *Manifest) { m.Appearance.Texts = []PageText{{2, "a"}, {1, "b"}} }, "the pages are not in ascending order"},
		"levels in disorder": {func(m *Manifest) { m.Appearance.Pages = []PagePicture{{1, 2, "a"}, {1, 1, "b"}} }, "the pages are not in ascending order"},
	} {
		m := &Manifest{Original: Placement{SHA256: "o", Size: 5}, Appearance: &Appearance{SHA256: "o", Size: 5}}
		c.change(m)
		if err := m.checkAppearance(); c.says == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.says, name)
		}
	}
}

func TestShowedPages_IsByPicturesOfThisDocument(t *testing.T) {
	t.Parallel()
	require.False(t, (&Manifest{}).ShowedPages("ada"))
	m := &Manifest{Document: "d", Appearance: &Appearance{
		Finished: []FinishedPage{{"ada", "d", 1, 2, "aa"}, {"bo", "other", 1, 2, "aa"}},
		Signers:  []SignerPages{{"cy", []LevelPages{{Level: 0}, {Level: 1}}}, {"di", []LevelPages{{Level: 0}}}},
	}}
	for signer, want := range map[string]bool{"ada": true, "bo": false, "cy": true, "di": false, "ed": false} {
		require.Equal(t, want, m.ShowedPages(signer), signer)
	}
}

func TestCheckDocuments_PreparedButNotNamed_IsRejected(t *testing.T) {
	t.Parallel()
	m := &Manifest{All: []File{{ID: "d", SHA256: "o", PreparedSHA256: "p", Order: 1}}}
	added := event{}
	added.Detail.DocumentID, added.Detail.SHA256, added.Detail.Order = "d", "o", 1
	chain := chainEvents{added: []event{added}, prepared: map[string]string{"d": "p"}}
	require.NoError(t, m.checkDocuments(chain))
	chain.prepared["other"] = "q"
	require.ErrorContains(t, m.checkDocuments(chain), "prepares a document that the record does not list")
}
