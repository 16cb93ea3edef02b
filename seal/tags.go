package seal

import (
	"fmt"
	"strconv"

	"countersign/pdf"
	"countersign/seal/lang"
)

// tagger extends the structure tree of a tagged original (ISO 32000-2, 14.7), so that screen readers also read the
// added content. It is nil for an untagged original, because PDF readers find the text there without a structure tree.
type tagger struct {
	f       *pdf.File
	w       *pdf.Increment
	ref     pdf.Ref // root of the structure tree
	root    pdf.Dict
	section pdf.Ref // the element that contains the added elements
	key     int64   // next key of the parent tree
	first   int64
	kids    []pdf.Value // the added elements
	parents []pdf.Value // alternating numbers and arrays
}

// newTagger returns a tagger for the original. It returns nil if the original is not tagged or its structure tree is
// invalid, because PDF readers ignore an invalid tree as well.
func newTagger(f *pdf.File, w *pdf.Increment, catalog pdf.Dict) *tagger {
	ref, _ := catalog.Get("StructTreeRoot").Ref() // if the value is not a reference, this is object 0, which does not exist
	root, err := f.Dict(ref.Value())
	if err != nil {
		return nil
	}
	t := &tagger{f: f, w: w, ref: ref, root: root.Clone(), section: w.Reserve()}
	if t.key, err = f.Int(root.Get("ParentTreeNextKey")); err != nil || t.key < 0 {
		if t.key, err = lastKey(f, root.Get("ParentTree")); err != nil {
			return nil
		}
		t.key++
	}
	if _, err := t.children(t.root); err != nil {
		return nil
	}
	t.first = t.key
	return t
}

// lastKey returns the highest key of a number tree (7.9.7), or -1 if the tree is empty.
func lastKey(f *pdf.File, node pdf.Value) (int64, error) {
	for range 32 {
		if node.IsNull() {
			return -1, nil
		}
		d, err := f.Dict(node)
		if err != nil {
			return 0, err
		}
		if nums, err := pdf.ArrayIn(f, d.Get("Nums")); err != nil {
			return 0, err
		} else if len(nums) >= 2 {
			return f.Int(nums[len(nums)-2])
		}
		kids, err := pdf.ArrayIn(f, d.Get("Kids"))
		if err != nil {
			return 0, err
		}
		if len(kids) == 0 {
			return -1, nil
		}
		node = kids[len(kids)-1]
	}
	return 0, fmt.Errorf("%w: number tree", pdf.ErrLimit)
}

// markedContent describes a marked-content sequence by the structure type of its element and, for content other than
// text, its alternative text.
type markedContent struct{ kind, alt string }

// markForValue returns the structure type and alternative text that a screen reader uses to read a value.
func markForValue(labels *lang.Text, v Value, signer string) markedContent {
	switch v.Kind {
	case Signature:
		return markedContent{"Figure", fmt.Sprintf(labels.SignatureOf, signer)}
	case Initial:
		return markedContent{"Figure", fmt.Sprintf(labels.InitialsOf, signer)}
	case Checkbox:
		return markedContent{"Figure", fmt.Sprintf(labels.CheckedBy, signer)}
	case Date, Text:
	}
	return markedContent{kind: "P"}
}

func (m markedContent) begin(b []byte, id int) []byte {
	b = pdf.AppendName(b, m.kind)
	b = append(b, "<</MCID "...)
	b = strconv.AppendInt(b, int64(id), 10)
	return append(b, ">>BDC\n"...)
}

// allocate returns a number for StructParents.
func (t *tagger) allocate() int64 {
	t.key++
	return t.key - 1
}

// appearance is an annotation and the form XObject that it shows, which has a content stream separate from the page's.
type appearance struct{ stream, annotation pdf.Ref }

