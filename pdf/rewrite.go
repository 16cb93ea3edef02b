package pdf

import (
	"fmt"
	"io"
	"strconv"
)

// Rewrite writes the newest version of every object to a new document with a single revision. The argument edit is a
// function that returns the new value of an object, without the data of a stream, and reports whether to keep the
// object. The argument id becomes both parts of the file identifier. The argument added contains new objects that are
// not streams.
func Rewrite(f *File, id []byte, edit func(o Object) (Value, bool, error), added ...Object) ([]byte, error) {
	w := NewDocument()
	err := f.Objects(func(o Object) error {
		v, keep, err := edit(o)
		if err != nil || !keep {
			return err
		}
		w.next = max(w.next, o.Ref.Num+1)
		if !o.IsStream() {
			w.Put(o.Ref, v)
			return nil
		}
		return w.putStream(f, o, v)
	})
	if err != nil {
		return nil, err
	}
	for _, o := range added {
		w.next = max(w.next, o.Ref.Num+1)
		w.Put(o.Ref, o.Value)
	}
	_, root, err := f.Catalog()
	if err != nil {
		return nil, err
	}
	var info *Ref
	if ref, ok := f.trailer.Get("Info").Ref(); ok {
		info = &ref
	}
	if err := w.Finish(root, info, id); err != nil {
		return nil, err
	}
	return w.Bytes(), nil
}

// putStream writes a stream of a file with a new dictionary.
func (w *Increment) putStream(f *File, o Object, v Value) error {
	d, err := v.Dict()
	if err != nil {
		return err
	}
	size, err := f.StreamLength(o)
	if err != nil {
		return err
	}
	raw, err := f.StreamRaw(o)
	if err != nil {
		return err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(raw, data); err != nil {
		return fmt.Errorf("pdf: read stream %d: %w", o.Ref.Num, err)
	}
	d.Set("Length", Value(strconv.FormatInt(size, 10)))
	w.Begin(o.Ref)
	w.buf = d.Append(w.buf)
	w.buf = append(w.buf, "\nstream\n"...)
	w.buf = append(w.buf, data...)
	w.buf = append(w.buf, "\nendstream"...)
	w.End()
	return nil
}
