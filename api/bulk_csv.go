package api

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/internal/plaintext"
	"countersign/models"
)

// A bulk send table is a CSV file (RFC 4180) with commas, in UTF-8 with or without a byte order mark. It has a header
// line with the column names, and one row for each envelope.
const (
	columnExternalID     = "externalId"
	columnValuePrefix    = "value."
	columnVariablePrefix = "variable."
)

// maxColumns is the maximum number of columns in a table. It exceeds the number that the signers and fields of an
// envelope need.
const maxColumns = 5000

// signerColumns lists the attributes of a signer that can be set by a column named "<role>.<attribute>".
var signerColumns = []string{"name", "email", "phone", "authMethod", "language", "notify", "allowDelegation", "hostName", "hostEmail"}

// hostColumns maps the JSON path of each member of a host to the corresponding attribute in signerColumns.
var hostColumns = map[string]string{"host.name": "hostName", "host.email": "hostEmail", "host": "hostName"}

// setSigner sets an attribute of a signer to the text of a cell.
func setSigner(signer map[string]any, column, text string) {
	switch column {
	case "hostName", "hostEmail":
		host, ok := signer["host"].(map[string]any)
		if !ok {
			host = make(map[string]any)
			signer["host"] = host
		}
		host[map[string]string{"hostName": "name", "hostEmail": "email"}[column]] = text
	case "notify", "allowDelegation":
		signer[column] = boolOrText(text)
	default:
		signer[column] = text
	}
}

