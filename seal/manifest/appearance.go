package manifest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Appearance records how the document was displayed to its signers, as hashes of pictures. The pictures can be
// reproduced from the file in this PDF with the given profile.
type Appearance struct {
	Profile Profile `json:"profile"`
	// SHA256 and Size are the hash and size of the file whose pages were displayed. This PDF begins with that file.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Pages lists the distinct pictures delivered to signers, ordered by page and level. Texts lists the page texts
	// that were delivered with the pictures.
	Pages []PagePicture `json:"pages"`
	Texts []PageText    `json:"texts"`
	// Signers lists the pages that each signer was shown.
	Signers []SignerPages `json:"signers"`
	// Finished lists the pages of all documents in the form displayed to signers before they signed, with all values.
	// For each signer, the pages are ordered by document, page and level.
	Finished []FinishedPage `json:"finished,omitempty"`
}

// FinishedPage is a page that was displayed to a signer with the values of that signer and all earlier signers.
type FinishedPage struct {
	SignerID   string `json:"signerId"`
	DocumentID string `json:"documentId"`
	Page       int    `json:"page"`
	Level      int    `json:"level"`
	SHA256     string `json:"sha256"` // hash of the pixels
}

// Profile specifies everything that determines how package appearance renders a page.
type Profile struct {
	Number  int    `json:"number"`
	Module  string `json:"module"` // SHA-256 hash of PDFium's WebAssembly module
	PDFium  string `json:"pdfium"`
	Runtime string `json:"runtime"`
	Fonts   string `json:"fonts"` // SHA-256 hash of the list of fonts
	Memory  uint64 `json:"memory"`
	Flags   int    `json:"flags"`
}

// PagePicture is a picture of a page at one zoom level.
type PagePicture struct {
	Page   int    `json:"page"`
	Level  int    `json:"level"`
	SHA256 string `json:"sha256"` // hash of the pixels
}

// PageText is the hash of the text of a page.
type PageText struct {
	Page   int    `json:"page"`
	SHA256 string `json:"sha256"`
}

// SignerPages lists the pages that were displayed to a signer. If the list is empty, this service displayed no pages to
// the signer.
type SignerPages struct {
	SignerID string       `json:"signerId"`
	Levels   []LevelPages `json:"levels"`
}

// ShowedPages reports whether the service displayed pages of this document to a signer as pictures, before signing or
// while reading.
func (m *Manifest) ShowedPages(signer string) bool {
	if m.Appearance == nil {
		return false
	}
	finished := slices.ContainsFunc(m.Appearance.Finished, func(p FinishedPage) bool { return p.SignerID == signer && p.DocumentID == m.Document })
	return finished || slices.ContainsFunc(m.Appearance.Signers, func(s SignerPages) bool {
		return s.SignerID == signer && slices.ContainsFunc(s.Levels, func(l LevelPages) bool { return l.Level > 0 })
	})
}

// LevelPages lists the pages shown at one level as ascending, inclusive ranges. Level 0 means the text of the pages.
type LevelPages struct {
	Level int      `json:"level"`
	Pages [][2]int `json:"pages"`
}

// checkAppearance compares the recorded appearance with the document, its signers and the audit chain.
func (m *Manifest) checkAppearance() error {
	a := m.Appearance
	if a == nil {
		return nil
	}
	sum, size := m.Original.SHA256, m.Original.Size
	if p := m.Original.Prepared; p != nil {
		sum, size = p.SHA256, p.Size
	}
	if a.SHA256 != sum || a.Size != size {
		return fmt.Errorf("the file whose pages were displayed differs from the document")
	}
	listed, err := a.listed()
	if err != nil {
		return err
	}
	if len(a.Signers) != len(m.Signers) {
		return fmt.Errorf("the signers in the list of displayed pages differ from the signers of the record")
	}
	for i, s := range a.Signers {
		if s.SignerID != m.Signers[i].ID {
			return fmt.Errorf("the signers in the list of displayed pages differ from the signers of the record")
		}
		if err := s.check(listed); err != nil {
			return err
		}
	}
	if err := m.checkViews(listed); err != nil {
		return err
	}
	return m.checkFinished()
}

