package prepare_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/pdf/pagetext"
	"countersign/prepare"
)

// formObjects returns the objects of a form: 1 is the catalog, 2 the page tree, 3 the page and 4 the form. Widgets
// start at 5.
func formObjects(page string, widgets ...string) []string {
	var refs, roots strings.Builder
	for i, w := range widgets {
		fmt.Fprintf(&refs, "%d 0 R ", i+5)
		if !strings.Contains(w, "/Parent") {
			fmt.Fprintf(&roots, "%d 0 R ", i+5)
		}
	}
	return append([]string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm 4 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]>>",
		"<</Type/Page/Parent 2 0 R/Annots[" + refs.String() + "]" + page + ">>",
		"<</Fields[" + roots.String() + "]/DA(/Helv 0 Tf 0 g)/Q 1>>",
	}, widgets...)
}

const at = "/Type/Annot/Subtype/Widget/Rect[100 700 200 720]"

// everyKind returns a form with a widget for each attribute.
func everyKind() []string {
	return formObjects("",
		"<<"+at+"/FT/Tx/T(name)/TU(Your name)/V(Ada)/DV(Bob)/Ff 3/MaxLen 30/DA(/Helv 11.5 Tf 0 g)/Q 2>>",
		"<<"+at+"/FT/Tx/T(notes)/Ff 4096/V<FEFF00E400F6>>>",
		"<<"+at+"/FT/Tx/T(comb)/Ff 16777216/MaxLen 8>>",
		"<<"+at+"/FT/Tx/T(born)/AA<</F<</S/JavaScript/JS(AFDate_FormatEx\\(\"dd.mm.yyyy\"\\);)>>>>>>",
		"<<"+at+"/FT/Btn/T(agree)/V/Yes/AS/Yes/AP<</N<</Off 3 0 R/Yes 3 0 R>>>>>>",
		"<<"+at+"/FT/Ch/T(pet)/Ff 393216/V(d)/Opt[[(c)(Cat)][(d)(Dog)](bird)]>>",
		"<<"+at+"/FT/Sig/T(sign)/F 2>>",
		"<</FT/Btn/T(colour)/Ff 49152/V/red/Kids[13 0 R 14 0 R]/Parent null>>",
		"<<"+at+"/Parent 12 0 R/AP<</N<</Off 3 0 R/red 3 0 R>>>>>>",
		"<<"+at+"/Parent 12 0 R/AP<</N<</blue 3 0 R/Off 3 0 R>>>>>>",
		"<</T(home)/FT/Tx/MaxLen 5/Ff 2/Kids[16 0 R 17 0 R]/Parent null>>",
		"<<"+at+"/Parent 15 0 R/T(zip)>>",
		"<<"+at+"/Parent 15 0 R/T(town)/Ff 0>>",
		"<<"+at+"/FT/Btn/T(push)/Ff 65536>>",
	)
}

func form(t testing.TB, objects []string) []prepare.FormField {
	t.Helper()
	// The form also lists fields that only contain other fields.
	objects[3] = strings.Replace(objects[3], "]/DA", " 12 0 R 15 0 R]/DA", 1)
	fields, err := prepare.ReadForm(t.Context(), open(t, assemble(objects)))
	require.NoError(t, err)
	return fields
}

// TestReadForm checks that every attribute is read, both from the field itself and from its parent.
func TestReadForm(t *testing.T) {
	t.Parallel()
	place := prepare.Position{Page: 1, X: 100, Y: 80, W: 100, H: 20}
	fields := form(t, everyKind())
	ref := func(n int) pdf.Ref { return pdf.Ref{Num: n} }
	require.Equal(t, []prepare.FormField{
		{Name: "name", Label: "Your name", Type: "text", Value: "Ada", Default: "Bob", Required: true, ReadOnly: true, MaxLength: 30, FontSize: 11.5, Align: "right", Widget: ref(5), Place: place},
		{Name: "notes", Type: "text", Value: "äö", Multiline: true, Align: "center", Widget: ref(6), Place: place},
		{Name: "comb", Type: "text", Comb: true, MaxLength: 8, Align: "center", Widget: ref(7), Place: place},
		{Name: "born", Type: "date", Format: "dd.mm.yyyy", Align: "center", Widget: ref(8), Place: place},
		{Name: "agree", Type: "checkbox", Value: "Yes", Option: "Yes", Align: "center", Widget: ref(9), Place: place},
		{Name: "pet", Type: "select", Value: "d", Options: []prepare.FormOption{{"c", "Cat"}, {"d", "Dog"}, {"bird", "bird"}}, Align: "center", Widget: ref(10), Place: place},
		{Name: "sign", Type: "signature", Hidden: true, Align: "center", Widget: ref(11), Place: place},
		{Name: "colour", Type: "radio", Value: "red", Option: "red", Align: "center", Widget: ref(13), Place: place},
		{Name: "colour", Type: "radio", Value: "red", Option: "blue", Align: "center", Widget: ref(14), Place: place},
		{Name: "home.zip", Type: "text", Required: true, MaxLength: 5, Align: "center", Widget: ref(16), Place: place},
		{Name: "home.town", Type: "text", MaxLength: 5, Align: "center", Widget: ref(17), Place: place},
	}, fields)
}

