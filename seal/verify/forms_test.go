package verify

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
)

// smallPDF returns a PDF with the given objects. Object 1 is the catalog.
func smallPDF(objects map[int]string) []byte { return addObjects([]byte("%PDF-1.7\n"), objects) }

func addObjects(b []byte, objects map[int]string) []byte {
	prev := ""
	if i := bytes.LastIndex(b, []byte("startxref\n")); i >= 0 {
		prev = "/Prev " + strings.Fields(string(b[i:]))[1]
	}
	out := bytes.NewBuffer(bytes.Clone(b))
	var nums []int
	for n := range objects {
		nums = append(nums, n)
	}
	slices.Sort(nums)
	table := "xref\n0 1\n0000000000 65535 f \n"
	for _, n := range nums {
		table += fmt.Sprintf("%d 1\n%010d 00000 n \n", n, out.Len())
		fmt.Fprintf(out, "%d 0 obj\n%s\nendobj\n", n, objects[n])
	}
	at := out.Len()
	fmt.Fprintf(out, "%strailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", table, max(nums[len(nums)-1]+1, 9000), prev, at)
	return out.Bytes()
}

func opened(t *testing.T, b []byte) *pdf.File {
	t.Helper()
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	return f
}

// TestSignedFields checks which files count as signed, with forms of every structure.
func TestSignedFields(t *testing.T) {
	t.Parallel()
	const sig = "<</Type/Sig/ByteRange[0 1 2 3]>>"
	form := func(fields string, more map[int]string) map[int]string {
		all := map[int]string{1: "<</AcroForm<</Fields[" + fields + "]>>>>", 9: sig}
		for n, o := range more {
			all[n] = o
		}
		return all
	}
	for name, tt := range map[string]struct {
		objects map[int]string
		fields  []int
		signed  bool
	}{
		"no form":                         {map[int]string{1: "<<>>"}, nil, false},
		"a form that is no dictionary":    {map[int]string{1: "<</AcroForm 5>>"}, nil, false},
		"a form without fields":           {map[int]string{1: "<</AcroForm<<>>>>"}, nil, false},
		"fields that are no list":         {map[int]string{1: "<</AcroForm<</Fields 5>>>>"}, nil, false},
		"a signature":                     {form("2 0 R", map[int]string{2: "<</FT/Sig/V 9 0 R>>"}), []int{2}, true},
		"a direct signature":              {form("2 0 R", map[int]string{2: "<</FT/Sig/V " + sig + ">>"}), []int{2}, true},
		"an empty signature field":        {form("2 0 R", map[int]string{2: "<</FT/Sig>>"}), nil, false},
		"a value that is no signature":    {form("2 0 R", map[int]string{2: "<</FT/Sig/V<</Type/Sig>>>>"}), nil, false},
		"a value that is no dictionary":   {form("2 0 R", map[int]string{2: "<</FT/Sig/V(x)>>"}), nil, false},
		"a text field with such a value":  {form("2 0 R", map[int]string{2: "<</FT/Tx/V 9 0 R>>"}), nil, false},
		"a direct field":                  {form("<</FT/Sig/V 9 0 R>>", nil), []int{0}, true},
		"a direct field with a kid":       {form("<</FT/Sig/Kids[3 0 R]>>", map[int]string{3: "<</V 9 0 R>>"}), []int{3}, true},
		"its type in an object":           {form("2 0 R", map[int]string{2: "<</FT 3 0 R/V 9 0 R>>", 3: "/Sig"}), []int{2}, true},
		"a field that is no dictionary":   {form("2 0 R 3 0 R", map[int]string{2: "5", 3: "<</FT/Sig/V 9 0 R>>"}), []int{3}, true},
		"a kid that inherits":             {form("2 0 R", map[int]string{2: "<</FT/Sig/Kids[3 0 R 4 0 R]>>", 3: "<</V 9 0 R>>", 4: "<</FT/Tx/V 9 0 R>>"}), []int{3}, true},
		"a kid that inherits nothing":     {form("2 0 R", map[int]string{2: "<</Kids[3 0 R]>>", 3: "<</V 9 0 R>>"}), nil, false},
		"a kid that is its parent":        {form("2 0 R", map[int]string{2: "<</FT/Sig/V 9 0 R/Kids[2 0 R]>>"}), []int{2}, true},
		"the same twice":                  {form("2 0 R 2 0 R", map[int]string{2: "<</FT/Sig/V 9 0 R>>"}), []int{2}, true},
		"kids that are no list":           {form("2 0 R", map[int]string{2: "<</FT/Sig/V 9 0 R/Kids 7>>"}), []int{2}, true},
		"certified":                       {map[int]string{1: "<</Perms<</DocMDP 9 0 R>>>>", 9: sig}, nil, true},
		"usage rights":                    {map[int]string{1: "<</Perms<</UR 9 0 R>>>>", 9: sig}, nil, false},
		"usage rights of the third kind":  {map[int]string{1: "<</Perms<</UR3 9 0 R>>>>", 9: sig}, nil, false},
		"other permissions":               {map[int]string{1: "<</Perms<</X 9 0 R>>>>", 9: sig}, nil, false},
		"permissions that are no list":    {map[int]string{1: "<</Perms[9 0 R]>>", 9: sig}, nil, false},
		"other permissions and signature": {map[int]string{1: "<</Perms<</X 1>>/AcroForm<</Fields[2 0 R]>>>>", 2: "<</FT/Sig/V 9 0 R>>", 9: sig}, []int{2}, true},
	} {
		f := opened(t, smallPDF(tt.objects))
		refs, err := signatureFields(f)
		require.NoError(t, err, name)
		var nums []int
		for _, v := range refs {
			r, _ := v.Ref() // a direct field has no reference
			nums = append(nums, r.Num)
		}
		require.Equal(t, tt.fields, nums, name)
		signed, err := IsSigned(f)
		require.NoError(t, err, name)
		require.Equal(t, tt.signed, signed, name)
	}
}

