package seal

import (
	"fmt"
	"strings"

	"countersign/seal/manifest"
)

// prepared is the sentence about what was taken out of the original before it was
// read; begins is the one about where the original is.
func (c *certificate) prepared(begins string) string {
	p := c.job.Prepared
	if p.As == manifest.Rewritten {
		begins = c.say.OriginalProtected
	}
	var kinds []string
	counts := make(map[string]int)
	for _, change := range p.Changes {
		if counts[change.Kind] == 0 {
			kinds = append(kinds, change.Kind)
		}
		counts[change.Kind] += change.Count
	}
	for i, kind := range kinds {
		name := c.say.PreparedKinds[kind]
		if name == "" {
			name = kind
		}
		kinds[i] = fmt.Sprintf("%s (%d)", name, counts[kind])
	}
	if len(kinds) == 0 {
		return begins
	}
	return begins + " " + fmt.Sprintf(c.say.Prepared, strings.Join(kinds, ", "), p.SHA256)
}
