package manifest

import (
	"countersign/prepare"
	"countersign/prepare/revision1"
)

// How a prepared file is made of the original.
const (
	Appended  = "appended"  // it begins with the original's bytes; the rest can be written again
	Rewritten = "rewritten" // it is a file of its own: a password was taken off
)

// Prepared is the file that people read and that was sealed.
type Prepared struct {
	SHA256  string           `json:"sha256"`
	Size    int64            `json:"size"`
	As      string           `json:"as"`     // Appended or Rewritten
	Writer  int              `json:"writer"` // version of the format of what is appended; 0: a file of its own
	Options prepare.Options  `json:"options"`
	Changes []prepare.Change `json:"changes"`
	// Plan is what the writer took out, in detail.
	Plan *revision1.Plan `json:"plan,omitempty"`
	// Attachment is the number of the object that holds the original of a rewritten
	// file, and Name its name among the attachments.
	Attachment int    `json:"attachment,omitempty"`
	Name       string `json:"name,omitempty"`
}