// add writes the structure elements for the marked-content sequences of a content stream. The argument named of is the
// appearance with that content stream, or nil for the page's own content.
func (t *tagger) add(number int64, page pdf.Ref, of *appearance, marks []markedContent) {
	elements := make([]pdf.Value, len(marks))
	for i, m := range marks {
		content := pdf.Dict{{Key: "Type", Value: pdf.Value("/MCR")}, {Key: "Pg", Value: page.Value()}}
		if of != nil {
			content.Set("Stm", of.stream.Value())
			content.Set("StmOwn", of.annotation.Value())
		}
		content.Set("MCID", pdf.Value(strconv.Itoa(i)))
		d := pdf.Dict{
			{Key: "Type", Value: pdf.Value("/StructElem")},
			{Key: "S", Value: pdf.AppendName(nil, m.kind)},
			{Key: "P", Value: t.section.Value()},
			{Key: "Pg", Value: page.Value()},
			{Key: "K", Value: content.Value()},
		}
		if m.alt != "" {
			d.Set("Alt", pdf.AppendText(nil, m.alt))
		}
		elements[i] = t.w.Add(d.Value()).Value()
	}
	t.kids = append(t.kids, elements...)
	t.parents = append(t.parents, pdf.Value(strconv.FormatInt(number, 10)), pdf.JoinArray(elements))
}

// finish adds the new elements to the structure tree.
func (t *tagger) finish() error {
	if len(t.kids) == 0 {
		return nil
	}
	parent, err := t.attachSection()
	if err != nil {
		return err
	}
	t.w.PutDict(t.section, pdf.Dict{
		{Key: "Type", Value: pdf.Value("/StructElem")},
		{Key: "S", Value: pdf.Value("/Sect")},
		{Key: "P", Value: parent.Value()},
		{Key: "K", Value: pdf.JoinArray(t.kids)},
	})
	if err := t.finishParents(); err != nil {
		return err
	}
	t.root.Set("ParentTreeNextKey", pdf.Value(strconv.FormatInt(t.key, 10)))
	t.w.PutDict(t.ref, t.root)
	return nil
}

// attachSection appends the added section to the children of the document element, which is usually the only child of
// the root (14.8.4). If the root has several children, attachSection appends the section to the root's children
// instead. It returns the section's parent.
func (t *tagger) attachSection() (pdf.Ref, error) {
	top, err := t.children(t.root)
	if err != nil {
		return t.ref, err
	}
	if len(top) == 1 {
		if ref, ok := top[0].Ref(); ok {
			if element, err := t.f.Dict(top[0]); err == nil {
				kids, err := t.children(element)
				if err != nil {
					return ref, err
				}
				element = element.Clone()
				element.Set("K", pdf.JoinArray(append(kids, t.section.Value())))
				t.w.PutDict(ref, element)
				return ref, nil
			}
		}
	}
	t.root.Set("K", pdf.JoinArray(append(top, t.section.Value())))
	return t.ref, nil
}

// children returns the children in K, which can be absent, a single child, or an array.
func (t *tagger) children(d pdf.Dict) ([]pdf.Value, error) {
	k, err := t.f.Resolve(d.Get("K"))
	switch {
	case err != nil || k.IsNull():
		return nil, err
	case k.IsArray():
		return k.Array()
	}
	return []pdf.Value{d.Get("K")}, nil
}

// finishParents appends the new numbers, which are higher than all existing ones, to the parent tree.
func (t *tagger) finishParents() error {
	tree, err := pdf.OptionalDict(t.f, t.root.Get("ParentTree"))
	if err != nil {
		return err
	}
	isNew := tree == nil
	tree = tree.Clone()
	if tree.Get("Kids") != nil {
		kids, err := t.f.Array(tree.Get("Kids"))
		if err != nil {
			return err
		}
		leaf := t.w.Add(pdf.Dict{
			{Key: "Limits", Value: fmt.Appendf(nil, "[%d %d]", t.first, t.key-1)},
			{Key: "Nums", Value: pdf.JoinArray(t.parents)},
		}.Value())
		tree.Set("Kids", pdf.JoinArray(append(kids, leaf.Value())))
	} else {
		nums, err := pdf.ArrayIn(t.f, tree.Get("Nums"))
		if err != nil {
			return err
		}
		tree.Set("Nums", pdf.JoinArray(append(nums, t.parents...)))
	}
	if ref, ok := t.root.Get("ParentTree").Ref(); ok && !isNew {
		t.w.PutDict(ref, tree)
	} else {
		t.root.Set("ParentTree", t.w.Add(tree.Value()).Value())
	}
	return nil
}
