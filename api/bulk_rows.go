package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"countersign/models"
)

const (
	// maxBulkBody is the most that a bulk send may have, in bytes.
	maxBulkBody = 32 << 20
	// maxBulkRow bounds a row in JSON, and each other member of the body, in bytes.
	maxBulkRow = maxJSON
)

// bulkRows are the rows of a request as they are read: each as a JSON object.
type bulkRows interface {
	// next is the next row, whose number is given; io.EOF after the last.
	next(row int, faults *bulkFaults) (map[string]any, error)
	// column names the column of what is wrong at a JSON path of the row.
	column(path string, m map[string]any) string
}

// jsonRows are rows that were given as JSON. They are parsed one at a time.
type jsonRows struct{ rest []json.RawMessage }

func (r *jsonRows) next(row int, faults *bulkFaults) (map[string]any, error) {
	if len(r.rest) == 0 {
		return nil, io.EOF
	}
	raw := r.rest[0]
	r.rest = r.rest[1:]
	if len(raw) > maxBulkRow {
		faults.add(row, "", "is larger than "+strconv.Itoa(maxBulkRow)+" bytes")
		return map[string]any{}, nil
	}
	v, err := parseJSON(raw, "")
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

// readBulkObject reads a JSON body: its members without rows, and the rows unparsed. A
// body with too many is refused as soon as that is seen.
func readBulkObject(body []byte) (*object, *jsonRows, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	invalid := func() error {
		return models.Refuse(models.KindInvalid, "invalid_json", "The body is not a valid JSON object (at byte %d).", dec.InputOffset())
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, invalid()
	}
	o, rows := &object{m: make(map[string]any), p: models.Problems{}}, &jsonRows{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, nil, invalid()
		}
		if name == "rows" {
			if o.has("rows") {
				return nil, nil, models.InvalidField("rows", "must be given once")
			}
			o.m["rows"] = true
			if err := rows.read(dec, o); err != nil {
				return nil, nil, err
			}
			continue
		}
		text, _ := name.(string)
		if err := unknownBulkMember(text); err != nil {
			return nil, nil, err
		}
		if o.has(text) {
			return nil, nil, models.InvalidField(text, "must be given once")
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, nil, invalid()
		}
		if len(raw) > maxBulkRow {
			o.bad(text, "is larger than %d bytes", maxBulkRow)
			continue
		}
		if o.m[text], err = parseJSON(raw, ""); err != nil {
			return nil, nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, invalid()
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, invalid()
	}
	return o, rows, nil
}

func (r *jsonRows) read(dec *json.Decoder, o *object) error {
	invalid := func() error {
		return models.Refuse(models.KindInvalid, "invalid_json", "The body is not valid JSON (at byte %d).", dec.InputOffset())
	}
	t, err := dec.Token()
	if err != nil {
		return invalid()
	}
	if t != json.Delim('[') {
		return models.InvalidField("rows", "must be an array")
	}
	for dec.More() {
		if len(r.rest) == models.MaxBulkRows {
			return models.InvalidField("rows", "must have at most %d items", models.MaxBulkRows)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return invalid()
		}
		r.rest = append(r.rest, raw)
	}
	if _, err := dec.Token(); err != nil {
		return invalid()
	}
	if len(r.rest) == 0 {
		o.bad("rows", "must have at least 1 item(s)")
	}
	return nil
}