// TestShownStates checks that a checkbox counts as selected if Poppler and MuPDF display it as selected. Only the
// widget's state matters, even if the widget has no appearances.
func TestShownStates(t *testing.T) {
	t.Parallel()
	for entries, ticked := range map[string]bool{
		"/V/Yes/AS/Yes": true, "/V/Yes": false, "/AS/Yes": true, "/V/Off/AS/Yes": true, "/V/Yes/AS/Off": false, "": false,
		"/V/Yes/AS/Yes/AP<</N<</Off 1 0 R>>>>": true, "/V/Yes/AS/Yes/AP<</N<</Yes 1 0 R>>>>": true,
		"/V/Off/AS/On/AP<</N<</On 1 0 R>>>>": true, "/V/On/AS/Off/AP<</N<</On 1 0 R>>>>": false, "/DV/On/AS/Off/AP<</N<</On 1 0 R>>>>": false,
	} {
		for kind, flags := range map[string]string{"checkbox": "", "radio": "/Ff 32768"} {
			fields, err := prepare.ReadForm(t.Context(), open(t, assemble(formObjects("", "<<"+at+"/FT/Btn/T(a)"+flags+entries+">>"))))
			require.NoError(t, err)
			require.Len(t, fields, 1)
			require.Equal(t, kind, fields[0].Type)
			f := fields[0]
			require.Equal(t, ticked, f.Option != "" && cmp.Or(f.Value, f.Default) == f.Option, "%s %s: %+v", kind, entries, f)
		}
	}
}

// TestFormPlaces checks that a widget's box is its displayed position for any rotation and crop box of the page.
func TestFormPlaces(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]prepare.Position{
		"/Rotate 90":                        {Page: 1, X: 700, Y: 100, W: 20, H: 100},
		"/Rotate 180":                       {Page: 1, X: 400, Y: 700, W: 100, H: 20},
		"/Rotate 270":                       {Page: 1, X: 80, Y: 400, W: 20, H: 100},
		"/CropBox[50 60 500 750]":           {Page: 1, X: 50, Y: 30, W: 100, H: 20},
		"/UserUnit 2":                       {Page: 1, X: 200, Y: 160, W: 200, H: 40},
		"/Rotate 90/CropBox[50 60 500 750]": {Page: 1, X: 640, Y: 50, W: 20, H: 100},
	} {
		fields, err := prepare.ReadForm(t.Context(), open(t, assemble(formObjects(page, "<<"+at+"/FT/Tx/T(a)>>"))))
		require.NoError(t, err)
		require.Len(t, fields, 1)
		p := fields[0].Place
		for _, d := range [][2]float64{{want.X, p.X}, {want.Y, p.Y}, {want.W, p.W}, {want.H, p.H}} {
			require.InDelta(t, d[0], d[1], 1e-6, "%s: %+v", page, p)
		}
	}
}

