package revision1_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare/revision1"
)

// file returns a PDF with a cross-reference table or stream.
func file(asStream bool, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start, n := b.Len(), len(objects)
	if !asStream {
		fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", n+1)
		for _, a := range at {
			fmt.Fprintf(&b, "%010d 00000 n \n", a)
		}
		fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", n+1, start)
		return b.Bytes()
	}
	data := []byte{0, 0, 0, 0}
	for _, a := range append(at, start) {
		data = append(data, 1, byte(a>>8), byte(a), 0)
	}
	fmt.Fprintf(&b, "%d 0 obj\n<</Type/XRef/Size %d/W[1 2 1]/Root 1 0 R/ID[<00><11>]/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF",
		n+1, n+2, len(data), data, start)
	return b.Bytes()
}

func stream(entries, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", entries, len(data), data)
}

func objects() []string {
	return []string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[7 0 R]/XFA(x)>>/OpenAction<</S/JavaScript/JS(a)>>/Lost 90 0 R>>",
		"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 600 800]/Resources<</XObject<</X 6 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R/Annots[7 0 R 8 0 R]>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R/AA<</O<</S/Launch/F(x)>>>>>>",
		stream("", "BT /F1 12 Tf (Sign {{a}} here) Tj 2 1 ({{b}}) \" ET"),
		stream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]", "BT /F1 12 Tf [({{)-20(c}}d)] TJ ET"),
		"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/Rect[1 1 9 9]>>",
		"<</Type/Annot/Subtype/Link/Rect[1 1 9 9]/A<</S/SubmitForm/F(x)>>>>",
		"<</S/P/P 8 0 R/Alt({{a}})/K 0>>",
	}
}

func full() revision1.Plan {
	return revision1.Plan{Active: true, Form: true, Texts: []int{9}, Cuts: []revision1.Cut{
		{Page: 1, Tags: 3, Codes: [][4]float64{{13, 5, 5, 2000.5}, {38, 0, 5, 1000}}},
		{Page: 2, Tags: 1},
		{Form: 6, Codes: [][4]float64{{14, 0, 2, 668}, {21, 0, 3, 1168.25}}},
	}}
}

// uses returns a plan that changes only one of two uses of a form, and only one of two dictionaries in an object. Page
// 1 paints a clone of the form for the changed use.
func uses() revision1.Plan {
	return revision1.Plan{Inline: [][2]int{{8, 1}}, Cuts: []revision1.Cut{
		{Page: 1, Tags: 1, Uses: [][2]int{{59, 1}}},
		{Form: 6, Clone: 1, Codes: [][4]float64{{14, 0, 2, 668}}},
	}}
}

// objectsWithUses is like objects, but with a page that paints the form twice, and with annotations that contain texts.
func objectsWithUses() []string {
	all := objects()
	all[4] = stream("", "BT /F1 12 Tf (Sign {{a}} here) Tj 2 1 ({{b}}) \" ET q /X Do /X Do Q")
	all[7] = "[<</Type/Annot/Subtype/FreeText/Contents({{a}})/RC(b)/Rect[1 1 9 9]>><</S/P/Alt({{a}})>>]"
	return all
}

// vector is a test vector: a revision whose bytes must never change.
type vector struct {
	name string
	file []byte
	plan revision1.Plan
	want string // SHA-256 hash of the appended bytes
}

func vectors() []vector {
	return []vector{
		{"table", file(false, objects()...), full(), "da97110eaef08c2e74ac728240722df1584bedae4e6fe5ffb2a5cd694f2debb3"},
		{"stream", file(true, objects()...), full(), "501213ffa6b8b68a4a0676b9dcb8d258dac17cd3ae27b42074e4a3191262bd2e"},
		{"active content alone", file(false, objects()...), revision1.Plan{Active: true}, "fcfd5b083ec50717e0ce252ce7bdfe39aaa898d3add4746be1ea4815c3144c85"},
		{"clones and inline texts", file(false, objectsWithUses()...), uses(), "1cecd8ed4d6771726a10af472b14e220c8dcd2683b48fdc20e45b724e6501cbf"},
		{"form alone", file(true, objects()...), revision1.Plan{Form: true}, "92d26ae6a9bad63e44121cbfd84415a58e017a1e4df724e6253094721d719917"},
	}
}

func write(t testing.TB, b []byte, plan revision1.Plan) ([]byte, []revision1.Change, error) {
	t.Helper()
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	return revision1.Write(t.Context(), f, sha256.Sum256(b), plan)
}

// TestGolden checks that the output of this frozen package does not change. A difference would invalidate files that
// were already sealed. Write revision2 instead of changing the output.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, v := range vectors() {
		got, _, err := write(t, v.file, v.plan)
		require.NoError(t, err, v.name)
		sum := sha256.Sum256(got)
		require.Equal(t, v.want, hex.EncodeToString(sum[:]), v.name)
	}
}

