package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
	"countersign/seal"
)

// object reads the members of a JSON object. It records missing members and wrong types by JSON path, so that one
// response can report all errors.
type object struct {
	m    map[string]any
	path string // path prefix, such as "" or "signers[0]."
	p    models.Problems
}

// readObject reads a JSON object from the request body. An optional body may be empty or null.
func readObject(c *gin.Context, optional bool) (*object, error) {
	body, err := readJSON(c)
	if err != nil {
		return nil, err
	}
	return bodyObject(c, body, optional)
}

// bodyObject parses a JSON object from a body that was already read.
func bodyObject(c *gin.Context, body []byte, optional bool) (*object, error) {
	text := bytes.TrimSpace(body)
	none := &object{m: map[string]any{}, p: models.Problems{}}
	if optional && len(text) == 0 {
		return none, nil
	}
	if t, _, err := mime.ParseMediaType(c.ContentType()); err == nil && t != "application/json" && !strings.HasSuffix(t, "+json") {
		return nil, models.Reject(models.KindInvalid, "content_type", "The body must be application/json, not %s.", t)
	}
	if optional && string(text) == "null" {
		return none, nil
	}
	return parseObject(body, "")
}

// readObjects reads a body that contains either one object or an array of objects. The parameter most is the maximum
// number of objects. Problems are recorded under the paths name[0], name[1] and so on.
func readObjects(c *gin.Context, name string, most int) (objects []*object, listed bool, err error) {
	body, err := readJSON(c)
	if err != nil {
		return nil, false, err
	}
	if t := bytes.TrimLeft(body, " \t\r\n"); len(t) == 0 || t[0] != '[' {
		o, err := bodyObject(c, body, false)
		return []*object{o}, false, err
	}
	v, err := parseJSON(body, "")
	if err != nil {
		return nil, true, err
	}
	o := &object{m: map[string]any{name: v}, p: models.Problems{}}
	objects = o.objects(name, 1, most)
	return objects, true, o.err()
}

func parseObject(body []byte, name string) (*object, error) {
	v, err := parseJSON(body, name)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, models.Reject(models.KindInvalid, "invalid_json", "%s must be a JSON object.", partName(name))
	}
	return &object{m: m, p: models.Problems{}}, nil
}

func parseJSON(body []byte, name string) (any, error) {
	if !utf8.Valid(body) {
		return nil, models.Reject(models.KindInvalid, "invalid_json", "%s is not valid UTF-8.", partName(name))
	}
	var n jsonScanner
	n.scan(body)
	if err := n.check(name); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		at := int64(len(body)) // position of the error if the text ends prematurely
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		return nil, models.Reject(models.KindInvalid, "invalid_json", "%s is not valid JSON (at byte %d).", partName(name), at)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, models.Reject(models.KindInvalid, "invalid_json", "%s contains more than one JSON value.", partName(name))
	}
	return v, nil
}

func partName(name string) string {
	if name == "" {
		return "The body"
	}
	return "The part " + name
}

// get returns a member, or nil if it is absent or null.
func (o *object) get(name string) any { return o.m[name] }

// has reports whether the member is present, even if it is null.
func (o *object) has(name string) bool { _, ok := o.m[name]; return ok }

// present returns the subset of names whose members are present.
func (o *object) present(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !o.has(name) })
}

func (o *object) bad(name, format string, args ...any) { o.p.Add(o.path+name, format, args...) }

// member returns an optional member of type T, or nil if it is absent or has another type.
func member[T any](o *object, name, must string) *T {
	switch v := o.get(name).(type) {
	case nil:
	case T:
		return &v
	default:
		o.bad(name, "%s", must)
	}
	return nil
}

// required dereferences the value of a member, and records a problem if the member is absent.
func required[T any](o *object, name string, v *T) T {
	if v == nil && o.get(name) == nil {
		o.bad(name, "is required")
	}
	return models.Deref(v, *new(T))
}

// str returns a required string.
func (o *object) str(name string) string { return required(o, name, o.optStr(name)) }

func (o *object) optStr(name string) *string { return member[string](o, name, "must be a string") }

// text returns an optional string, or "" if it is absent.
func (o *object) text(name string) string { return models.Deref(o.optStr(name), "") }

// strippedText returns an optional string without invisible characters, which users may paste by accident.
func (o *object) strippedText(name string) *string {
	text := o.optStr(name)
	if text == nil {
		return nil
	}
	return new(plaintext.Visible(*text))
}

// num returns a required number.
func (o *object) num(name string) float64 {
	n := member[json.Number](o, name, "must be a number")
	if n == nil {
		return required[float64](o, name, nil)
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		o.bad(name, "must be a number within the range of a 64-bit float")
		return 0
	}
	return f
}

// numOr returns an optional number, or the given default if the member is absent.
func (o *object) numOr(name string, otherwise float64) float64 {
	if o.get(name) == nil {
		return otherwise
	}
	return o.num(name)
}