// checkFinished compares the finished pages with their digests in the audit chain.
func (m *Manifest) checkFinished() error {
	lines := make(map[string]*strings.Builder)
	for _, p := range m.Appearance.Finished {
		if lines[p.SignerID] == nil {
			lines[p.SignerID] = &strings.Builder{}
		}
		fmt.Fprintf(lines[p.SignerID], "%s %d %d %s\n", p.DocumentID, p.Page, p.Level, p.SHA256)
	}
	for i, b := range m.Audit.Events {
		var ev struct {
			Event  string `json:"event"`
			Detail struct {
				SignerID string `json:"signerId"`
				Finished string `json:"finished"`
			} `json:"detail"`
		}
		if !strings.Contains(string(b), `"signer.signed"`) {
			continue
		}
		if err := json.Unmarshal(b, &ev); err != nil {
			return fmt.Errorf("event %d cannot be read", i+1)
		}
		if ev.Event != "signer.signed" {
			continue
		}
		digest, l := "", lines[ev.Detail.SignerID]
		if l != nil {
			digest = fmt.Sprintf("%x", sha256.Sum256([]byte(l.String())))
		}
		if digest != ev.Detail.Finished {
			return fmt.Errorf("event %d records a signature for pages other than those listed", i+1)
		}
		delete(lines, ev.Detail.SignerID)
	}
	if len(lines) > 0 {
		return fmt.Errorf("the record lists pages displayed to a person who has not signed")
	}
	return nil
}

type levelPage struct{ page, level int }

// listed returns the hashes of the listed pictures and page texts, and checks their order.
func (a *Appearance) listed() (map[levelPage]string, error) {
	order := func(x, y PagePicture) int {
		if x.Page != y.Page {
			return x.Page - y.Page
		}
		return x.Level - y.Level
	}
	if !slices.IsSortedFunc(a.Pages, order) || !slices.IsSortedFunc(a.Texts, func(x, y PageText) int { return x.Page - y.Page }) {
		return nil, fmt.Errorf("the pages are not in ascending order")
	}
	out := make(map[levelPage]string, len(a.Pages)+len(a.Texts))
	for _, p := range a.Pages {
		out[levelPage{p.Page, p.Level}] = p.SHA256
	}
	for _, t := range a.Texts {
		out[levelPage{t.Page, 0}] = t.SHA256
	}
	if len(out) != len(a.Pages)+len(a.Texts) {
		return nil, fmt.Errorf("a page is listed twice")
	}
	return out, nil
}

func (s *SignerPages) check(listed map[levelPage]string) error {
	left := len(listed)
	for _, l := range s.Levels {
		for _, r := range l.Pages {
			if r[0] > r[1] || r[1]-r[0] >= left {
				return fmt.Errorf("the entry of a signer refers to pages that are not listed")
			}
			for page := r[0]; page <= r[1]; page++ {
				if left--; listed[levelPage{page, l.Level}] == "" {
					return fmt.Errorf("the entry of a signer refers to page %d, which is not listed", page)
				}
			}
		}
	}
	return nil
}

// checkViews compares the picture hashes in events with the listed hashes.
func (m *Manifest) checkViews(listed map[levelPage]string) error {
	for i, b := range m.Audit.Events {
		var ev struct {
			Event  string `json:"event"`
			Detail struct {
				DocumentID string `json:"documentId"`
				Page       int    `json:"page"`
				Level      int    `json:"level"`
				Appearance string `json:"appearance"`
			} `json:"detail"`
		}
		if !strings.Contains(string(b), `"page_viewed"`) {
			continue
		}
		if err := json.Unmarshal(b, &ev); err != nil {
			return fmt.Errorf("event %d cannot be read", i+1)
		}
		d := ev.Detail
		// The pages displayed to a replaced signer are not listed.
		hash := listed[levelPage{d.Page, d.Level}]
		if ev.Event == "page_viewed" && d.Appearance != "" && d.DocumentID == m.Document && hash != "" && hash != d.Appearance {
			return fmt.Errorf("event %d contains a different hash of the page than the record", i+1)
		}
	}
	return nil
}