// boolOrText returns the Boolean that text represents, ignoring case because spreadsheets write TRUE and FALSE. It
// returns any other text unchanged. Such text is rejected later if a Boolean is required.
func boolOrText(text string) any {
	switch strings.ToLower(text) {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}

// bulkTable reads the rows of a CSV table.
type bulkTable struct {
	csv     *csv.Reader
	source  *allowance
	columns []bulkColumn
	roles   []string // in the order of their first columns
}

// bulkColumn describes the content of a column: the external ID, an attribute of a role's signer, a value, or a
// variable.
type bulkColumn struct {
	name      string
	role      string // empty unless the column belongs to a signer
	attribute string // attribute of the signer, or the name of the value or variable
	member    string // values, variables or externalId
}

// newBulkTable reads the header line with the column names.
func newBulkTable(body io.ReadSeeker, faults *bulkFaults) (*bulkTable, error) {
	onlyCR, err := checkTable(body)
	if err != nil {
		return nil, err
	}
	source := &allowance{r: body}
	t := &bulkTable{csv: csv.NewReader(source), source: source}
	t.csv.FieldsPerRecord = -1 // bulkTable.next checks the number of fields
	names, err := t.read()
	switch {
	case errors.Is(err, errAllowance) || len(names) > maxColumns:
		return nil, models.InvalidField("body", "has a header line with more than %d bytes or %d columns", maxBulkRow, maxColumns)
	case errors.Is(err, io.EOF):
		return nil, models.InvalidField("body", "has no header line")
	case err != nil:
		return nil, models.InvalidField("body", "is not valid CSV: %s", tableProblem(err))
	case len(names) == 1 && strings.ContainsAny(names[0], ";\t"):
		return nil, models.InvalidField("body", "has columns separated by semicolons or tabs; they must be separated by commas (RFC 4180)")
	case onlyCR:
		return nil, models.InvalidField("body", "has lines that end with CR only; they must end with CRLF or LF (RFC 4180)")
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		c, problem := readColumn(strings.TrimSpace(name))
		if problem == "" && seen[c.name] {
			problem = "must not repeat"
		}
		if problem != "" {
			faults.add(0, c.name, problem)
		}
		seen[c.name] = true
		if c.role != "" && !slices.Contains(t.roles, c.role) {
			t.roles = append(t.roles, c.role)
		}
		t.columns = append(t.columns, c)
	}
	return t, nil
}

func readColumn(name string) (c bulkColumn, problem string) {
	c.name = plaintext.Strip(name)
	if value, ok := strings.CutPrefix(name, columnValuePrefix); ok {
		c.member, c.attribute = "values", value
		return c, ""
	}
	if variable, ok := strings.CutPrefix(name, columnVariablePrefix); ok {
		c.member, c.attribute = "variables", variable
		return c, ""
	}
	if name == columnExternalID {
		c.member = name
		return c, ""
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && slices.Contains(signerColumns, name[dot+1:]) {
		c.role, c.attribute = name[:dot], name[dot+1:]
		return c, ""
	}
	return c, fmt.Sprintf("is not recognized: use %s, value.<field>, variable.<name> or <role>.<%s>", columnExternalID, strings.Join(signerColumns, "|"))
}

// checkTable reads the complete table, and seeks back to its start or to the position after the byte order mark. It
// rejects encodings other than UTF-8 with an error that names the detected encoding. It reports whether the lines end
// with CR only.
func checkTable(body io.ReadSeeker) (onlyCR bool, err error) {
	in := bufio.NewReader(body)
	encoding, start := "", int64(0)
	switch mark, _ := in.Peek(3); { // a table with fewer bytes has no byte order mark
	case bytes.HasPrefix(mark, []byte{0xff, 0xfe}):
		encoding = "UTF-16 (little endian)"
	case bytes.HasPrefix(mark, []byte{0xfe, 0xff}):
		encoding = "UTF-16 (big endian)"
	case bytes.HasPrefix(mark, []byte{0xef, 0xbb, 0xbf}):
		start = 3
	}
	var invalid error // the first invalid UTF-8 sequence; not returned if a NUL follows, which indicates UTF-16
	cr, line := false, 1
	for encoding == "" {
		r, n, err := in.ReadRune()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, fmt.Errorf("read table: %w", err)
		}
		switch {
		case r == 0:
			encoding = "UTF-16 without a byte order mark, or not text"
		case r == utf8.RuneError && n == 1 && invalid == nil:
			if err := in.UnreadRune(); err != nil {
				return false, fmt.Errorf("read table: %w", err)
			}
			b, err := in.ReadByte()
			if err != nil {
				return false, fmt.Errorf("read table: %w", err)
			}
			invalid = models.InvalidField("body", "must be UTF-8; line %d contains the byte 0x%02X, so the encoding appears to be Windows-1252 or ISO 8859-1", line, b)
		case r == '\n':
			line++
		case r == '\r':
			cr = true
		}
	}
	if encoding != "" {
		return false, models.InvalidField("body", "must be UTF-8; the encoding appears to be %s", encoding)
	}
	if invalid != nil {
		return false, invalid
	}
	if _, err := body.Seek(start, io.SeekStart); err != nil {
		return false, fmt.Errorf("read table: %w", err)
	}
	return cr && line == 1, nil
}

// read reads the next record and limits its size.
func (t *bulkTable) read() ([]string, error) {
	t.source.left = rowAllowance
	return t.csv.Read()
}

// tableProblem describes a CSV syntax error and its position.
func tableProblem(err error) string {
	at, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return "the table cannot be parsed"
	}
	what := "a value without quotes contains a quote"
	if errors.Is(at.Err, csv.ErrQuote) {
		what = "a quoted value is not closed correctly"
	}
	return fmt.Sprintf("line %d, byte %d: %s", at.Line, at.Column, what)
}

