package pdf_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"countersign/pdf"
)

// FuzzReader reads everything that sealing reads from an uploaded file.
func FuzzReader(f *testing.F) {
	seeds, err := filepath.Glob("../seal/testdata/*.pdf")
	if err != nil || len(seeds) == 0 {
		f.Fatal("../seal/testdata contains no seeds")
	}
	for _, name := range seeds {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		lim := pdf.Limits{MaxObjects: 1000, MaxPages: 100, MaxObject: 1 << 16, MaxStream: 1 << 18}
		file, err := pdf.Open(bytes.NewReader(b), int64(len(b)), lim)
		if err != nil {
			return
		}
		_ = file.Objects(func(o pdf.Object) error {
			_ = o.Value.Names(func(string) {})
			if o.IsStream() {
				_, _ = file.StreamData(o)
			}
			return nil
		})
		_, _ = file.Walk(func(p *pdf.Page) error {
			if _, err := file.Geometry(p); err != nil {
				return err
			}
			c, err := file.Contents(p.Dict)
			if err != nil {
				return err
			}
			_, err = file.ReadContent(c, p.Resources, []pdf.Box{{X1: 9, Y1: 9}})
			return err
		})
		if w, err := pdf.NewIncrement(file); err == nil {
			w.Add(pdf.Value("<<>>"))
			_ = w.Finish(pdf.Ref{Num: 1}, nil, []byte("0123456789abcdef"))
		}
	})
}

// FuzzParse parses single objects. Parsing an accepted object again must find the same end.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"<</A 1/B[1 2 R 0 R]/C(a(b)\\)c)/D<48 65>>>", "[1 -2.5 +3 .4 5. true false null /N#61me]", "12 0 R", "12 0", "(\\101\\\r\nx)", "<</K<<>>>>% c", "/", "<>", "((()))",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, end, err := pdf.Parse(b)
		if err != nil {
			return
		}
		if end > len(b) || len(v) > end {
			t.Fatalf("object of %d bytes ends at byte %d of %d", len(v), end, len(b))
		}
		again, _, err := pdf.Parse(v)
		if err != nil || !bytes.Equal(again, v) {
			t.Fatalf("%q is parsed as %q after being written: %v", v, again, err)
		}
		_ = v.Names(func(string) {})
		_, _ = v.Int()
		_, _ = v.Float()
		_, _ = v.Ref()
		_, _ = v.Bytes()
		if d, err := v.Dict(); err == nil {
			if _, err := d.Value().Dict(); err != nil {
				t.Fatalf("%q is written as %q", v, d.Value())
			}
		}
	})
}
