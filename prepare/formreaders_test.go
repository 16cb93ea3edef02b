package prepare_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare"
)

type formFile struct {
	name, path string
	fields     map[pdf.Ref]prepare.FormField // fields by widget
}

// formFiles returns forms from other programs, unchanged and as rewritten by other tools. It also returns forms with
// every attribute, with rotated or cropped pages, and with widgets that do not belong to a field.
func formFiles(t *testing.T) []formFile {
	t.Helper()
	contents := make(map[string][]byte)
	for _, name := range []string{"libreoffice-form", "pdftex-form", "pdftex-fields"} {
		for way, rewrite := range rewritings {
			if way != "without ToUnicode" { // affects only the text of pages
				contents[name+", "+way] = rewrite(t, corpusFile(t, name))
			}
		}
	}
	small, err := os.ReadFile("../seal/testdata/form.pdf")
	require.NoError(t, err)
	contents["small"] = small
	objects := everyKind()
	objects[3] = strings.Replace(objects[3], "]/DA", " 12 0 R 15 0 R]/DA", 1)
	contents["every kind"] = assemble(objects)
	for _, page := range []string{"/Rotate 90", "/Rotate 180", "/Rotate 270", "/CropBox[50 60 500 750]", "/UserUnit 2", "/Rotate 90/CropBox[50 60 500 750]"} {
		contents[page] = assemble(formObjects(page, "<<"+at+"/FT/Tx/T(a)>>"))
	}
	objects = formObjects("", "<<"+at+"/FT/Tx/T(a)>>", "<<"+at+"/Parent 7 0 R/T(b)>>", "<</T(p)/FT/Tx/Ff 2/Kids[6 0 R]>>")
	objects[3] = "<</Fields[]>>"
	contents["widgets of no field"] = assemble(objects)

	dir := t.TempDir()
	var files []formFile
	for name, b := range contents {
		f := formFile{name, filepath.Join(dir, fmt.Sprintf("%d.pdf", len(files))), make(map[pdf.Ref]prepare.FormField)}
		require.NoError(t, os.WriteFile(f.path, b, 0o600))
		fields, err := prepare.ReadForm(t.Context(), open(t, b))
		require.NoError(t, err, name)
		require.NotEmpty(t, fields, name)
		for _, field := range fields {
			f.fields[field.Widget] = field
		}
		require.Len(t, f.fields, len(fields), name)
		files = append(files, f)
	}
	return files
}

// otherWidget contains the properties of a widget that both MuPDF and pdf.js report.
type otherWidget struct {
	Object             int
	Page               int
	Rect               [4]float64 // as displayed, from the upper left corner
	Name, Label, Value string
	Flags, MaxLength   int
	ReadOnly           bool
	Options            []prepare.FormOption
}

// readBy runs a program that prints the widgets of each file on one line.
func readBy[W any](t *testing.T, files []formFile, command ...string) [][]W {
	t.Helper()
	for _, f := range files {
		command = append(command, f.path)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, said.String())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(files), said.String())
	read := make([][]W, len(files))
	for i, line := range lines {
		require.NoError(t, json.Unmarshal([]byte(line), &read[i]), line)
	}
	return read
}

// sameWidget compares the properties that both MuPDF and pdf.js report.
func sameWidget(t *testing.T, hint string, o otherWidget, f prepare.FormField) {
	t.Helper()
	require.Equal(t, o.Name, f.Name, hint)
	require.Equal(t, o.Page, f.Place.Page, hint)
	for i, n := range []float64{f.Place.X, f.Place.Y, f.Place.X + f.Place.W, f.Place.Y + f.Place.H} {
		require.InDelta(t, o.Rect[i], n, 0.01, "%s: %v, %+v", hint, o.Rect, f.Place)
	}
	require.Equal(t, o.MaxLength, f.MaxLength, hint)
	require.Equal(t, o.ReadOnly, f.ReadOnly, hint)
	require.Equal(t, o.Flags&2 != 0, f.Required, hint)
	if f.Type == "text" {
		require.Equal(t, o.Flags&(1<<12) != 0, f.Multiline, hint)
		require.Equal(t, o.Flags&(1<<24) != 0, f.Comb, hint)
	}
	require.ElementsMatch(t, o.Options, f.Options, hint)
}