// next returns the next row as a JSON object, or io.EOF after the last row.
func (t *bulkTable) next(row int, faults *bulkFaults) (map[string]any, error) {
	cells, err := t.read()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if errors.Is(err, errAllowance) {
		return nil, models.InvalidField(indexedPath("rows", row-1), "is larger than %d bytes", maxBulkRow)
	}
	if err != nil {
		return nil, models.InvalidField("body", "is not valid CSV: %s", tableProblem(err))
	}
	if len(cells) != len(t.columns) {
		faults.add(row, "", fmt.Sprintf("has %s for %s", count(len(cells), "value"), count(len(t.columns), "column")))
	} else if !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
		faults.add(row, "", "is empty")
	}
	m, signers := make(map[string]any), make(map[string]map[string]any)
	for i, c := range t.columns[:min(len(cells), len(t.columns))] {
		text := cells[i]
		if text == "" {
			continue // treat an empty cell as absent
		}
		switch {
		case c.role != "":
			if signers[c.role] == nil {
				signers[c.role] = map[string]any{"role": c.role}
			}
			setSigner(signers[c.role], c.attribute, text)
		case c.member == columnExternalID:
			m[columnExternalID] = text
		case c.member != "":
			of, ok := m[c.member].(map[string]any)
			if !ok {
				of = make(map[string]any)
				m[c.member] = of
			}
			of[c.attribute] = text
		}
	}
	list := []any{}
	for _, role := range t.roles {
		if s := signers[role]; s != nil {
			list = append(list, s)
		}
	}
	m["signers"] = list
	return m, nil
}

// column returns the name of the column for a fault at the given JSON path in a row.
func (t *bulkTable) column(path string, m map[string]any) string {
	for member, prefix := range map[string]string{"values.": columnValuePrefix, "variables.": columnVariablePrefix} {
		if name, ok := strings.CutPrefix(path, member); ok {
			return prefix + name
		}
	}
	list, _ := m["signers"].([]any)
	for i, s := range list {
		name, ok := strings.CutPrefix(path, fmt.Sprintf("signers[%d].", i))
		if signer, is := s.(map[string]any); ok && is {
			role, _ := signer["role"].(string)
			if name == "role" { // applies to all columns of the role
				return role
			}
			return role + "." + cmp.Or(hostColumns[name], name)
		}
	}
	return path
}

// bulkFault is a fault in a row, or in a column of all rows (row 0).
type bulkFault struct {
	Row     int    `json:"row"` // starts at 1; the header line is not counted
	Column  string `json:"column"`
	Message string `json:"message"`
}

// location describes the location of the fault.
func (f bulkFault) location() string {
	switch {
	case f.Row == 0:
		return fmt.Sprintf("column %q", f.Column)
	case f.Column == "":
		return fmt.Sprintf("row %d", f.Row)
	}
	return fmt.Sprintf("row %d, %s", f.Row, f.Column)
}

// maxBulkFaults is the maximum number of faults listed in a response.
const maxBulkFaults = 100

// bulkFaults stores the first faults in the rows, and counts all of them.
type bulkFaults struct {
	list  []bulkFault
	total int
}

func (f *bulkFaults) add(row int, column, message string) {
	if f.total++; len(f.list) < maxBulkFaults {
		f.list = append(f.list, bulkFault{row, column, message})
	}
}

// addProblems adds the problems of a row. It calls column to convert a JSON path to a column name.
func (f *bulkFaults) addProblems(row int, problems models.Problems, column func(path string) string) {
	for _, path := range slices.Sorted(maps.Keys(problems)) {
		for _, text := range problems[path] {
			f.add(row, column(path), text)
		}
	}
}

// err returns an error that lists the faults, or nil if no faults were recorded.
func (f *bulkFaults) err(total int) error {
	if f.total == 0 {
		return nil
	}
	message := f.list[0].location() + ": " + f.list[0].Message
	if f.total > 1 {
		message += fmt.Sprintf(" (and %d more)", f.total-1)
	}
	rejected := models.Reject(models.KindInvalid, "validation_error", "%s; nothing was sent", message)
	rejected.Fields = make(map[string][]string, len(f.list))
	for _, fault := range f.list {
		path := fmt.Sprintf("rows[%d]", fault.Row-1)
		switch {
		case fault.Row == 0:
			path = "columns"
		case fault.Column != "":
			path += "." + fault.Column
		}
		rejected.Fields[path] = append(rejected.Fields[path], fault.Message)
	}
	rejected.Details = map[string]any{"total": total, "faultCount": f.total, "faults": f.list}
	return rejected
}

// count returns a number followed by a noun, which is in the plural unless the number is 1.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
