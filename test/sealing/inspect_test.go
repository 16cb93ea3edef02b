package sealing_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/test/kit/sealkit"
)

// TestFontsThatAreReplaced checks the warning for fonts that are not embedded. A font whose type supports embedded
// outlines must contain them. Other types have no outlines to embed.
func TestFontsThatAreReplaced(t *testing.T) {
	t.Parallel()
	for font, warned := range map[string]bool{
		"/Subtype/Type1":                                          true,
		"/Subtype/MMType1":                                        true,
		"/Subtype/TrueType":                                       true,
		"/Subtype/CIDFontType0":                                   true,
		"/Subtype/CIDFontType2/FontDescriptor 1001 0 R":           true,
		"/Subtype/Type1/FontDescriptor<</FontFile null>>":         true,
		"/Subtype/Type1/FontDescriptor<</FontFile 1002 0 R>>":     false,
		"/Subtype/TrueType/FontDescriptor<</FontFile2 1002 0 R>>": false,
		"/Subtype/Type1/FontDescriptor<</FontFile3 1002 0 R>>":    false,
		"/Subtype/Type3":                                          false,
		"/Subtype/Type0":                                          false,
	} {
		want := 1 // every test file has this warning
		if warned {
			want = 2
		}
		pdf := sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{
			"<</Type/Font/BaseFont/Arial" + font + ">>", "<</Type/FontDescriptor>>", "<</Length 2>>\nstream\n{}\nendstream",
		}})
		require.Equal(t, want, warning(t, pdf, admission.WarnFont).Count, font)
	}
}

func warning(t *testing.T, pdf []byte, code string) admission.Warning {
	t.Helper()
	for _, w := range sealkit.Admitted(t, pdf).Warnings {
		if w.Code == code {
			return w
		}
	}
	return admission.Warning{}
}

// TestAppearances checks the warning for displayed annotations without an appearance, except those that only mark a
// position on the page.
func TestAppearances(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]int{
		"/Subtype/Square/Rect[0 0 9 9]":                1,
		"/Subtype/Square/Rect[0 0 9 9]/F 4":            1,
		"/Subtype/Square/Rect[0 0 9 9]/F 2":            0,
		"/Subtype/Square/Rect[0 0 9 9]/F 32":           0,
		"/Subtype/Square/Rect[0 0 9 9]/F 36":           0,
		"/Subtype/Square/Rect[0 0 9 9]/AP<<>>":         0,
		"/Subtype/Popup/Rect[0 0 9 9]":                 0,
		"/Subtype/Link/Rect[0 0 9 9]":                  0,
		"/Subtype/Square":                              0,
		"/Rect[0 0 9 9]":                               0,
		"/Type/ExtGState/Subtype/Square/Rect[0 0 9 9]": 0,
	} {
		pdf := sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{"<<" + annotation + ">>"}})
		require.Equal(t, want, warning(t, pdf, admission.WarnAppearance).Count, annotation)
	}
	for state, want := range map[string]int{"/op true": 1, "/OP true": 1, "/OP false/op true": 1, "/op false": 0, "": 0} {
		pdf := sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{"<</Type/ExtGState" + state + ">>"}})
		require.Equal(t, want, warning(t, pdf, admission.WarnOverprint).Count, state)
	}
	both := sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage(""), Objects: []string{"<</Subtype/Square/Rect[0 0 9 9]>>", "<</Type/ExtGState/op true>>", "<</S/Hide>>"}})
	var codes []string
	for _, w := range sealkit.Admitted(t, both).Warnings {
		codes = append(codes, w.Code)
	}
	require.IsNonDecreasing(t, codes)
	require.GreaterOrEqual(t, len(codes), 4)
}

// TestMessagesQuoteFilesSafely checks that names from a file are quoted in printable ASCII and with a maximum length.
func TestMessagesQuoteFilesSafely(t *testing.T) {
	t.Parallel()
	detail := func(name string) string {
		// The file has no text and no font, unlike other test files, because only the first occurrence is quoted.
		pdf := sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]/Resources<<>>", Content: "q Q"}}, Objects: []string{"<</Subtype/" + name + "/Rect[0 0 9 9]>>"}})
		return warning(t, pdf, admission.WarnAppearance).Detail
	}
	require.Equal(t, "a ~b in object 1000", detail("a#20#7Eb"))
	require.Equal(t, "ab in object 1000", detail("a#1F#7F#0A#C3#A4#1Bb"))
	const rest = len(" in object 1000")
	require.Equal(t, strings.Repeat("x", 200-rest)+" in object 1000", detail(strings.Repeat("x", 200-rest)))
	require.Equal(t, strings.Repeat("x", 120)+strings.Repeat("y", 80), detail(strings.Repeat("x", 120)+strings.Repeat("y", 100)))
	_, err := admission.Admit(t.Context(), bytes.NewReader(nil), 0, admission.DefaultLimits())
	var rejected *rejection.Error
	require.ErrorAs(t, err, &rejected)
}

// TestLimitsOfUploads checks that a file at each limit is admitted, and that a file above the limit is rejected.
func TestLimitsOfUploads(t *testing.T) {
	t.Parallel()
	pdf := sealkit.ClassicPDF(sealkit.Layout{Pages: append(append(sealkit.LetterPage(""), sealkit.LetterPage("")...), sealkit.LetterPage("")...)})
	objects := bytes.Count(pdf, []byte(" obj\n")) + bytes.Count(pdf, []byte(" obj<<"))
	require.Greater(t, objects, 5)
	for name, set := range map[string]func(lim *admission.Limits, n int){
		"bytes":   func(lim *admission.Limits, n int) { lim.MaxBytes = int64(len(pdf) + n) },
		"pages":   func(lim *admission.Limits, n int) { lim.MaxPages = 3 + n },
		"objects": func(lim *admission.Limits, n int) { lim.MaxObjects = objects + n },
	} {
		lim := admission.DefaultLimits()
		set(&lim, 0)
		_, err := admission.Admit(t.Context(), bytes.NewReader(pdf), int64(len(pdf)), lim)
		require.NoError(t, err, name)
		set(&lim, -1)
		_, err = admission.Admit(t.Context(), bytes.NewReader(pdf), int64(len(pdf)), lim)
		var rejected *rejection.Error
		require.ErrorAs(t, err, &rejected, name)
		require.Equal(t, map[string]string{"bytes": rejection.PDFTooLarge, "pages": rejection.PDFTooManyPages, "objects": rejection.PDFTooComplex}[name], rejected.Code)
	}
}
