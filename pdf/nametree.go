package pdf

import (
	"fmt"
	"slices"
)

// InsertNames inserts entries into a name tree (ISO 32000-2, 7.9.6) and returns the new root node. Each changed node
// that is an indirect object is rewritten only once, so all entries must be inserted in one call.
func InsertNames(f *File, w *Increment, root Value, entries []Entry) (Value, error) {
	t := treeWriter{changed: map[Ref]Dict{}}
	if v, err := ResolveIn(f, root); err != nil {
		return nil, err
	} else if v.IsNull() {
		root = nil // a missing object cannot be rewritten
	}
	for _, e := range entries {
		t.treeReader = treeReader{f: f, seen: map[Ref]bool{}}
		t.key, t.written, t.value = e.Key, AppendHex(nil, []byte(e.Key)), e.Value
		d, err := t.node(root)
		if err != nil {
			return nil, err
		}
		if root, err = t.insert(root, d, 0); err != nil {
			return nil, err
		}
	}
	for _, ref := range t.order {
		w.PutDict(ref, t.changed[ref])
	}
	return root, nil
}

// treeWriter inserts keys one at a time.
type treeWriter struct {
	treeReader
	changed        map[Ref]Dict // changed nodes that are indirect objects
	order          []Ref        // order in which changed nodes are written
	key            string       // key being inserted
	written, value Value
}

// node returns the current state of a node.
func (t *treeWriter) node(v Value) (Dict, error) {
	if ref, ok := v.Ref(); ok {
		if d, ok := t.changed[ref]; ok {
			return d, nil
		}
	}
	return t.treeReader.node(v)
}

// insert inserts the key below a node that has been read.
func (t *treeWriter) insert(node Value, d Dict, depth int) (Value, error) {
	if depth > maxNameDepth {
		return nil, fmt.Errorf("%w: name tree", ErrLimit)
	}
	d = d.Clone()
	var err error
	switch {
	case d.Get("Kids") != nil:
		err = t.intoKids(&d, depth)
	case d.Get("Names") != nil:
		err = t.intoLeaf(&d)
	default:
		d.Set("Names", JoinArray([]Value{t.written, t.value}))
	}
	if err != nil {
		return nil, err
	}
	if limits, err := ArrayIn(t.f, d.Get("Limits")); err == nil && len(limits) == 2 {
		if lo, ok := limits[0].Bytes(); ok && t.key < string(lo) {
			limits[0] = t.written
		}
		if hi, ok := limits[1].Bytes(); ok && t.key > string(hi) {
			limits[1] = t.written
		}
		d.Set("Limits", JoinArray(limits))
	}
	if ref, ok := node.Ref(); ok {
		if t.changed[ref] == nil {
			t.order = append(t.order, ref)
		}
		t.changed[ref] = d
		return node, nil
	}
	return d.Value(), nil
}

func (t *treeWriter) intoLeaf(d *Dict) error {
	names, err := t.array(d.Get("Names"))
	if err != nil {
		return err
	}
	at := len(names) / 2 * 2 // ignore a final key without a value
	for i := 0; i+1 < len(names); i += 2 {
		if k, ok := names[i].Bytes(); ok && string(k) > t.key {
			at = i
			break
		}
	}
	d.Set("Names", JoinArray(slices.Insert(names[:len(names)/2*2], at, t.written, t.value)))
	return nil
}

func (t *treeWriter) intoKids(d *Dict, depth int) error {
	kids, err := t.array(d.Get("Kids"))
	if err != nil {
		return err
	}
	if len(kids) == 0 {
		return fmt.Errorf("%w: name tree", ErrDamaged)
	}
	var kid Dict
	at := len(kids) - 1
	for i, k := range kids {
		if kid, err = t.node(k); err != nil {
			return err
		}
		limits, err := ArrayIn(t.f, kid.Get("Limits"))
		if err != nil || len(limits) != 2 {
			continue
		}
		if hi, ok := limits[1].Bytes(); ok && t.key <= string(hi) {
			at = i
			break
		}
	}
	if kids[at], err = t.insert(kids[at], kid, depth+1); err != nil {
		return err
	}
	d.Set("Kids", JoinArray(kids))
	return nil
}