// TestSignedWidgets checks that a widget is signed only if it is a signature field that contains a signature.
func TestSignedWidgets(t *testing.T) {
	t.Parallel()
	f := opened(t, smallPDF(map[int]string{1: "<<>>", 2: "<</FT/Sig/V 9 0 R>>", 3: "<</FT/Tx/V 9 0 R>>", 4: "<</FT/Sig>>", 5: "<</Parent 2 0 R>>", 9: "<</Type/Sig/ByteRange[0 1 2 3]>>"}))
	for num, want := range map[int]bool{2: true, 3: false, 4: false, 5: true} {
		o, err := f.Object(pdf.Ref{Num: num})
		require.NoError(t, err)
		d, err := f.Dict(o.Value)
		require.NoError(t, err)
		require.Equal(t, want, isSignedField(f, d), num)
	}
}

// TestSignedFields_NestingDepth_IsLimited checks that fields can be nested at most 33 levels deep.
func TestSignedFields_NestingDepth_IsLimited(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]error{33: nil, 34: pdf.ErrLimit} {
		objects := map[int]string{1: "<</AcroForm<</Fields[2 0 R]>>>>"}
		for i := range depth {
			objects[2+i] = fmt.Sprintf("<</Kids[%d 0 R]>>", 3+i)
		}
		objects[1+depth] = "<<>>"
		_, err := signatureFields(opened(t, smallPDF(objects)))
		require.ErrorIs(t, err, want, "%d", depth)
	}
}

// TestKindsOfObjects checks how the objects of an increment are classified.
func TestKindsOfObjects(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		"<</Type/Sig>>": additionSignature, "<</Type/DocTimeStamp>>": additionSignature, "<</ByteRange[0 1 2 3]>>": additionSignature,
		"<</Type/Page>>": additionPages, "<</Type/Pages>>": additionPages, "<</Type/Page/FT/Tx>>": additionPages,
		"<</Subtype/Widget>>": additionForm, "<</FT/Tx>>": additionForm, "<</Type/Annot/Subtype/Widget>>": additionForm,
		"<</Type/Annot>>": additionAnnotations, "<</Subtype/Square/Rect[0 0 1 1]>>": additionAnnotations,
		"<</Subtype/Square>>": additionSaved, "<</Rect[0 0 1 1]>>": additionSaved, "<<>>": additionSaved, "(text)": additionSaved,
	} {
		f := opened(t, smallPDF(map[int]string{1: "<<>>", 2: object}))
		require.Equal(t, want, kindOfObject(f, 2), object)
	}
	broken := smallPDF(map[int]string{1: "<<>>", 2: "<</Type/Sig>>"})
	broken = bytes.Replace(broken, []byte("2 0 obj"), []byte("3 0 obj"), 1)
	require.Empty(t, kindOfObject(opened(t, broken), 2))
}

// TestClassifyAdditions checks that the most significant object determines the kind of the additions, and that the
// first such object is reported if several are equally significant.
func TestClassifyAdditions(t *testing.T) {
	t.Parallel()
	base := smallPDF(map[int]string{1: "<<>>"})
	const saved, annot, field, page, sig = "<<>>", "<</Type/Annot>>", "<</FT/Tx>>", "<</Type/Page>>", "<</Type/Sig>>"
	many := func(n int, last string) map[int]string {
		out := map[int]string{}
		for i := range n {
			out[2+i] = saved
		}
		out[2+n] = last
		return out
	}
	for name, tt := range map[string]struct {
		objects map[int]string
		kind    string
		object  int
	}{
		"saved":        {map[int]string{2: saved, 3: saved}, additionSaved, 2},
		"a comment":    {map[int]string{2: saved, 3: annot, 4: annot}, additionAnnotations, 3},
		"a field":      {map[int]string{2: annot, 3: field, 4: saved}, additionForm, 3},
		"a page":       {map[int]string{2: field, 3: page}, additionPages, 3},
		"a signature":  {map[int]string{2: sig, 3: page}, additionSignature, 2},
		"the last one": {many(maxObjectsExamined-1, annot), additionAnnotations, maxObjectsExamined + 1},
		"one beyond":   {many(maxObjectsExamined, annot), additionUnknown, 0},
		"too many, but a signature among the first": {func() map[int]string {
			all := many(maxObjectsExamined+5, saved)
			all[7] = sig
			return all
		}(), additionSignature, 7},
	} {
		b := addObjects(base, tt.objects)
		kind, object := classifyAdditions(t.Context(), bytes.NewReader(b), int64(len(b)), int64(len(base)))
		require.Equal(t, tt.kind, kind, name)
		require.Equal(t, tt.object, object, name)
	}
	for name, b := range map[string][]byte{"no increment": append(bytes.Clone(base), "more"...), "no PDF": []byte("more")} {
		kind, object := classifyAdditions(t.Context(), bytes.NewReader(b), int64(len(b)), int64(len(base)))
		require.Equal(t, additionUnknown, kind, name)
		require.Zero(t, object, name)
	}
}

