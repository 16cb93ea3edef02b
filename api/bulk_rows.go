package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"countersign/models"
)

const (
	// maxBulkBody is the maximum size of the body of a bulk send request, in bytes.
	maxBulkBody = 32 << 20
	// maxBulkRow is the maximum size of a JSON row, and of each other member of the body, in bytes.
	maxBulkRow = maxJSON
)

// bulkRows is an iterator over the rows in a request. It returns each row as a JSON object.
type bulkRows interface {
	// next returns the next row and its number, or io.EOF after the last row.
	next(row int, faults *bulkFaults) (map[string]any, error)
	// column returns the name of the column for a fault at the given JSON path in the row.
	column(path string, m map[string]any) string
}

// jsonRows reads JSON rows, one at a time. Every row is parsed twice. The first pass determines the number of rows, and
// reads the members that follow the rows.
type jsonRows struct {
	body   io.ReadSeeker
	start  int64 // offset of the first row in the body
	count  int
	source *allowance
	dec    *json.Decoder // nil before the first row is read
	raw    json.RawMessage
}

// rowAllowance is the maximum number of bytes read for one row and its separator.
const rowAllowance = maxBulkRow + 4<<10

func (r *jsonRows) next(row int, faults *bulkFaults) (map[string]any, error) {
	if r.dec == nil {
		if _, err := r.body.Seek(r.start, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		r.source = &allowance{r: io.MultiReader(strings.NewReader("["), r.body), left: rowAllowance}
		r.dec = json.NewDecoder(r.source)
		if _, err := r.dec.Token(); err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
	}
	if row > r.count {
		return nil, io.EOF
	}
	r.source.left = rowAllowance
	r.raw = r.raw[:0]
	if err := r.dec.Decode(&r.raw); err != nil { // unexpected, because the first pass succeeded
		return nil, fmt.Errorf("read rows: %w", err)
	}
	v, err := parseJSON(r.raw, "")
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		faults.add(row, "", "must be an object")
		return map[string]any{}, nil
	}
	return m, nil
}

func (r *jsonRows) column(path string, _ map[string]any) string { return path }

// bulkBody reads the JSON body of a bulk send request.
type bulkBody struct {
	source *allowance
	dec    *json.Decoder
	raw    json.RawMessage
}

func (b *bulkBody) invalid() error {
	return models.Reject(models.KindInvalid, "invalid_json", "The body is not a valid JSON object (at byte %d).", b.dec.InputOffset())
}

// token reads the next token, which is a name or a delimiter.
func (b *bulkBody) token() (json.Token, error) {
	b.source.left = rowAllowance
	return b.dec.Token()
}

func (b *bulkBody) more() bool {
	b.source.left = rowAllowance
	return b.dec.More()
}

// value reads a value of at most maxBulkRow bytes into b.raw. If the value is larger, it returns an error for the
// member identified by the parameter what.
func (b *bulkBody) value(what string) error {
	b.source.left = rowAllowance
	b.raw = b.raw[:0]
	err := b.dec.Decode(&b.raw)
	if errors.Is(err, errAllowance) || err == nil && len(b.raw) > maxBulkRow {
		return models.InvalidField(what, "is larger than %d bytes", maxBulkRow)
	}
	if err != nil {
		return b.invalid()
	}
	return nil
}

// readBulkObject parses a JSON body. It returns the members except for the rows, and a reader for the rows. It rejects
// a body with too many rows as early as possible.
func readBulkObject(body io.ReadSeeker) (*object, *jsonRows, error) {
	source := &allowance{r: body}
	b := &bulkBody{source: source, dec: json.NewDecoder(source)}
	if t, err := b.token(); err != nil || t != json.Delim('{') {
		return nil, nil, b.invalid()
	}
	o, rows := &object{m: make(map[string]any), p: models.Problems{}}, &jsonRows{body: body}
	for b.more() {
		name, err := b.token()
		if err != nil {
			return nil, nil, b.invalid()
		}
		if name == "rows" {
			if o.has("rows") {
				return nil, nil, models.InvalidField("rows", "must occur only once")
			}
			o.m["rows"] = true
			if err := rows.find(b, o); err != nil {
				return nil, nil, err
			}
			continue
		}
		text, _ := name.(string)
		if err := unknownBulkMember(text); err != nil {
			return nil, nil, err
		}
		if o.has(text) {
			return nil, nil, models.InvalidField(text, "must occur only once")
		}
		if err := b.value(text); err != nil {
			return nil, nil, err
		}
		if o.m[text], err = parseJSON(b.raw, ""); err != nil {
			return nil, nil, err
		}
	}
	if _, err := b.token(); err != nil {
		return nil, nil, b.invalid()
	}
	if _, err := b.token(); !errors.Is(err, io.EOF) {
		return nil, nil, b.invalid()
	}
	return o, rows, nil
}

// find determines the number of rows and the offset of the first one. It also checks the size of each row.
func (r *jsonRows) find(b *bulkBody, o *object) error {
	t, err := b.token()
	if err != nil {
		return b.invalid()
	}
	if t != json.Delim('[') {
		return models.InvalidField("rows", "must be an array")
	}
	r.start = b.dec.InputOffset()
	for b.more() {
		if r.count == models.MaxBulkRows {
			return models.InvalidField("rows", "must have at most %d items", models.MaxBulkRows)
		}
		if err := b.value(indexedPath("rows", r.count)); err != nil {
			return err
		}
		r.count++
	}
	if _, err := b.token(); err != nil {
		return b.invalid()
	}
	if r.count == 0 {
		o.bad("rows", "must have at least 1 item(s)")
	}
	return nil
}
