package store

import (
	"reflect"
	"slices"
	"sync"

	"github.com/google/uuid"

	"countersign/models"
)

// Changes to a loaded envelope are detected by comparison with the loaded values. A function can modify a map, a slice
// or the target of a pointer without assigning the field.

// loadedState is a copy of the loaded state of an envelope. It shares no memory with the envelope that a change
// modifies.
type loadedState struct {
	envelope  models.Envelope
	signers   map[uuid.UUID]models.Signer
	fields    map[uuid.UUID]models.Field
	documents map[uuid.UUID]models.Document
}

func newLoadedState(e *models.Envelope) *loadedState {
	return &loadedState{envelope: clone(e), signers: copiesByID(e.Recipients()), fields: copiesByID(e.Fields), documents: copiesByID(e.Documents)}
}

func copiesByID[T identified](rows []*T) map[uuid.UUID]T {
	out := make(map[uuid.UUID]T, len(rows))
	for _, v := range rows {
		out[idOf(v)] = clone(v)
	}
	return out
}

// clone copies a row and everything its stored fields refer to. Fields that are not columns, such as the signers of an
// envelope, are not copied.
func clone[T any](row *T) T {
	out := *row
	v := reflect.ValueOf(&out).Elem()
	for _, i := range referring(v.Type()) {
		cloneInto(v.Field(i))
	}
	return out
}

func cloneInto(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			to := reflect.New(v.Type().Elem())
			to.Elem().Set(v.Elem())
			cloneInto(to.Elem())
			v.Set(to)
		}
	case reflect.Slice:
		if !v.IsNil() {
			to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(to, v)
			if containsReferences(v.Type().Elem()) {
				for i := range to.Len() {
					cloneInto(to.Index(i))
				}
			}
			v.Set(to)
		}
	case reflect.Map:
		if !v.IsNil() {
			to := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				own := reflect.New(value.Type()).Elem()
				own.Set(value)
				cloneInto(own)
				to.SetMapIndex(key, own)
			}
			v.Set(to)
		}
	case reflect.Struct:
		for _, i := range referring(v.Type()) {
			cloneInto(v.Field(i))
		}
	}
}

// referringMembers caches the results of referring.
var referringMembers sync.Map

// referring returns the indexes of the stored fields of a struct that contain references.
func referring(t reflect.Type) []int {
	if known, ok := referringMembers.Load(t); ok {
		members, _ := known.([]int)
		return members
	}
	var members []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("gorm") != "-" && containsReferences(f.Type) {
			members = append(members, i)
		}
	}
	referringMembers.Store(t, members)
	return members
}

// containsReferences reports whether values of a type contain references.
func containsReferences(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	case reflect.Struct:
		return len(referring(t)) > 0
	}
	return false
}

// unchanged reports whether a change modified no stored field and recorded no event. An envelope is loaded without
// events and values.
func unchanged(e *models.Envelope, b *loadedState) bool {
	return reflect.DeepEqual(*e, b.envelope) &&
		same(e.Recipients(), b.signers) && same(e.Fields, b.fields) && same(e.Documents, b.documents)
}

func same[T identified](rows []*T, old map[uuid.UUID]T) bool {
	if len(rows) != len(old) {
		return false
	}
	for _, v := range rows {
		if was, ok := old[idOf(v)]; !ok || !reflect.DeepEqual(*v, was) {
			return false
		}
	}
	return true
}

// identified is a constraint for the types of an envelope's parts.
type identified interface {
	models.Signer | models.Document | models.Field
}

func idOf[T identified](v *T) uuid.UUID {
	switch v := any(v).(type) {
	case *models.Signer:
		return v.ID
	case *models.Document:
		return v.ID
	case *models.Field:
		return v.ID
	}
	return uuid.Nil
}

// saveRows adds statements to the batch that insert new rows and update changed rows. An update assigns only the changed columns.
// Most columns are usually unchanged, and encrypting the same value twice gives different results.
func saveRows[T identified](s *engine, b *batch, table string, rows []*T, old map[uuid.UUID]T, columns func(*T) []column) {
	var added [][]column
	for _, v := range rows {
		was, ok := old[idOf(v)]
		if !ok {
			added = append(added, columns(encrypt(s, v)))
		} else if changed := changedColumns(columns(v), columns(&was)); len(changed) > 0 {
			stored := columns(encrypt(s, v))
			b.update(table, stored[:1], pick(stored, changed))
		}
	}
	b.insert(table, "", added...)
}

// changedColumns returns the indexes of the columns whose values differ from the loaded ones.
func changedColumns(columns, loaded []column) (at []int) {
	for i, c := range columns {
		if !reflect.DeepEqual(c.value, loaded[i].value) {
			at = append(at, i)
		}
	}
	return at
}

func pick(columns []column, at []int) []column {
	return mapSlice(at, func(i int) column { return columns[i] })
}

// removeRows adds the deletion of everything that was removed from a draft. It also removes a deleted draft from the
// search table.
func removeRows(b *batch, e *models.Envelope, was *loadedState) {
	remove(b, "fields", e.Fields, was.fields) // first, because fields refer to signers
	remove(b, "signers", e.Recipients(), was.signers)
	remove(b, "documents", e.Documents, was.documents)
	if e.Status == models.StatusDeleted {
		b.exec("DELETE FROM envelope_search WHERE envelope_id = $1", e.ID)
	}
}

// freeOrderNumbers assigns temporary order numbers to documents that are being reordered. Otherwise, two documents of
// an envelope would briefly have the same number, which the database rejects.
func freeOrderNumbers(b *batch, e *models.Envelope, was *loadedState) {
	for _, d := range e.Documents {
		if old, ok := was.documents[d.ID]; ok && old.Order != d.Order {
			b.exec("UPDATE documents SET document_order = -document_order WHERE id = $1", d.ID)
		}
	}
}

// searchChanged reports whether the values by which the envelope can be found have changed.
func searchChanged(e *models.Envelope, was *loadedState) bool {
	if e.Status == models.StatusDeleted {
		return false
	}
	if !equalText(e.Subject, was.envelope.Subject) || len(e.Recipients()) != len(was.signers) {
		return true
	}
	return slices.ContainsFunc(e.Recipients(), func(s *models.Signer) bool {
		old, ok := was.signers[s.ID]
		return !ok || old.Name != s.Name || old.Email != s.Email
	})
}

func remove[T identified](b *batch, table string, rows []*T, old map[uuid.UUID]T) {
	if len(old) == 0 {
		return
	}
	current := setOf(mapSlice(rows, idOf[T]))
	var removed []uuid.UUID
	for id := range old {
		if !current[id] {
			removed = append(removed, id)
		}
	}
	for page := range slices.Chunk(removed, insertPage) {
		in, args := inList(page)
		b.exec("DELETE FROM "+table+" WHERE id "+in, args...)
	}
}
