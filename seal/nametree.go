package seal

import (
	"fmt"
	"slices"

	"countersign/seal/pdf"
)

// insertName puts a key into a name tree (ISO 32000-2, 7.9.6) and returns the
// new root node. Nodes that are objects of their own are written anew.
func insertName(f *pdf.File, w *pdf.Increment, node pdf.Value, key string, v pdf.Value, depth int) (pdf.Value, error) {
	written := pdf.Value(pdf.AppendHex(nil, []byte(key)))
	if depth > 32 {
		return nil, fmt.Errorf("%w: name tree", pdf.ErrLimit)
	}
	var d pdf.Dict
	resolved, err := resolve(f, node)
	if err != nil {
		return nil, err
	}
	if resolved.IsDict() {
		if d, err = resolved.Dict(); err != nil {
			return nil, err
		}
	}
	switch {
	case d.Get("Kids") != nil:
		err = insertIntoKids(f, w, &d, key, v, depth)
	case d.Get("Names") != nil:
		err = insertIntoLeaf(f, &d, key, written, v)
	default:
		d.Set("Names", joinArray([]pdf.Value{written, v}))
	}
	if err != nil {
		return nil, err
	}
	if limits, err := arrayOf(f, d.Get("Limits")); err == nil && len(limits) == 2 {
		if lo, ok := limits[0].Bytes(); ok && key < string(lo) {
			limits[0] = written
		}
		if hi, ok := limits[1].Bytes(); ok && key > string(hi) {
			limits[1] = written
		}
		d.Set("Limits", joinArray(limits))
	}
	if ref, ok := node.Ref(); ok {
		w.PutDict(ref, d)
		return node, nil
	}
	return d.Value(), nil
}

func insertIntoLeaf(f *pdf.File, d *pdf.Dict, key string, written, v pdf.Value) error {
	names, err := arrayOf(f, d.Get("Names"))
	if err != nil {
		return err
	}
	at := len(names)
	for i := 0; i+1 < len(names); i += 2 {
		if k, ok := names[i].Bytes(); ok && string(k) > key {
			at = i
			break
		}
	}
	d.Set("Names", joinArray(slices.Insert(names, at, written, v)))
	return nil
}

func insertIntoKids(f *pdf.File, w *pdf.Increment, d *pdf.Dict, key string, v pdf.Value, depth int) error {
	kids, err := f.Array(d.Get("Kids"))
	if err != nil || len(kids) == 0 {
		return fmt.Errorf("%w: name tree", pdf.ErrDamaged)
	}
	at := len(kids) - 1
	for i, k := range kids {
		kid, err := f.Dict(k)
		if err != nil {
			return err
		}
		limits, err := arrayOf(f, kid.Get("Limits"))
		if err != nil || len(limits) != 2 {
			continue
		}
		if hi, ok := limits[1].Bytes(); ok && key <= string(hi) {
			at = i
			break
		}
	}
	if kids[at], err = insertName(f, w, kids[at], key, v, depth+1); err != nil {
		return err
	}
	d.Set("Kids", joinArray(kids))
	return nil
}

// resolve follows references; a document in the making (nil) has none to follow.
func resolve(f *pdf.File, v pdf.Value) (pdf.Value, error) {
	if f == nil {
		return v, nil
	}
	return f.Resolve(v)
}

// arrayOf returns the elements of an array, none for null.
func arrayOf(f *pdf.File, v pdf.Value) ([]pdf.Value, error) {
	v, err := resolve(f, v)
	if err != nil || v.IsNull() {
		return nil, err
	}
	return v.Array()
}

// findName looks a key up in a name tree, wherever in it the key stands.
func findName(f *pdf.File, root pdf.Value, key string) (pdf.Value, error) {
	const maxNodes = 10_000
	nodes := []pdf.Value{root}
	for visited := 0; len(nodes) > 0; visited++ {
		if visited > maxNodes {
			return nil, fmt.Errorf("%w: name tree", pdf.ErrLimit)
		}
		d, err := f.Dict(nodes[0])
		if err != nil {
			return nil, err
		}
		nodes = nodes[1:]
		names, err := arrayOf(f, d.Get("Names"))
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(names); i += 2 {
			if k, ok := names[i].Bytes(); ok && string(k) == key {
				return names[i+1], nil
			}
		}
		kids, err := arrayOf(f, d.Get("Kids"))
		if err != nil || len(kids)+len(nodes) > maxNodes {
			return nil, fmt.Errorf("%w: name tree", pdf.ErrDamaged)
		}
		nodes = append(nodes, kids...)
	}
	return nil, nil //nolint:nilnil // not found is an answer
}

func joinArray(v []pdf.Value) pdf.Value {
	b := []byte{'['}
	for i, e := range v {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, e...)
	}
	return append(b, ']')
}
