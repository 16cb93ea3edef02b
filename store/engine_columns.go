package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// column is a column of a row. Its value is a pointer to the model's field, which SELECT statements write and other
// statements read.
type column struct {
	name  string
	value any
}

func (c column) arg() any {
	if v, ok := c.value.(inJSON); ok {
		return v
	}
	return reflect.ValueOf(c.value).Elem().Interface()
}

// inJSON stores a value as JSON. A null value is stored as NULL. If optional is set, an empty object is also stored as
// NULL.
type inJSON struct {
	value    any
	optional bool
}

// Value implements driver.Valuer.
func (j inJSON) Value() (driver.Value, error) {
	text, err := json.Marshal(j.value)
	if err != nil || string(text) == "null" || j.optional && string(text) == "{}" {
		return nil, err
	}
	return string(text), nil
}

// Scan implements sql.Scanner.
func (j inJSON) Scan(src any) error {
	switch text := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), j.value)
	case []byte:
		return json.Unmarshal(text, j.value)
	}
	return fmt.Errorf("store: JSON in a %T", src)
}

// selection is the beginning of a table's SELECT statement, and the columns into which its rows are scanned.
type selection[T any] struct {
	columns func(*T) []column
	query   string // everything before the condition
}

func selectionOf[T any](table string, columns func(*T) []column) selection[T] {
	return selection[T]{columns, "SELECT " + strings.Join(namesOf(columns(new(T))), ", ") + " FROM " + table + " WHERE "}
}

// selectRows adds a query whose rows are appended to out.
func selectRows[T any](b *batch, out *[]*T, from selection[T], where string, args ...any) {
	b.query(func(r row) error {
		v := new(T)
		*out = append(*out, v)
		return r.Scan(mapSlice(from.columns(v), func(c column) any { return c.value })...)
	}, from.query+where, args...)
}

func namesOf(columns []column) []string {
	return mapSlice(columns, func(c column) string { return c.name })
}

// placeholders returns n parameters, numbered from after+1.
func placeholders(after, n int) string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, "$"+strconv.Itoa(after+i+1))
	}
	return strings.Join(out, ", ")
}

// without returns the columns except those with the given names.
func without(columns []column, names []string) []column {
	return slices.DeleteFunc(columns, func(c column) bool { return slices.Contains(names, c.name) })
}

func inList(ids []uuid.UUID) (in string, args []any) {
	for _, id := range ids {
		args = append(args, id)
	}
	return "IN (" + placeholders(0, len(ids)) + ")", args
}
