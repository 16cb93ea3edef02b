package prepare

import (
	"context"
	"crypto/sha256"
	"errors"

	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare/revision1"
)

// Values for the fields of Options. The first value for each field is the default.
const (
	TagsIgnore   = "ignore"
	TagsDetect   = "detect"
	FormKeep     = "keep"
	FormImport   = "import"
	ActiveRemove = "remove"
	ActiveReject = "refuse"
)

// Options specifies the changes to make to a document before anyone reads it. The zero value of a field selects its
// default.
type Options struct {
	Tags          string `json:"tags,omitempty"`
	Form          string `json:"form,omitempty"`
	FormRole      string `json:"formRole,omitempty"` // role of the imported fields
	ActiveContent string `json:"activeContent,omitempty"`
}

// ReadsPages reports whether the options require a search for tags or fields.
func (o Options) ReadsPages() bool { return o.Tags == TagsDetect || o.Form == FormImport }

// Change describes content that a revision removes from a document.
type Change = revision1.Change

// TagsRemoved is the kind of change that removes tags.
const TagsRemoved = revision1.TagsRemoved

// Revision is the result of Prepare.
type Revision struct {
	// Appended contains the bytes to append to the document. It is empty if no change is required.
	Appended []byte
	Writer   int // format version
	Plan     revision1.Plan
	Changes  []Change
	Tags     []FoundTag
	Fields   []FormField
}

// Prepare creates a revision of a document, which is an incremental update that removes the content selected by the
// options. The hash is the document's SHA-256 hash. The result depends only on the document and the options. Prepare
// returns *TagError, pagetext.ErrLimit, pdf.ErrLimit, the context's error, or an error from reading the file.
func Prepare(ctx context.Context, f *pdf.File, hash [sha256.Size]byte, opt Options) (*Revision, error) {
	r := &Revision{Writer: revision1.Version}
	r.Plan.Active = opt.ActiveContent != ActiveReject
	if opt.Tags == TagsDetect {
		if err := r.planTags(ctx, f); err != nil {
			return nil, err
		}
		if opt.Form != FormImport {
			if err := noTagsInForm(ctx, f); err != nil {
				return nil, err
			}
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
	if isUnremovable(err) {
		return nil, r.culprit(ctx, f, hash, err)
	}
	return r, err
}

// noTagsInForm returns *TagError if a form that is not removed displays a tag.
func noTagsInForm(ctx context.Context, f *pdf.File) error {
	fields, err := ReadForm(ctx, f)
	if err != nil {
		return err
	}
	for _, field := range fields {
		at := tagStart.FindStringIndex(field.Value)
		if at != nil && !field.Hidden && field.Type == "text" {
			return &TagError{excerpt(field.Value[at[0]:]), field.Place.Page, ErrFormTag}
		}
	}
	return nil
}

// planTags finds the tags and plans their removal.
func (r *Revision) planTags(ctx context.Context, f *pdf.File) error {
	found, err := findTags(ctx, f)
	if err != nil || len(found.tags) == 0 {
		return err
	}
	r.Tags = found.tags
	if r.Plan.Cuts, err = cuts(found); err != nil {
		return err
	}
	return r.replacementTexts(ctx, f)
}

// isUnremovable reports whether the error means that a tag cannot be removed from the content that shows it.
func isUnremovable(err error) bool {
	return errors.Is(err, pagetext.ErrReplacedText) || errors.Is(err, revision1.ErrNoResources)
}

// culprit returns an error that identifies a tag that cannot be removed.
func (r *Revision) culprit(ctx context.Context, f *pdf.File, hash [sha256.Size]byte, err error) error {
	const most = 200 // maximum number of tags to try one by one
	for _, t := range r.Tags[:min(len(r.Tags), most)] {
		alone, otherwise := cuts(foundTags{tags: []FoundTag{t}})
		if otherwise != nil {
			return otherwise
		}
		if _, _, again := revision1.Write(ctx, f, hash, revision1.Plan{Cuts: alone}); isUnremovable(again) {
			return &TagError{t.Text, t.Place.Page, again}
		}
	}
	return &TagError{r.Tags[0].Text, r.Tags[0].Place.Page, err}
}
