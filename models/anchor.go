package models

// Anchor is the text of a document at which a field stands.
type Anchor struct {
	Text       string  `json:"text"`
	Match      string  `json:"match,omitempty"` // first, last, all or a number; "": first
	Page       int     `json:"page,omitempty"`  // 0: any
	DX         float64 `json:"dx,omitempty"`    // points to the right
	DY         float64 `json:"dy,omitempty"`    // points down
	At         string  `json:"at,omitempty"`    // after, over or below; "": after
	WholeWord  bool    `json:"wholeWord,omitempty"`
	IgnoreCase bool    `json:"ignoreCase,omitempty"`
	IfMissing  string  `json:"ifMissing,omitempty"` // refuse or skip; "": refuse
}

const anchorNeedsDocument = "needs a document: upload it before its fields"

// ErrAnchorNeedsDocument is the answer to an anchor where there is no document yet.
func ErrAnchorNeedsDocument(path string) error {
	return &Error{
		Kind: KindInvalid, Code: "anchor_needs_document", Message: "A field with an anchor needs a document, which is looked through for its text: upload the document first.",
		Fields: map[string][]string{path + "anchor": {anchorNeedsDocument}},
	}
}