// TestReadForm_MatchesMuPDF checks that MuPDF finds the same widgets with the same attributes and positions.
func TestReadForm_MatchesMuPDF(t *testing.T) {
	t.Parallel()
	type widget struct {
		otherWidget
		Type string
	}
	types := map[string]string{"text": "text", "checkbox": "checkbox", "radiobutton": "radio", "combobox": "select", "listbox": "select", "signature": "signature"}
	files := formFiles(t)
	for i, widgets := range readBy[widget](t, files, "mutool", "run", "testdata/formfields.js") {
		read := 0
		for _, w := range widgets {
			if w.Type == "button" { // a push button, which is not a field here
				continue
			}
			read++
			hint := fmt.Sprintf("%s: %+v", files[i].name, w)
			f, ok := files[i].fields[pdf.Ref{Num: w.Object}]
			require.True(t, ok, hint)
			sameWidget(t, hint, w.otherWidget, f)
			if f.Type == "date" { // identified by its format action
				require.Equal(t, "text", w.Type, hint)
			} else {
				require.Equal(t, types[w.Type], f.Type, hint)
			}
			if f.Label != "" {
				require.Equal(t, w.Label, f.Label, hint)
			}
			want := f.Value
			if end := strings.IndexByte(want, 0); end >= 0 {
				want = want[:end] // MuPDF ends a value at the first NUL, and hyperref's wrongly escaped value contains NULs
			}
			if (f.Type == "checkbox" || f.Type == "radio") && w.Value == "Off" {
				w.Value = ""
			}
			require.Equal(t, want, w.Value, hint)
		}
		require.Len(t, files[i].fields, read, files[i].name)
	}
}

type pdfjsWidget struct {
	otherWidget
	Kind, State           string
	Default               string
	Required, Hidden      bool
	Multiline, Comb       bool
	Checkbox, Radio, Push bool
	Align                 *int // nil if the field has none; pdf.js ignores the form's default (12.7.3)
	FontSize              float64
	InTree                *struct {
		Name, Type string
		Page       int
		Value      any
	}
}

func (w pdfjsWidget) fieldType() string {
	switch {
	case w.Radio:
		return "radio"
	case w.Checkbox:
		return "checkbox"
	}
	return map[string]string{"Tx": "text", "Ch": "select", "Sig": "signature"}[w.Kind]
}

// TestReadForm_MatchesPDFJS checks that pdf.js finds the same widgets with the same attributes and positions.
func TestReadForm_MatchesPDFJS(t *testing.T) {
	t.Parallel()
	files := formFiles(t)
	for i, widgets := range readBy[pdfjsWidget](t, files, "node", "testdata/formfields.mjs", "../test/clients/node_modules/pdfjs-dist") {
		read := 0
		for _, w := range widgets {
			if w.Push {
				continue
			}
			read++
			hint := fmt.Sprintf("%s: %+v", files[i].name, w)
			f, ok := files[i].fields[pdf.Ref{Num: w.Object}]
			require.True(t, ok, hint)
			sameWidget(t, hint, w.otherWidget, f)
			asPDFJS(t, hint, w, f)
		}
		require.Len(t, files[i].fields, read, files[i].name)
	}
}

// asPDFJS compares the properties that only pdf.js reports.
func asPDFJS(t *testing.T, hint string, w pdfjsWidget, f prepare.FormField) {
	t.Helper()
	if f.Type == "date" {
		require.Equal(t, "text", w.fieldType(), hint)
	} else {
		require.Equal(t, w.fieldType(), f.Type, hint)
	}
	require.Equal(t, w.Label, f.Label, hint)
	require.Equal(t, w.Required, f.Required, hint)
	require.Equal(t, w.Hidden, f.Hidden, hint)
	if f.Type == "text" {
		require.Equal(t, w.Multiline, f.Multiline, hint)
		require.Equal(t, w.Comb, f.Comb, hint)
		if w.Align != nil {
			require.Equal(t, []string{"left", "center", "right"}[*w.Align], f.Align, hint)
		}
		require.InDelta(t, w.FontSize, f.FontSize, 1e-6, hint)
	}
	switch f.Type {
	case "checkbox", "radio":
		require.Equal(t, w.State, f.Option, hint)
		// For a value without an appearance, pdf.js reports Off, whereas ReadForm returns the value in the file.
		// Therefore, compare only whether the state is selected. LibreOffice 7.4 writes Yes for the state named yes.
		require.Equal(t, w.Value == w.State, f.Value == f.Option, hint)
	default:
		require.Equal(t, w.Value, f.Value, hint)
		require.Equal(t, w.Default, f.Default, hint)
	}
	if w.InTree == nil {
		// The widget is outside the field tree. hyperref lists only the first button of a group in the form's fields.
		require.True(t, strings.HasPrefix(hint, "widgets of no field:") || strings.HasPrefix(hint, "pdftex-form, ") && f.Type == "radio", hint)
		return
	}
	require.Equal(t, f.Place.Page, w.InTree.Page, hint)
	if f.Type != "signature" { // pdf.js does not report the name of a signature
		require.Equal(t, f.Name, w.InTree.Name, hint)
	}
	if f.Type == "text" {
		require.Equal(t, f.Value, w.InTree.Value, hint)
	}
}
