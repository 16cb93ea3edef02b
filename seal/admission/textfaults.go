package admission

import (
	"context"
	"fmt"

	"countersign/pdf"
	"countersign/seal/refusal"
)

// isContent reports whether a stream is content of a page.
func (n *inspector) isContent(ref pdf.Ref) bool {
	_, ok := n.contents[ref]
	if ok {
		n.contents[ref] = true
	}
	return ok
}

// pageText looks at the text of a page.
func (n *inspector) pageText(ctx context.Context, p *pdf.Page, contents []pdf.Value) error {
	faults, size, err := n.f.PageTextFaults(ctx, contents, p.Resources, n.budget)
	if err != nil {
		return err
	}
	return n.text(faults, size, fmt.Sprintf("the content of page %d", p.Index+1))
}

// formText looks at the text of a form, an annotation's appearance or a pattern.
func (n *inspector) formText(ctx context.Context, o pdf.Object) error {
	faults, size, err := n.f.StreamTextFaults(ctx, o, n.budget)
	if err != nil {
		return err
	}
	return n.text(faults, size, fmt.Sprintf("stream %d", o.Ref.Num))
}

// text refuses text that some programs show and others do not.
func (n *inspector) text(t pdf.TextFaults, size int64, of string) error {
	n.budget -= size
	switch {
	case t.Font != "":
		return refusal.AmbiguousContent("%s writes in the font %s, which its resources lack", of, safeText(t.Font))
	case t.Operands != "":
		return refusal.AmbiguousContent("%s selects a font by %s instead of a name and a size", of, safeText(t.Operands))
	case t.Mode != "":
		return refusal.AmbiguousContent("%s has the text rendering mode %s, which is none of 0 to 7", of, safeText(t.Mode))
	}
	if t.Unread {
		n.warn(WarnContent, "%s", of)
	}
	return nil
}
