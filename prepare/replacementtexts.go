package prepare

import (
	"context"
	"html"
	"regexp"
	"slices"
	"strings"

	"countersign/pdf"
)

// replacementTexts plans the removal of other copies of a tag's text. They are in the entries ActualText, Alt and E of
// structure elements and property lists (14.9), and in Contents and RC of the annotations that show the tag.
func (r *Revision) replacementTexts(ctx context.Context, f *pdf.File) error {
	cat, _, err := f.Catalog()
	if err != nil {
		return err
	}
	annotations, nested := annotationsOf(r.Tags)
	if cat.Get("StructTreeRoot").IsNull() && len(annotations) == 0 && !nested {
		return nil
	}
	err = f.Objects(func(o pdf.Object) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if o.IsStream() {
			return nil
		}
		at := -1
		return o.Value.Dicts(func(d pdf.Dict, _ string) error {
			at++
			keys := []string{"ActualText", "Alt", "E"}
			if annotations[o.Ref] && at == 0 || nested && at > 0 && d.Get("Subtype") != nil {
				keys = append(keys, "Contents", "RC")
			}
			contains, err := r.anyContainsTag(f, d, keys)
			switch {
			case err != nil || !contains:
				return err
			case at == 0:
				r.Plan.Texts = append(r.Plan.Texts, o.Ref.Num)
			default:
				r.Plan.Inline = append(r.Plan.Inline, [2]int{o.Ref.Num, at})
			}
			return nil
		})
	})
	slices.Sort(r.Plan.Texts)
	slices.SortFunc(r.Plan.Inline, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return err
}

// annotationsOf returns the annotations whose appearances show tags, and reports in nested whether any of them is a
// direct object.
func annotationsOf(tags []FoundTag) (annotations map[pdf.Ref]bool, nested bool) {
	annotations = make(map[pdf.Ref]bool)
	for _, t := range tags {
		for _, g := range t.Glyphs {
			use := g.Use
			for use != 0 && t.uses[use].Parent != 0 {
				use = t.uses[use].Parent
			}
			if use == 0 || t.uses[use].At >= 0 {
				continue
			}
			if ref := t.uses[use].Annotation; ref != (pdf.Ref{}) {
				annotations[ref] = true
			} else {
				nested = true
			}
		}
	}
	return annotations, nested
}

// anyContainsTag reports whether any string in a dictionary contains a tag.
func (r *Revision) anyContainsTag(f *pdf.File, d pdf.Dict, keys []string) (bool, error) {
	for _, key := range keys {
		v := d.Get(key)
		if v == nil {
			continue
		}
		text, err := textOf(f, v)
		if err != nil {
			return false, err
		}
		if key == "RC" { // XHTML (12.7.4.4)
			text = html.UnescapeString(markup.ReplaceAllString(text, ""))
		}
		if containsTag(text, r.Tags) {
			return true, nil
		}
	}
	return false, nil
}

//nolint:gochecknoglobals // a constant pattern
var markup = regexp.MustCompile(`<[^>]*>`)

// textOf returns the content of a text string or a stream.
func textOf(f *pdf.File, v pdf.Value) (string, error) {
	if ref, ok := v.Ref(); ok {
		o, err := f.Object(ref)
		if err != nil {
			return "", err
		}
		if o.IsStream() {
			b, err := f.StreamData(o)
			return pdf.DecodeText(b), err
		}
		v = o.Value
	}
	b, _ := v.Bytes()
	return pdf.DecodeText(b), nil
}

// containsTag reports whether a string contains one of the tags, ignoring spaces.
func containsTag(text string, tags []FoundTag) bool {
	if !tagStart.MatchString(text) {
		return false
	}
	text = strings.Join(strings.Fields(text), "")
	return slices.ContainsFunc(tags, func(t FoundTag) bool { return strings.Contains(text, strings.Join(strings.Fields(t.Text), "")) })
}