// TestReadForm_CyclicForms checks that reading a cyclic form terminates, and that a widget that is not on a page is
// omitted.
func TestReadForm_CyclicForms(t *testing.T) {
	t.Parallel()
	objects := formObjects("", "<<"+at+"/FT/Tx/T(a)/Kids[5 0 R 6 0 R 6 0 R]>>", "<<"+at+"/Parent 5 0 R/Kids[5 0 R]>>", "<<"+at+"/Parent 5 0 R>>")
	fields, err := prepare.ReadForm(t.Context(), open(t, assemble(objects)))
	require.NoError(t, err)
	require.Len(t, fields, 1)
	require.Equal(t, pdf.Ref{Num: 7}, fields[0].Widget, "only the field without children is returned")

	objects = formObjects("", "<<"+at+"/FT/Tx/T(a)>>", "<<"+at+"/Parent 7 0 R/T(b)>>", "<</T(p)/FT/Tx/Ff 2/Kids[6 0 R]>>")
	objects[3] = "<</Fields[]>>"
	fields, err = prepare.ReadForm(t.Context(), open(t, assemble(objects)))
	require.NoError(t, err)
	require.Len(t, fields, 2, "widgets outside the field tree must be returned")
	require.Equal(t, "a", fields[0].Name)
	require.Equal(t, "p.b", fields[1].Name)
	require.True(t, fields[1].Required)

	var deep []string
	for i := range 40 {
		deep = append(deep, fmt.Sprintf("<</T(a)/Parent null/Kids[%d 0 R]>>", i+6))
	}
	objects = formObjects("", append(deep, "<<"+at+"/Parent null/FT/Tx>>")...)
	objects[3] = "<</Fields[5 0 R]>>"
	_, err = prepare.ReadForm(t.Context(), open(t, assemble(objects)))
	require.ErrorContains(t, err, "nested too deeply")
}

// TestFieldNames checks that names are unique and valid in requests, and do not contain the role.
func TestFieldNames(t *testing.T) {
	t.Parallel()
	var fields []prepare.FormField
	for _, name := range []string{"a b", "a/b", "a b", "", "é", "x_es_:signer1:text", "*y_es_:signer2", "z;role=Tenant", "w;q=1", strings.Repeat("l", 80), strings.Repeat("l", 81)} {
		fields = append(fields, prepare.FormField{Name: name})
	}
	long := strings.Repeat("l", 64)
	require.Equal(t, []string{"a_b", "a_b_2", "a_b", "field", "_", "x", "y", "z", "w_q_1", long, long[:62] + "_2"}, prepare.FieldNames(fields))
	var roles []string
	for _, f := range fields[5:9] {
		roles = append(roles, f.Role())
	}
	require.Equal(t, []string{"signer1", "signer2", "Tenant", ""}, roles)
}

type qpdfField struct {
	FullName        string `json:"fullname"`
	AlternativeName string `json:"alternativename"`
	FieldType       string `json:"fieldtype"`
	FieldFlags      int    `json:"fieldflags"`
	Page            int    `json:"pageposfrom1"`
	Quadding        int    `json:"quadding"`
	Value           any    `json:"value"`
	IsCheckbox      bool   `json:"ischeckbox"`
	IsRadio         bool   `json:"isradiobutton"`
	Annotation      struct {
		Object string `json:"object"`
	} `json:"annotation"`
}

// TestReadForm_MatchesQPDF checks that qpdf finds the same widgets with the same attributes. A glob pattern in
// COUNTERSIGN_TEST_FORMS can specify more files.
func TestReadForm_MatchesQPDF(t *testing.T) {
	t.Parallel()
	objects := everyKind()
	objects[3] = strings.Replace(objects[3], "]/DA", " 12 0 R 15 0 R]/DA", 1)
	own := filepath.Join(t.TempDir(), "form.pdf")
	require.NoError(t, os.WriteFile(own, assemble(objects), 0o600))
	more, err := filepath.Glob(os.Getenv("COUNTERSIGN_TEST_FORMS"))
	require.NoError(t, err)
	for _, name := range append(more, own, "../seal/testdata/form.pdf", "testdata/corpus/libreoffice-form.pdf", "testdata/corpus/pdftex-form.pdf", "testdata/corpus/pdftex-fields.pdf") {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		fields, err := prepare.ReadForm(t.Context(), open(t, b))
		require.NoError(t, err, name)
		out, _ := exec.CommandContext(t.Context(), "qpdf", "--json", "--json-key=acroform", name).Output() // qpdf also fails on a warning
		var answer struct {
			AcroForm struct{ Fields []qpdfField } `json:"acroform"`
		}
		require.NoError(t, json.Unmarshal(out, &answer), name)
		byWidget := make(map[string]prepare.FormField)
		for _, f := range fields {
			byWidget[fmt.Sprintf("%d %d R", f.Widget.Num, f.Widget.Gen)] = f
		}
		n := 0
		for _, q := range answer.AcroForm.Fields {
			if q.Page == 0 || q.FieldType == "" || q.FieldType == "/Btn" && q.FieldFlags&(1<<16) != 0 {
				continue
			}
			n++
			f, ok := byWidget[q.Annotation.Object]
			require.True(t, ok, "%s: %+v", name, q)
			same(t, name, q, f)
		}
		require.Len(t, fields, n, name)
	}
}

