package sealing_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/pdf"
	"countersign/seal"
	"countersign/seal/admission"
	"countersign/seal/picture"
	"countersign/seal/rejection"
	"countersign/seal/verify"
	"countersign/test/kit/sealkit"
)

// FuzzCheckPNG checks that every accepted picture is small and is accepted again.
func FuzzCheckPNG(f *testing.F) {
	f.Add(sealkit.SignaturePNG(f, 40, 20))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := picture.Check(b)
		if err != nil {
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected)
			return
		}
		_, err = picture.Check(out.PNG)
		require.NoError(t, err)
	})
}

// FuzzSubmission checks that every text accepted at submission can be drawn.
func FuzzSubmission(f *testing.F) {
	k := sealkit.NewFixture(f)
	s := k.Sealer(f)
	original := sealkit.SimplePDF(1)
	for _, t := range []string{"Ada", "שלום (1)", "क्षत्रिय", "한국어 x", "a\nb\tc", "e\u0301\u200d", "لا إله"} {
		f.Add(t, 100.0, 20.0)
	}
	f.Fuzz(func(t *testing.T, text string, w, h float64) {
		if len(text) > 300 || seal.CheckText(text) != nil || !(w > 1 && w < 500 && h > 1 && h < 500) {
			return
		}
		j := sealkit.Job(t, original)
		j.Values = []seal.Value{{FieldID: "f", SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 10, Y: 10, W: w, H: h, Text: text}}
		j.Envelope.Subject, j.Signers[0].Name = text, text
		out, err := os.CreateTemp(t.TempDir(), "out")
		require.NoError(t, err)
		defer func() { require.NoError(t, out.Close()) }()
		_, err = s.Seal(context.Background(), out, j)
		require.NoError(t, err)
	})
}

// FuzzUpload checks that every admitted file can be sealed, and then contains no references to missing objects.
func FuzzUpload(f *testing.F) {
	k := sealkit.NewFixture(f)
	s := k.Sealer(f)
	f.Add(sealkit.SimplePDF(2))
	f.Add(sealkit.HybridPDF())
	f.Add(sealkit.OpenEndedContents())
	f.Add(sealkit.ClassicPDF(sealkit.Layout{Pages: sealkit.LetterPage("/Rotate 90/CropBox[1 2 300 400]")}))
	lim := admission.DefaultLimits()
	lim.MaxPages, lim.MaxObjects = 50, 500
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := admission.Admit(context.Background(), bytes.NewReader(b), int64(len(b)), lim)
		if err != nil {
			var rejected *rejection.Error
			require.ErrorAs(t, err, &rejected)
			return
		}
		out, err := os.CreateTemp(t.TempDir(), "out")
		require.NoError(t, err)
		defer func() { require.NoError(t, out.Close()) }()
		res, err := s.Seal(context.Background(), out, sealkit.Job(t, b))
		require.NoError(t, err)
		after, err := pdf.Open(out, res.Size, pdf.DefaultLimits())
		require.NoError(t, err)
		require.Empty(t, sealkit.Undefined(t, after))
	})
}

// FuzzVerify checks that a changed file is never valid, and that verification reports problems only in its report.
func FuzzVerify(f *testing.F) {
	k := sealkit.NewFixture(f)
	_, b := sealkit.Sealed(f, k.Sealer(f), sealkit.Job(f, sealkit.SimplePDF(1)))
	trust := k.Trust()
	f.Add(0, []byte("%"))
	f.Add(len(b)-20, []byte("9"))
	f.Add(600, []byte("<<"))
	f.Fuzz(func(t *testing.T, at int, patch []byte) {
		if at < 0 || at >= len(b) || len(patch) == 0 {
			return
		}
		c := append(bytes.Clone(b[:at]), patch...)
		if end := at + len(patch); end < len(b) {
			c = append(c, b[end:]...)
		}
		if bytes.Equal(c, b) {
			return
		}
		r, err := verify.File(context.Background(), bytes.NewReader(c), int64(len(c)), trust)
		require.NoError(t, err)
		require.NotEqual(t, verify.VerdictValid, r.Verdict, sealkit.TextOf(t, r))
	})
}