// ResolveIn is like ResolvePlain, but f may be nil for a new document, which has no references.
func ResolveIn(f *File, v Value) (Value, error) {
	if f == nil {
		return v, nil
	}
	return f.ResolvePlain(v)
}

// ArrayIn returns the elements of an array, or nil for null.
func ArrayIn(f *File, v Value) ([]Value, error) {
	v, err := ResolveIn(f, v)
	if err != nil || v.IsNull() {
		return nil, err
	}
	return v.Array()
}

// OptionalDict resolves v and returns it as a dictionary, or nil if it is not a dictionary.
func OptionalDict(f *File, v Value) (Dict, error) {
	v, err := f.ResolvePlain(v)
	if err != nil || !v.IsDict() {
		return nil, err
	}
	return v.Dict()
}

// IsStream reports whether v refers to a stream.
func IsStream(f *File, v Value) (bool, error) {
	ref, ok := v.Ref()
	if !ok {
		return false, nil
	}
	o, err := f.Object(ref)
	return err == nil && o.IsStream(), err
}

// WalkNames calls visit for each key of a name tree (ISO 32000-2, 7.9.6).
func WalkNames(f *File, root Value, visit func(key, v Value) error) error {
	t := treeReader{f: f, seen: map[Ref]bool{}}
	return t.walk(root, visit, 0)
}

// treeReader reads name trees at a limited cost. It reads each node only once, and limits the total size of nodes and
// keys.
type treeReader struct {
	f    *File
	seen map[Ref]bool
	cost int // bytes read so far
}

const (
	maxNameDepth = 32
	maxNameBytes = 16 << 20
)

// read resolves part of a tree and counts its bytes.
func (t *treeReader) read(v Value) (Value, error) {
	if ref, ok := v.Ref(); ok {
		if t.seen[ref] {
			return nil, fmt.Errorf("%w: name tree: object %d occurs twice", ErrDamaged, ref.Num)
		}
		t.seen[ref] = true
	}
	return t.resolve(v)
}

// resolve follows references and counts the bytes of the result.
func (t *treeReader) resolve(v Value) (Value, error) {
	v, err := ResolveIn(t.f, v)
	if err != nil {
		return nil, err
	}
	if t.cost += len(v); t.cost > maxNameBytes {
		return nil, fmt.Errorf("%w: name tree", ErrLimit)
	}
	return v, nil
}

func (t *treeReader) node(v Value) (Dict, error) { return readAs(t, v, Value.Dict) }

func (t *treeReader) array(v Value) ([]Value, error) { return readAs(t, v, Value.Array) }

func readAs[T any](t *treeReader, v Value, as func(Value) (T, error)) (T, error) {
	var none T
	v, err := t.read(v)
	if err != nil || v.IsNull() {
		return none, err
	}
	part, err := as(v)
	if err != nil {
		return none, fmt.Errorf("%w: name tree: %w", ErrDamaged, err)
	}
	return part, nil
}

// walk calls visit for each key below a node, in order.
func (t *treeReader) walk(v Value, visit func(key, value Value) error, depth int) error {
	if depth > maxNameDepth {
		return fmt.Errorf("%w: name tree", ErrLimit)
	}
	d, err := t.node(v)
	if err != nil {
		return err
	}
	names, err := t.array(d.Get("Names"))
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(names); i += 2 {
		key := names[i]
		if _, ok := key.Ref(); ok { // a direct key was counted with its node
			if key, err = t.resolve(key); err != nil {
				return err
			}
		}
		if err := visit(key, names[i+1]); err != nil {
			return err
		}
	}
	kids, err := t.array(d.Get("Kids"))
	if err != nil {
		return err
	}
	for _, k := range kids {
		if err := t.walk(k, visit, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// JoinArray returns an array with the given elements.
func JoinArray(v []Value) Value {
	b := []byte{'['}
	for i, e := range v {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, e...)
	}
	return append(b, ']')
}