// optTime returns an optional RFC 3339 time.
func (o *object) optTime(name string) *time.Time {
	text := o.optStr(name)
	if text == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339, *text)
	if err != nil {
		o.bad(name, notATime)
		return nil
	}
	return &t
}

const notATime = "must be a time such as 2026-11-21T07:00:00Z"

func (o *object) optInt(name string) *int {
	const must = "must be a whole number"
	n := member[json.Number](o, name, must)
	if n == nil {
		return nil
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		o.bad(name, must)
		return nil
	}
	return new(int(f))
}

// int returns a required integer.
func (o *object) int(name string) int { return required(o, name, o.optInt(name)) }

// flag returns an optional Boolean, or the given default if the member is absent.
func (o *object) flag(name string, otherwise bool) bool {
	return models.Deref(member[bool](o, name, "must be true or false"), otherwise)
}

// id returns a required UUID.
func (o *object) id(name string) uuid.UUID {
	text := o.optStr(name)
	if text == nil {
		return required[uuid.UUID](o, name, nil)
	}
	id, err := uuid.Parse(*text)
	if err != nil || len(*text) != 36 {
		o.bad(name, "must be a UUID")
	}
	return id
}

func (o *object) optID(name string) *uuid.UUID {
	if o.get(name) == nil {
		return nil
	}
	return new(o.id(name))
}

// list returns an array of minLen to maxLen items.
func (o *object) list(name string, minLen, maxLen int) []any {
	v, ok := o.get(name).([]any)
	switch {
	case o.get(name) == nil && minLen > 0:
		o.bad(name, "is required")
	case o.get(name) == nil:
	case !ok:
		o.bad(name, "must be an array")
	case len(v) < minLen:
		o.bad(name, "must have at least %d item(s)", minLen)
	case len(v) > maxLen:
		o.bad(name, "must have at most %d items", maxLen)
		return nil
	}
	return v
}

func indexedPath(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

// objects returns an array of minLen to maxLen objects.
func (o *object) objects(name string, minLen, maxLen int) []*object {
	var out []*object
	for i, v := range o.list(name, minLen, maxLen) {
		path := o.path + indexedPath(name, i)
		m, ok := v.(map[string]any)
		if !ok {
			o.p.Add(path, "must be an object")
			continue
		}
		out = append(out, &object{m: m, path: path + ".", p: o.p})
	}
	return out
}

// sub returns an optional object, or nil if it is absent or not an object.
func (o *object) sub(name string) *object {
	m := member[map[string]any](o, name, "must be an object")
	if m == nil {
		return nil
	}
	return &object{m: *m, path: o.path + name + ".", p: o.p}
}

// badUnder reports whether a problem was recorded for the member or for a member inside it.
func (o *object) badUnder(name string) bool {
	for path := range o.p {
		rest, ok := strings.CutPrefix(path, o.path+name)
		if ok && (rest == "" || rest[0] == '[' || rest[0] == '.') {
			return true
		}
	}
	return false
}

// reject records a problem for each named member that is present and not null.
func (o *object) reject(problem string, names ...string) {
	for _, name := range names {
		if o.get(name) != nil {
			o.bad(name, "%s", problem)
		}
	}
}

// lineEnds replaces each CRLF and CR with LF, the line ending used in documents.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// checkDrawable records a problem if text cannot be drawn in a document.
func (o *object) checkDrawable(name, text string) {
	if err := seal.CheckText(text); err != nil {
		o.bad(name, "%s", err.Error())
	}
}

// err returns the problems recorded so far.
func (o *object) err() error { return o.p.Err() }

// withBody returns a handler that reads a JSON object from the request body and passes it to h.
func withBody[T any](h func(*gin.Context, T, *object) error) func(*gin.Context, T) error {
	return bodyHandler(h, false)
}

// withOptionalBody is like withBody, but the body may be empty.
func withOptionalBody[T any](h func(*gin.Context, T, *object) error) func(*gin.Context, T) error {
	return bodyHandler(h, true)
}

func bodyHandler[T any](h func(*gin.Context, T, *object) error, optional bool) func(*gin.Context, T) error {
	return func(c *gin.Context, who T) error {
		o, err := readObject(c, optional)
		if err != nil {
			return err
		}
		return h(c, who, o)
	}
}

type jsonNumber = json.Number

// secretOverlap reads the period for which a replaced secret remains valid. The parameters otherwise and most are the
// default and the maximum, in hours.
func secretOverlap(o *object, otherwise, most int) time.Duration {
	hours := models.Deref(o.optInt("overlapHours"), otherwise)
	if hours < 0 || hours > most {
		o.bad("overlapHours", "must be between 0 and %d", most)
	}
	return time.Duration(hours) * time.Hour
}