// TestPlanSurvivesTheRecord checks that a plan decoded from a record yields the same bytes.
func TestPlanSurvivesTheRecord(t *testing.T) {
	t.Parallel()
	b := file(false, objects()...)
	want, _, err := write(t, b, full())
	require.NoError(t, err)
	text, err := json.Marshal(full())
	require.NoError(t, err)
	var plan revision1.Plan
	require.NoError(t, json.Unmarshal(text, &plan))
	got, _, err := write(t, b, plan)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Contains(t, string(got), "90 0 obj\nnull", "missing objects that the file refers to must be defined")
}

// TestWrite_PlanForAnotherFile_IsRejected checks that a plan for another file results in an error and no bytes.
func TestWrite_PlanForAnotherFile_IsRejected(t *testing.T) {
	t.Parallel()
	b := file(false, objects()...)
	for name, plan := range map[string]revision1.Plan{
		"no such page":                {Cuts: []revision1.Cut{{Page: 3, Codes: [][4]float64{{13, 5, 5, 1}}}}},
		"pages out of order":          {Cuts: []revision1.Cut{{Page: 2}, {Page: 1}}},
		"no text there":               {Cuts: []revision1.Cut{{Page: 1, Codes: [][4]float64{{12, 5, 5, 1}}}}},
		"beyond the text":             {Cuts: []revision1.Cut{{Page: 1, Codes: [][4]float64{{13, 5, 500, 1}}}}},
		"negative":                    {Cuts: []revision1.Cut{{Page: 1, Codes: [][4]float64{{13, -5, 5, 1}}}}},
		"no form":                     {Cuts: []revision1.Cut{{Form: 1, Codes: [][4]float64{{13, 5, 5, 1}}}}},
		"a form twice":                {Cuts: []revision1.Cut{{Form: 6, Codes: [][4]float64{{14, 0, 2, 1}}}, {Form: 6, Codes: [][4]float64{{14, 0, 2, 1}}}}},
		"no structure element":        {Texts: []int{5}},
		"an object that is not there": {Texts: []int{90}},
		"no such dictionary":          {Inline: [][2]int{{8, 9}}},
		"before the first dictionary": {Inline: [][2]int{{8, -1}}},
		"no such clone":               {Cuts: []revision1.Cut{{Page: 1, Uses: [][2]int{{59, 1}}}}},
		"a clone of a page":           {Cuts: []revision1.Cut{{Page: 1, Clone: 1}}},
		"clones out of order":         {Cuts: []revision1.Cut{{Form: 6, Clone: 2}}},
		"a clone in itself":           {Cuts: []revision1.Cut{{Form: 6, Clone: 1, Uses: [][2]int{{0, 1}}}}},
		"no form is painted there":    {Cuts: []revision1.Cut{{Page: 1, Uses: [][2]int{{3, 1}}}, {Form: 6, Clone: 1}}},
	} {
		got, _, err := write(t, b, plan)
		require.Error(t, err, name)
		require.Empty(t, got, name)
	}
}

// TestTooLarge checks that a revision of more than maxSize bytes is rejected.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	long := "(" + strings.Repeat("a", 12<<20) + ") Tj"
	b := file(false, "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2/MediaBox[0 0 9 9]>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R>>", "<</Type/Page/Parent 2 0 R/Contents 5 0 R>>", stream("", long))
	cut := [][4]float64{{0, 0, 1, 1}}
	_, _, err := write(t, b, revision1.Plan{Cuts: []revision1.Cut{{Page: 1, Codes: cut}, {Page: 2, Codes: cut}}})
	require.ErrorIs(t, err, pdf.ErrLimit)
}

// FuzzWrite checks that, for any file, the result is an error or a readable file from which the same plan removes
// nothing more.
func FuzzWrite(f *testing.F) {
	f.Add(file(false, objects()...))
	f.Add(file(true, objects()...))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.Limits{MaxObjects: 1000, MaxPages: 50, MaxObject: 1 << 16, MaxStream: 1 << 20, MaxParsed: 1 << 26})
		if err != nil {
			return
		}
		plan := revision1.Plan{Active: true, Form: true}
		hash := sha256.Sum256(b)
		got, _, err := revision1.Write(t.Context(), in, hash, plan)
		if err != nil || len(got) == 0 {
			return
		}
		again, _, err := revision1.Write(t.Context(), in, hash, plan)
		require.NoError(t, err)
		require.Equal(t, got, again)
		all := append(bytes.Clone(b), got...)
		out, err := pdf.Open(bytes.NewReader(all), int64(len(all)), pdf.DefaultLimits())
		require.NoError(t, err)
		more, changes, err := revision1.Write(t.Context(), out, sha256.Sum256(all), plan)
		if err == nil {
			require.Empty(t, more, "%v", changes)
		}
	})
}