// TestOtherSignatures checks that the claims of other signatures are reported without a verdict.
func TestOtherSignatures(t *testing.T) {
	t.Parallel()
	const total = 5000
	read := func(field, sig string) []OtherSignature {
		t.Helper()
		objects := map[int]string{1: "<</AcroForm<</Fields[2 0 R]>>>>", 2: "<</FT/Sig/V 9 0 R" + field + ">>", 5: "(" + strings.Repeat("x", 2000) + ")", 9: sig}
		objects[5] = "(" + strings.Repeat("x", total-len(smallPDF(objects))+2000) + ")"
		b := smallPDF(objects)
		require.Len(t, string(b), total)
		return otherSignatures(t.Context(), bytes.NewReader(b), total)
	}
	one := func(field, sig string) OtherSignature {
		t.Helper()
		all := read(field, sig)
		require.Len(t, all, 1)
		return all[0]
	}
	at := time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)
	require.Equal(t, OtherSignature{Field: "Name", Format: "f", At: &at, Covers: total, WholeFile: true},
		one("/T(Name)", fmt.Sprintf("<</SubFilter/f/M(D:20260102030405+01'00')/ByteRange[0 1 2 %d]>>", total-2)))
	require.Equal(t, OtherSignature{Format: "unknown format"}, one("", "<</ByteRange[0 1]/M 7>>"))
	for byteRange, covers := range map[string]int64{
		"0 1 0 0": 0, "0 1 7 8": 15, "0 1 -1 5": 0, "0 1 5 -1": 0, "0 1 5000 0": 5000, "0 1 5001 0": 0, "0 1 4999 1": 5000, "0 1 4999 2": 0,
		"0 1 2": 0, "0 1 2 3 4": 0, "0 1 (x) 3": 0, "0 1 2 (x)": 0,
	} {
		s := one("", "<</ByteRange["+byteRange+"]>>")
		require.Equal(t, covers, s.Covers, byteRange)
		require.Equal(t, covers == total, s.WholeFile, byteRange)
	}
	require.Empty(t, otherSignatures(t.Context(), bytes.NewReader(smallPDF(map[int]string{1: "<</AcroForm 7>>"})), 9), "no form")
	unread := smallPDF(map[int]string{1: "<</AcroForm<</Fields[2 0 R]>>>>", 2: "<</FT 5 0 R/V 9 0 R>>", 9: "<</ByteRange[0 1 2 3]>>"})
	require.Empty(t, otherSignatures(t.Context(), bytes.NewReader(unread), int64(len(unread))), "no kind")
	fields, objects := "", map[int]string{9: "<</ByteRange[0 1 2 3]>>"}
	for i := range maxOthers + 1 {
		fields += fmt.Sprintf(" %d 0 R", 100+i)
		objects[100+i] = fmt.Sprintf("<</FT/Sig/V 9 0 R/T(%d)>>", i)
	}
	objects[1] = "<</AcroForm<</Fields[" + fields + "]>>>>"
	b := smallPDF(objects)
	all := otherSignatures(t.Context(), bytes.NewReader(b), int64(len(b)))
	require.Len(t, all, maxOthers)
	require.Equal(t, "31", all[31].Field)
	require.Empty(t, otherSignatures(t.Context(), strings.NewReader("no PDF"), 6))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, otherSignatures(ended, bytes.NewReader(b), int64(len(b))), "a canceled search returns nothing")
}

// TestTimesOfSignatures checks dates with and without a time zone, and invalid dates.
func TestTimesOfSignatures(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"D:20260102030405Z": "2026-01-02T03:04:05Z", "D:20260102030405-02'30'": "2026-01-02T05:34:05Z", "20260102030405": "2026-01-02T03:04:05Z",
	} {
		got := pdfTime(text)
		require.NotNil(t, got, text)
		require.Equal(t, want, got.Format(time.RFC3339), text)
	}
	for _, text := range []string{"", "D:2026", "yesterday", "D:20261302030405Z"} {
		require.Nil(t, pdfTime(text), text)
	}
}
