package activities

import (
	"context"

	"countersign/models"
	"countersign/seal/appearance"
	"countersign/seal/manifest"
	"countersign/store"
)

// pictures maps the key of a stored file to the hashes of its page images, by page and level.
type pictures map[string]map[[2]int]string

// loadPictures loads the recorded page image hashes of an envelope's documents.
func (a *Activities) loadPictures(ctx context.Context, e *models.Envelope) (pictures, error) {
	var keys []string
	for _, d := range e.Originals() {
		keys = append(keys, d.Presented().BlobKey)
	}
	rows, err := a.Store.PageFiles(ctx, e.AppearanceProfile, keys...)
	if err != nil {
		return nil, err
	}
	return picturesOf(rows), nil
}

func picturesOf(rows []store.PageFile) pictures {
	out := make(pictures)
	for _, p := range rows {
		if out[p.BlobKey] == nil {
			out[p.BlobKey] = make(map[[2]int]string)
		}
		out[p.BlobKey][[2]int{p.Page, p.Level}] = p.Appearance
	}
	return out
}

// documentAppearance returns the entry of the seal record that describes how a document was displayed to its signers.
// It returns nil if the envelope was sent with an unknown profile.
func documentAppearance(e *models.Envelope, d *models.Document, all pictures) *manifest.Appearance {
	p, ok := appearance.Lookup(e.AppearanceProfile)
	if !ok {
		return nil
	}
	out := &manifest.Appearance{
		Profile: manifest.Profile{Number: p.Number, Module: p.Module, PDFium: p.PDFium, Runtime: p.Runtime, Fonts: p.Fonts, Memory: p.Memory, Flags: p.Flags},
		Pages:   []manifest.PagePicture{}, Texts: []manifest.PageText{}, Signers: []manifest.SignerPages{},
	}
	hashes, delivered := all[d.Presented().BlobKey], e.Delivered()
	for page := 1; page <= d.PageCount; page++ {
		for level := models.TextLevel; level <= maxLevel; level++ {
			hash := hashes[[2]int{page, level}]
			switch {
			case hash == "" || !delivered[models.DeliveredPage{Document: d.ID, Page: page, Level: level}]:
			case level == models.TextLevel:
				out.Texts = append(out.Texts, manifest.PageText{Page: page, SHA256: hash})
			default:
				out.Pages = append(out.Pages, manifest.PagePicture{Page: page, Level: level, SHA256: hash})
			}
		}
	}
	for _, s := range e.Signers {
		shown := manifest.SignerPages{SignerID: s.ID.String(), Levels: []manifest.LevelPages{}}
		for _, level := range s.DeliveredLevels(d.ID) {
			if ranges := recordedRanges(s.Pages.Delivered[d.ID][level], level, hashes); len(ranges) > 0 {
				shown.Levels = append(shown.Levels, manifest.LevelPages{Level: level, Pages: ranges})
			}
		}
		out.Signers = append(out.Signers, shown)
		if s.Pages.Finished == nil {
			continue
		}
		for _, p := range s.Pages.Finished.Pages {
			out.Finished = append(out.Finished, manifest.FinishedPage{
				SignerID: s.ID.String(), DocumentID: p.Document.String(), Page: p.Page, Level: p.Level, SHA256: p.Appearance,
			})
		}
	}
	return out
}

const maxLevel = 4

// recordedRanges returns the given ranges without the pages that have no recorded hash, because their record was lost.
func recordedRanges(ranges [][2]int, level int, hashes map[[2]int]string) (out [][2]int) {
	for _, r := range ranges {
		for page := r[0]; page <= r[1]; page++ {
			switch n := len(out); {
			case hashes[[2]int{page, level}] == "":
			case n > 0 && out[n-1][1] == page-1:
				out[n-1][1] = page
			default:
				out = append(out, [2]int{page, page})
			}
		}
	}
	return out
}
