package seal

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/prepare"
	"countersign/seal/lang"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
	"countersign/seal/verify"
)

// TestSealer_Caches checks the cached hash of the time-stamp authority's certificates and the cached QR code.
func TestSealer_Caches(t *testing.T) {
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
		var rejected *rejection.Error
		require.ErrorAs(t, err, &rejected, flags)
		require.Equal(t, rejection.PDFAmbiguous, rejected.Code, flags)
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

// TestJob_Validate checks that a job is accepted only if it is complete.
func TestJob_Validate(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", sha256.Size)
	good := func() Job {
		upload := bytes.NewReader([]byte("12"))
		return Job{
			Original: upload, Size: 1, OriginalSHA256: sum, Envelope: Envelope{ID: "e"}, SealedAt: time.Unix(1, 0),
			Prepared: &Prepared{UploadSize: 1, Upload: upload, Prepared: manifest.Prepared{SHA256: sum, Size: 1, As: manifest.Rewritten}},
		}
	}
	for says, changes := range map[string][]func(*Job){
		"": {
			func(*Job) {}, func(j *Job) { j.Prepared = nil }, func(j *Job) { j.Prepared.As, j.Prepared.Upload = manifest.Appended, nil },
		},
		"the original": {
			func(j *Job) { j.Original = nil }, func(j *Job) { j.Size = 0 }, func(j *Job) { j.Prepared.Upload = nil },
		},
		"hash of the original": {
			func(j *Job) { j.OriginalSHA256 = sum[2:] }, func(j *Job) { j.OriginalSHA256 = strings.ToUpper(sum) },
		},
		"description of the prepared file": {
			func(j *Job) { j.Prepared.SHA256 = sum[2:] }, func(j *Job) { j.Prepared.Size++ }, func(j *Job) { j.Prepared.UploadSize = 0 },
		},
		"envelope and time": {
			func(j *Job) { j.Envelope.ID = "" }, func(j *Job) { j.SealedAt = time.Time{} },
		},
	} {
		for i, change := range changes {
			j := good()
			change(&j)
			if err := j.validate(); says == "" {
				require.NoError(t, err, i)
			} else {
				require.ErrorContains(t, err, says, i)
			}
		}
	}
}

// TestCheckText_RejectsWhatCannotBeDrawn checks the rejection of text that is too long or that no font can draw.
func TestCheckText_RejectsWhatCannotBeDrawn(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckText("Ada\nLovelace "+strings.Repeat("é", maxText-13)))
	for text, want := range map[string][2]string{
		strings.Repeat("é", maxText+1): {rejection.TextTooLong, "longer than 4000 characters"},
		"a\U0010FFFDb":                 {rejection.GlyphMissing, "U+10FFFD"},
		"a\xffb":                       {rejection.GlyphMissing, "not valid Unicode"},
	} {
		var rejected *rejection.Error
		require.ErrorAs(t, CheckText(text), &rejected)
		require.Equal(t, want[0], rejected.Code)
		require.Contains(t, rejected.Message, want[1])
	}
}

// TestUploadSignatures_AreListed checks the list of an upload's signatures, which has a maximum length.
func TestUploadSignatures_AreListed(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.Equal(t, "…", uploadSignatures(nil))
	require.Equal(t, "Ada ("+verify.Moment(at)+"), ?", uploadSignatures([]manifest.Signature{{By: "Ada", At: &at}, {}}))
	long := manifest.Signature{By: strings.Repeat("é", maxUploadSigner+1)}
	name := strings.Repeat("é", maxUploadSigner)
	all := slices.Repeat([]manifest.Signature{long}, maxUploadSignatures)
	require.Equal(t, strings.Join(slices.Repeat([]string{name}, maxUploadSignatures), ", "), uploadSignatures(all))
	require.Equal(t, uploadSignatures(all)+", …", uploadSignatures(append(all, long)))
}

// TestCertificate_Wording checks the wording of the certificate where it depends on optional data.
func TestCertificate_Wording(t *testing.T) {
	t.Parallel()
	text := lang.ForTag("en")
	c := &certificate{text: text, job: &Job{Prepared: &Prepared{Prepared: manifest.Prepared{As: manifest.Appended, SHA256: "sum"}}}}
	require.Equal(t, "Begins.", c.prepared("Begins."), "nothing was removed")
	c.job.Prepared.Changes = []prepare.Change{{Kind: "x", Count: 2}, {Kind: "y", Count: 1}, {Kind: "x", Count: 3}}
	require.Equal(t, "Begins. "+fmt.Sprintf(text.Prepared, "x (5), y (1)", "sum"), c.prepared("Begins."))

	require.False(t, c.showed())
	c.job.Appearance = &manifest.Appearance{}
	require.False(t, c.showed())
	c.job.Appearance.Pages = make([]manifest.PagePicture, 1)
	require.True(t, c.showed())

	for want, e := range map[string]auditEvent{
		text.EventNames["page_viewed"]:            {Event: "page_viewed", Detail: map[string]any{"page": 1e9}},
		fmt.Sprintf(text.PageViewed, 999_999_999): {Event: "page_viewed", Detail: map[string]any{"page": 1e9 - 1, "dwellMs": 999.0}},
		fmt.Sprintf(text.PageViewedFor, 0, 1):     {Event: "page_viewed", Detail: map[string]any{"page": 0.0, "dwellMs": 1000.0}},
		text.EventNames["pages_viewed_again"]:     {Event: "pages_viewed_again", Detail: map[string]any{"views": 2.0}},
		fmt.Sprintf(text.PagesViewedAgain, 2, 3):  {Event: "pages_viewed_again", Detail: map[string]any{"views": 2.0, "dwellMs": 3999.0}},
		text.EventNames["signer.replaced"]:        {Event: "signer.replaced", Detail: map[string]any{"signerId": "unknown"}},
		"an event of a later version":             {Event: "an event of a later version"},
	} {
		require.Equal(t, want, c.describe(e, persons{}))
	}
	require.Empty(t, persons{}.name("signer:unknown"))
}

// TestValue_Empty checks that only a value of a known kind can be omitted.
func TestValue_Empty(t *testing.T) {
	t.Parallel()
	for _, v := range []Value{{Kind: Signature}, {Kind: Checkbox}, {Kind: Text}, {Kind: Signature, Text: "x"}} {
		require.True(t, v.empty(), v.Kind)
	}
	for _, v := range []Value{{Kind: Stamp, PNG: []byte{1}}, {Kind: Radio, Checked: true}, {Kind: "other", Text: "x"}, {Kind: "other", PNG: []byte{1}}} {
		require.False(t, v.empty(), v.Kind)
	}
}

// TestAttachUpload_TooLarge_IsRejected checks that a large upload is rejected before memory is allocated for it.
func TestAttachUpload_TooLarge_IsRejected(t *testing.T) {
	t.Parallel()
	a := &assembly{file: emptyPDF(t), job: &Job{Prepared: &Prepared{UploadSize: maxUpload + 1, Prepared: manifest.Prepared{As: manifest.Rewritten}}}}
	_, err := a.attachUpload(nil)
	require.ErrorIs(t, err, pdf.ErrLimit)
	a.job.Prepared.As = manifest.Appended
	all, err := a.attachUpload(nil)
	require.NoError(t, err)
	require.Empty(t, all)
}
