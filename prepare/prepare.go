package prepare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"countersign/prepare/pagetext"
	"countersign/prepare/revision1"
	"countersign/seal/pdf"
)

// The values of Options, defaults first.
const (
	TagsIgnore   = "ignore"
	TagsDetect   = "detect"
	FormKeep     = "keep"
	FormImport   = "import"
	ActiveRemove = "remove"
	ActiveRefuse = "refuse"
)

// Options say what is done to a document before people read it. The zero value of
// each is its default.
type Options struct {
	Tags          string `json:"tags,omitempty"`
	Form          string `json:"form,omitempty"`
	FormRole      string `json:"formRole,omitempty"` // whose the imported fields are
	ActiveContent string `json:"activeContent,omitempty"`
}

// ReadsPages tells that tags or fields are looked for.
func (o Options) ReadsPages() bool { return o.Tags == TagsDetect || o.Form == FormImport }

// Change is something that a revision takes out of a document, in numbers.
type Change = revision1.Change

// TagsRemoved is the kind of change that takes tags out.
const TagsRemoved = revision1.TagsRemoved

// Revision is what Prepare makes of a document.
type Revision struct {
	// Appended follows the document; empty: nothing has to change.
	Appended []byte
	Writer   int // version of the format
	Plan     revision1.Plan
	Changes  []Change
	Tags     []FoundTag
	Fields   []FormField
}

// ErrFormUses says that a form XObject shows a tag that is set in another way where
// the form is used again, so that it cannot be taken out for both.
var ErrFormUses = errors.New("a form XObject shows it in several ways")

// Prepare makes a revision of a document: an incremental update that takes out what
// the options name. hash is the document's SHA-256. The same document and options
// give the same bytes. It fails with *TagError, pagetext.ErrLimit, pdf.ErrLimit, the
// context's error, or one of reading the file.
func Prepare(ctx context.Context, f *pdf.File, hash [sha256.Size]byte, opt Options) (*Revision, error) {
	r := &Revision{Writer: revision1.Version}
	r.Plan.Active = opt.ActiveContent != ActiveRefuse
	if opt.Tags == TagsDetect {
		var err error
		if r.Tags, err = FindTags(ctx, f); err != nil {
			return nil, err
		}
		if r.Plan.Cuts, err = cuts(r.Tags); err != nil {
			return nil, err
		}
		if r.Plan.Texts, err = replacementTexts(ctx, f, r.Tags); err != nil {
			return nil, err
		}
	}
	if opt.Form == FormImport {
		var err error
		if r.Fields, err = ReadForm(ctx, f); err != nil {
			return nil, err
		}
		cat, _, err := f.Catalog()
		if err != nil {
			return nil, err
		}
		r.Plan.Form = cat.Get("AcroForm") != nil
	}
	var err error
	r.Appended, r.Changes, err = revision1.Write(ctx, f, hash, r.Plan)
	if errors.Is(err, pagetext.ErrReplacedText) {
		return nil, &TagError{Text: r.Tags[0].Text, Page: r.Tags[0].Place.Page, Err: err}
	}
	return r, err
}

// cuts turns tags into what pages and forms lose.
func cuts(tags []FoundTag) ([]revision1.Cut, error) {
	pages, forms := make(map[int]*revision1.Cut), make(map[int]*revision1.Cut)
	glyphs := make(map[*revision1.Cut][]pagetext.Position)
	known := make(map[pdf.Ref]map[[2]int]pagetext.Position)
	cutOf := func(m map[int]*revision1.Cut, n int) *revision1.Cut {
		if m[n] == nil {
			m[n] = &revision1.Cut{}
		}
		return m[n]
	}
	for _, t := range tags {
		page := cutOf(pages, t.Place.Page)
		page.Page = t.Place.Page
		page.Tags++
		for _, g := range t.Glyphs {
			if g.Form == (pdf.Ref{}) {
				glyphs[page] = append(glyphs[page], g)
				continue
			}
			if known[g.Form] == nil {
				known[g.Form] = make(map[[2]int]pagetext.Position)
			}
			key := [2]int{g.Start, g.Code}
			if other, ok := known[g.Form][key]; ok {
				if other != g {
					return nil, &TagError{t.Text, t.Place.Page, ErrFormUses}
				}
				continue
			}
			known[g.Form][key] = g
			form := cutOf(forms, g.Form.Num)
			form.Form = g.Form.Num
			glyphs[form] = append(glyphs[form], g)
		}
	}
	var out []revision1.Cut
	for _, m := range []map[int]*revision1.Cut{pages, forms} {
		from := len(out)
		for _, c := range m {
			c.Codes = runs(glyphs[c])
			out = append(out, *c)
		}
		slices.SortFunc(out[from:], func(a, b revision1.Cut) int { return cmp.Or(cmp.Compare(a.Page, b.Page), cmp.Compare(a.Form, b.Form)) })
	}
	return out, nil
}

// runs joins codes that follow one another in a string.
func runs(glyphs []pagetext.Position) [][4]float64 {
	slices.SortFunc(glyphs, func(a, b pagetext.Position) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Code, b.Code))
	})
	glyphs = slices.Compact(glyphs)
	var out [][4]float64
	for _, g := range glyphs {
		if n := len(out); n > 0 && int(out[n-1][0]) == g.Start && int(out[n-1][1]+out[n-1][2]) == g.Code {
			out[n-1][2] += float64(g.Length)
			out[n-1][3] += g.Advance
			continue
		}
		out = append(out, [4]float64{float64(g.Start), float64(g.Code), float64(g.Length), g.Advance})
	}
	return out
}

// replacementTexts finds the structure elements whose ActualText, Alt or E
// (14.9) give the text of a tag, by their numbers.
func replacementTexts(ctx context.Context, f *pdf.File, tags []FoundTag) ([]int, error) {
	cat, _, err := f.Catalog()
	if err != nil || len(tags) == 0 || cat.Get("StructTreeRoot").IsNull() {
		return nil, err
	}
	var out []int
	err = f.Objects(func(o pdf.Object) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if o.IsStream() || !o.Value.IsDict() {
			return nil
		}
		d, err := o.Value.Dict()
		if err != nil || d.Get("S") == nil || d.Get("P") == nil { // a structure element has both (14.7.2)
			return nil //nolint:nilerr // the examination tells
		}
		for _, key := range []string{"ActualText", "Alt", "E"} {
			v, err := f.Resolve(d.Get(key))
			if err != nil {
				return err
			}
			b, _ := v.Bytes()
			if holdsTag(pdf.DecodeText(b), tags) {
				out = append(out, o.Ref.Num)
				break
			}
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// holdsTag reports whether a text holds one of the tags, spaces aside.
func holdsTag(text string, tags []FoundTag) bool {
	at := tagStart.FindStringIndex(text)
	if at == nil {
		return false
	}
	text = strings.Join(strings.Fields(text), "")
	return slices.ContainsFunc(tags, func(t FoundTag) bool { return strings.Contains(text, strings.Join(strings.Fields(t.Text), "")) })
}