func same(t *testing.T, name string, q qpdfField, f prepare.FormField) {
	t.Helper()
	require.Equal(t, q.FullName, f.Name, name)
	require.Equal(t, q.Page, f.Place.Page, name)
	require.Equal(t, q.FieldFlags&1 != 0, f.ReadOnly, name)
	require.Equal(t, q.FieldFlags&2 != 0, f.Required, name)
	require.Equal(t, []string{"left", "center", "right"}[q.Quadding], f.Align, name)
	if f.Label != "" {
		require.Equal(t, q.AlternativeName, f.Label, name)
	}
	switch v := q.Value.(type) {
	case string:
		if text, ok := strings.CutPrefix(v, "u:"); ok {
			require.Equal(t, text, f.Value, name)
		} else if q.IsCheckbox || q.IsRadio {
			require.Equal(t, strings.TrimPrefix(strings.TrimPrefix(v, "/"), "Off"), f.Value, name)
		}
	case nil:
		require.Empty(t, f.Value, name)
	}
	want := map[string]string{"/Tx": "text", "/Ch": "select", "/Sig": "signature", "/Btn": "checkbox"}[q.FieldType]
	if q.IsRadio {
		want = "radio"
	}
	if f.Type != "date" {
		require.Equal(t, want, f.Type, name)
	}
}

// FuzzReadForm checks that reading terminates for any form.
func FuzzReadForm(f *testing.F) {
	for _, o := range everyKind()[4:] {
		f.Add(o, "<</Parent 5 0 R"+at+">>")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		file := assemble(formObjects("", a, b))
		p, err := pdf.Open(bytes.NewReader(file), int64(len(file)), pdf.DefaultLimits())
		if err != nil {
			return
		}
		fields, err := prepare.ReadForm(t.Context(), p)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(fields), 2)
		for _, name := range prepare.FieldNames(fields) {
			require.Regexp(t, `^[A-Za-z0-9_.-]{1,64}$`, name)
		}
	})
}

// TestReadForm_LargeForm_IsLimited checks that the total size of a form's strings is limited, even if many fields
// refer to the same string. Reading must also stop between annotations and between strings if the context is canceled.
func TestReadForm_LargeForm_IsLimited(t *testing.T) {
	t.Parallel()
	const choice = "<<" + at + "/FT/Ch/T(a)/Opt "
	long := "(" + strings.Repeat("x", 64<<10) + ")"
	list := "[" + strings.Repeat("("+strings.Repeat("x", 100)+")", 1000) + "]"
	kids := slices.Repeat([]string{"<<" + at + "/Parent 5 0 R>>"}, 200)
	var refs strings.Builder
	for i := range kids {
		fmt.Fprintf(&refs, "%d 0 R ", i+6)
	}
	for name, tt := range map[string]struct {
		widgets []string
		fields  int // number of fields; 0 if rejected
	}{
		"one long choice":         {[]string{choice + "[" + strings.Repeat("6 0 R ", 2000) + "]>>", long}, 0},
		"choices without a text":  {append([]string{"<</FT/Ch/T(a)/Opt[" + strings.Repeat("()", 20_000) + "]/Kids[" + refs.String() + "]>>"}, kids...), 0},
		"one long label":          {append([]string{"<</FT/Tx/T(a)/TU" + long + "/V" + long + "/DV" + long + "/Kids[" + refs.String() + "]>>"}, kids...), 0},
		"a shared list":           {append([]string{list}, slices.Repeat([]string{choice + "5 0 R>>"}, 500)...), 500},
		"a list for each of many": {slices.Repeat([]string{choice + list[:20*102+1] + "]>>"}, 500), 500},
	} {
		f := open(t, assemble(formObjects("", tt.widgets...)))
		fields, err := prepare.ReadForm(t.Context(), f)
		if tt.fields == 0 {
			require.ErrorIs(t, err, pagetext.ErrLimit, name)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, fields, tt.fields, name)
		require.NotEmpty(t, fields[tt.fields-1].Options, name)
	}
	for name, b := range map[string][]byte{
		"annotations": assemble(formObjects("", slices.Repeat([]string{"<</Subtype/Square>>"}, 1000)...)),
		"choices":     assemble(formObjects("", choice+list+">>")),
	} {
		_, err := prepare.ReadForm(&endsAfter{t.Context(), 500}, open(t, b))
		require.ErrorIs(t, err, context.Canceled, name)
	}
}

// endsAfter is a context that is canceled after a number of calls to Err.
type endsAfter struct {
	context.Context

	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
