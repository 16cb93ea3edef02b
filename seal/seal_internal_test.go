package seal

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal/rejection"
)

// TestWhatASealerRemembers checks the cached hash of the time-stamp authority's certificates and the cached QR code.
func TestWhatASealerRemembers(t *testing.T) {
	t.Parallel()
	var a authority
	a.last.Store(&[32]byte{7})
	got, err := a.issuers(t.Context()) // the authority is not contacted
	require.NoError(t, err)
	require.Equal(t, [32]byte{7}, got)
	a.last.Store(&[32]byte{8})
	got, err = a.issuers(t.Context())
	require.NoError(t, err)
	require.Equal(t, [32]byte{8}, got)

	var codes qrCache
	first, err := codes.of("https://a.example.org")
	require.NoError(t, err)
	again, err := codes.of("https://a.example.org")
	require.NoError(t, err)
	require.Same(t, &first[0], &again[0])
	other, err := codes.of("https://b.example.org")
	require.NoError(t, err)
	require.NotEqual(t, first, other)
}

// emptyPDF returns a PDF that contains only a catalog.
func emptyPDF(t *testing.T) *pdf.File {
	t.Helper()
	b := []byte("%PDF-1.7\n1 0 obj\n<</Type/Catalog>>\nendobj\n")
	b = fmt.Appendf(b, "xref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer\n<</Size 2/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(b))
	f, err := pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits())
	require.NoError(t, err)
	return f
}

// TestAnnotation_Place checks which part of a page an annotation is assumed to cover. An annotation covers nothing if
// no viewer shows it, and the whole page if viewers may interpret its position differently.
func TestAnnotation_Place(t *testing.T) {
	t.Parallel()
	f := emptyPDF(t)
	for rect, want := range map[string][]pdf.Box{
		"": nil, "/Rect 7": nil, "/Rect[1 2 3]": nil, "/Rect[3 4 1 2]": {{X0: 1, Y0: 2, X1: 3, Y1: 4}},
		"/Rect[1 2 3 4 5]": {everywhere}, "/Rect[1 2 3/x]": {everywhere},
		"/F 2/Rect[1 2 3 4]": nil, "/F 32/Rect[1 2 3 4]": nil, "/F 36/Rect[1 2 3 4]": {{X0: 1, Y0: 2, X1: 3, Y1: 4}},
	} {
		d, err := pdf.Value("<</Subtype/Square" + rect + ">>").Dict()
		require.NoError(t, err, rect)
		var o stamps
		require.NoError(t, (&painter{assembly: &assembly{file: f}}).annotation(&o, 0, d, nil), rect)
		require.Equal(t, want, o.covers, rect)
	}
	for _, flags := range []string{"-1", "2147483648", "1.5", "/x"} {
		d, err := pdf.Value("<</Subtype/Square/F " + flags + "/Rect[1 2 3 4]>>").Dict()
		require.NoError(t, err)
		err = (&painter{assembly: &assembly{file: f}}).annotation(&stamps{}, 0, d, nil)
		var refused *rejection.Error
		require.ErrorAs(t, err, &refused, flags)
		require.Equal(t, rejection.PDFAmbiguous, refused.Code, flags)
	}
}

// TestDarkAnnotation_Background checks which annotations count as dark: a form field whose background is dark in any
// color space, and any other annotation.
func TestDarkAnnotation_Background(t *testing.T) {
	t.Parallel()
	f := emptyPDF(t)
	for colour, want := range map[string]bool{
		"": false, "/MK<<>>": false, "/MK<</BG 7>>": false, "/MK<</BG[]>>": false,
		"/MK<</BG[1]>>": false, "/MK<</BG[0.5]>>": true, "/MK<</BG[1 1 0]>>": false, "/MK<</BG[0 0 1]>>": true,
		"/MK<</BG[0 0 0 0]>>": false, "/MK<</BG[0 0 1 0]>>": false, "/MK<</BG[0 0 0 0.5]>>": true, "/MK<</BG[1 0.5 0 0]>>": true,
	} {
		d, err := pdf.Value(fmt.Sprintf("<<%s>>", colour)).Dict()
		require.NoError(t, err)
		p := &painter{assembly: &assembly{file: f}}
		dark, err := p.darkAnnotation(d, true)
		require.NoError(t, err, colour)
		require.Equal(t, want, dark, colour)
		dark, err = p.darkAnnotation(d, false)
		require.NoError(t, err)
		require.True(t, dark)
	}
}
