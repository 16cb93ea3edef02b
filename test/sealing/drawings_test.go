package sealing_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/test/kit/sealkit"
)

// zeroes makes random names and numbers reproducible. The signatures are not compared.
type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// TestDrawings compares everything that sealing adds to a document with the reviewed golden files, object by object and
// operator by operator. After an intended change, inspect the pages, run the test with -update, and review the diff.
func TestDrawings(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	k.Config.Rand = zeroes{}
	s := k.Sealer(t)
	for name, j := range drawnJobs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original := make([]byte, j.Size)
			_, err := j.Original.ReadAt(original, 0)
			require.NoError(t, err)
			_, b := sealkit.Sealed(t, s, j)
			got := dumpAdded(t, b, original)
			file := filepath.Join("testdata", "drawings", name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			if got == string(want) {
				return
			}
			is, was := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i := range max(len(is), len(was)) {
				if i >= len(is) || i >= len(was) || is[i] != was[i] {
					from := max(0, i-5)
					t.Fatalf("%s differs from line %d on:\nwas\n%s\nis\n%s", file, i+1,
						strings.Join(was[from:min(len(was), i+8)], "\n"), strings.Join(is[from:min(len(is), i+8)], "\n"))
				}
			}
		})
	}
}

// unstable matches the parts that depend on keys or on the compression.
var unstable = regexp.MustCompile(`/Chain<[0-9A-F]+>|/ByteRange\[[0-9 ]+\]|/Contents<[0-9A-Fa-f]{200,}>|/Filter ?/FlateDecode\s*|/Length1? [0-9]+\s*|/Size [0-9]+/ModDate`)

// dumpAdded returns a text form of the objects that sealing added or rewrote.
func dumpAdded(t *testing.T, b, original []byte) string {
	t.Helper()
	f := sealkit.Open(t, b)
	from := int64(0)
	if bytes.HasPrefix(b, original) {
		from = int64(len(original))
	}
	var nums []int
	require.NoError(t, f.VisitChanged(from, func(num int) error {
		nums = append(nums, num)
		return nil
	}))
	slices.Sort(nums)
	var out strings.Builder
	for _, num := range slices.Compact(nums) {
		o, err := f.NewestVersion(num)
		require.NoError(t, err)
		if o.Value.IsNull() {
			fmt.Fprintf(&out, "%d null\n", num)
			continue
		}
		head := unstable.ReplaceAllString(strings.TrimSpace(string(o.Value)), "")
		fmt.Fprintf(&out, "%d %s\n", num, head)
		if !o.IsStream() {
			continue
		}
		data, err := f.StreamData(o)
		require.NoError(t, err)
		switch {
		case strings.Contains(head, "jose"):
			data = withoutEvents(t, data)
		case bytes.HasPrefix(data, []byte("%PDF")) || !utf8.Valid(data) || bytes.ContainsRune(data, 0) || bytes.Contains(data, []byte("begincmap")):
			data = fmt.Appendf(nil, "%d bytes, SHA-256 %x", len(data), sha256.Sum256(data))
		}
		fmt.Fprintf(&out, "%s\n", data)
	}
	return out.String()
}

// withoutEvents returns the payload of a seal record without the audit chain, which is part of the job.
func withoutEvents(t *testing.T, jws []byte) []byte {
	t.Helper()
	var record struct {
		Payload string `json:"payload"`
	}
	require.NoError(t, json.Unmarshal(jws, &record))
	payload, err := base64.RawURLEncoding.DecodeString(record.Payload)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(payload, &m))
	delete(m, "audit")
	out, err := json.Marshal(m)
	require.NoError(t, err)
	return out
}

// drawnJobs returns jobs that together cover everything that sealing can draw.
func drawnJobs(t *testing.T) map[string]seal.Job {
	t.Helper()
	return map[string]seal.Job{
		"plain":       sealkit.Job(t, sealkit.SimplePDF(2)),
		"several":     severalDocuments(t),
		"covered":     coveredJob(t),
		"many-events": manyEvents(t),
		"tagged":      taggedJob(t),
		"grounds":     groundsJob(t),
		"texts":       textsJob(t),
		"pictures":    picturesJob(t),
		"branded":     sealkit.BrandedJob(t, "en"),
		"previous":    sealkit.WithPrevious(t, sealkit.Job(t, sealkit.SimplePDF(1)), 0, "on leave", "Grace Hopper", "Edith Clarke"),
		"parts":       sealkit.WithParts(t, sealkit.Job(t, sealkit.SimplePDF(1)), sealkit.Hosted, seal.Part{WitnessFor: sealkit.AdaID}),
	}
}

// severalDocuments returns the job of an envelope with two documents and many omitted members, in a right-to-left
// language.
func severalDocuments(t *testing.T) seal.Job {
	t.Helper()
	j := sealkit.Job(t, sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 842 595]/Rotate 90" + sealkit.OwnResources}}, Tree: "/Resources<<>>"}))
	j.Language, j.VerifyURL, j.Envelope.Subject, j.Document.Name = "ar", "", "", ""
	other := strings.Repeat("0123456789abcdef", 4)
	j.Documents = append(j.Documents, seal.Document{ID: "d2", SHA256: other, Order: 2, PageCount: 1})
	sum := sha256.Sum256([]byte(j.OriginalSHA256 + other))
	j.Envelope.OriginalHash = fmt.Sprintf("%x", sum)
	j.Events, j.ChainHead = sealkit.Chain(t,
		map[string]any{"event": "envelope.created", "actor": "user:7", "timestamp": sealkit.Now},
		map[string]any{"event": "document.added", "actor": "user:7", "timestamp": sealkit.Now, "detail": map[string]any{"documentId": sealkit.DocumentID, "sha256": j.OriginalSHA256, "order": 1}},
		map[string]any{"event": "document.added", "actor": "user:7", "timestamp": sealkit.Now, "detail": map[string]any{"documentId": "d2", "sha256": other, "order": 2}},
		map[string]any{"event": "signer.signed", "actor": "signer:" + sealkit.AdaID, "timestamp": sealkit.Now},
	)
	j.Signers = j.Signers[:1]
	ada := &j.Signers[0]
	ada.SignedAt, ada.ConsentVersion, ada.IP, ada.UserAgent, ada.AuthMethod, ada.Phone = sealkit.Now, "", "", "", "sms_otp", "+4512345678"
	ada.Shown = &seal.Shown{}
	for i := range j.Values {
		j.Values[i].SignerID = sealkit.AdaID
	}
	return j
}

// coveredJob returns a job with values below annotations of every kind, on light and dark backgrounds.
func coveredJob(t *testing.T) seal.Job {
	t.Helper()
	const dark = "0 0 0 rg 0 0 400 300 re f"
	const covered = "/MediaBox[0 0 400 300]" + sealkit.OwnResources + "/Annots "
	original := sealkit.ClassicPDF(sealkit.Layout{
		Catalog: "/AcroForm<</NeedAppearances true/Fields[1000 0 R 1001 0 R]>>",
		Pages: []sealkit.Page{
			{Extra: covered + "[1000 0 R 1001 0 R 1002 0 R 1003 0 R 1004 0 R<</Subtype/Widget/F 4/Rect[300 100 390 190]>>]"},
			{Extra: covered + "1005 0 R/Rotate 270", Content: dark},
			{Extra: covered + "[1000 0 R]", Content: "q BT /F1 9 Tf (x) Tj"},
			{Extra: "/MediaBox[0 0 40 30]/Annots 7" + sealkit.OwnResources},
			{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources, Content: "q q 1 0 0 1 0 0 cm"},
		},
		Objects: []string{
			"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/F 4/Rect[10 200 100 290]/MK<</BG[0.1]>>>>",
			"<</Type/Annot/Subtype/Widget/FT/Tx/T(b)/F 704/Rect[100 290 190 200]/MK<</BG[0.9 0.9 0.9]>>>>",
			"<</Type/Annot/Subtype/Square/F 4/Rect[200 200 290 290]>>",
			"<</Type/Annot/Subtype/Link/F 4/Rect[300 200 390 290]>>",
			"<</Type/Annot/Subtype/Square/F 2/Rect[300 200 390 290]>>",
			"[1002 0 R]",
		},
	})
	j := sealkit.Job(t, original)
	value := func(page int, x, y float64, v seal.Value) seal.Value {
		v.FieldID, v.SignerID, v.Page, v.X, v.Y, v.W, v.H = fmt.Sprintf("p%d-%g-%g", page, x, y), sealkit.AdaID, page, x, y, 60, 30
		return v
	}
	signature, text := seal.Value{Kind: seal.Signature, PNG: sealkit.SignaturePNG(t, 60, 40)}, seal.Value{Kind: seal.Text, Text: "Ada, who writes more than fits"}
	checked := seal.Value{Kind: seal.Checkbox, Checked: true}
	j.Values = []seal.Value{
		value(1, 20, 20, signature), value(1, 110, 20, text), value(1, 210, 20, checked), value(1, 310, 20, text), value(1, 310, 120, text),
		value(1, 20, 120, seal.Value{Kind: seal.Initial}),
		value(2, 20, 20, checked), value(2, 210, 20, text), value(3, 20, 20, text), value(3, 20, 200, checked), value(4, 0, 0, text), value(4, 2, 2, checked),
	}
	return j
}

// manyEvents returns a job whose events fill several pages of the certificate.
func manyEvents(t *testing.T) seal.Job {
	t.Helper()
	j := sealkit.Job(t, sealkit.SimplePDF(1))
	j.Envelope.Subject = strings.Repeat("A subject that takes more than two lines of the page. ", 6)
	events := []map[string]any{
		{"event": "envelope.created", "actor": "app:demo"},
		{"event": "document.added", "actor": "app:demo", "detail": map[string]any{"documentId": sealkit.DocumentID, "sha256": j.OriginalSHA256, "order": 1}},
	}
	for _, d := range []map[string]any{
		{"page": 1}, {"page": 2, "dwellMs": 999}, {"page": 2, "dwellMs": 1000}, {"page": 0, "dwellMs": 61000}, {"page": -1}, {"page": "x"}, nil, {"page": 3, "dwellMs": -5}, {"page": 1e9},
	} {
		events = append(events, map[string]any{"event": "page_viewed", "actor": "signer:" + sealkit.AdaID, "detail": d, "ip": "2001:db8:85a3:1111:2222:8a2e:370:7334"})
	}
	for _, e := range []string{"invitation.sent", "invitation.failed", "reminder.sent", "otp.requested", "unknown.event"} {
		for _, channel := range []any{"email", "sms", "pigeon", nil} {
			events = append(events, map[string]any{"event": e, "actor": "somebody", "detail": map[string]any{"channel": channel}})
		}
	}
	for range 20 {
		events = append(events, map[string]any{"event": "signer.viewed", "actor": "signer:" + sealkit.JomoID})
	}
	events = append(events, map[string]any{"event": "signer.signed", "actor": "signer:" + sealkit.AdaID}, map[string]any{"event": "signer.signed", "actor": "signer:" + sealkit.JomoID})
	for i := range 6 {
		s := j.Signers[i%2]
		s.ID, s.Name, s.AuthMethod = fmt.Sprintf("extra-%d", i), fmt.Sprintf("Signer number %d with a name that is long enough to take two lines of the certificate", i), "other"
		s.Email = fmt.Sprintf("a.very.long.address.that.takes.more.than.one.line.number.%d@a.rather.long.host.name.example.org", i)
		s.ConsentAt, s.SignedAt = time.Time{}, sealkit.Now
		s.Shown = &seal.Shown{Signers: []string{sealkit.AdaID, "gone"}}
		j.Signers = append(j.Signers, s)
		events = append(events, map[string]any{"event": "signer.signed", "actor": "signer:" + s.ID})
	}
	for i := range events {
		events[i]["timestamp"] = sealkit.Now.Add(time.Duration(i) * time.Second)
	}
	j.Signers[0].SignedAt, j.Signers[1].SignedAt = sealkit.Now.Add(51*time.Second), sealkit.Now.Add(52*time.Second)
	for i := range 6 {
		j.Signers[2+i].SignedAt = sealkit.Now.Add(time.Duration(53+i) * time.Second)
	}
	j.Events, j.ChainHead = sealkit.Chain(t, events...)
	return j
}

// taggedJob returns a job whose original has a structure tree that sealing extends.
func taggedJob(t *testing.T) seal.Job {
	t.Helper()
	return sealkit.Job(t, sealkit.ClassicPDF(sealkit.Layout{
		Catalog: "/MarkInfo<</Marked true>>/StructTreeRoot 1000 0 R",
		Pages:   []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]/StructParents 0" + sealkit.OwnResources, Content: "/P<</MCID 0>>BDC BT /F1 24 Tf 72 700 Td (Page) Tj ET EMC"}},
		Objects: []string{
			"<</Type/StructTreeRoot/K[1001 0 R]/ParentTree 1003 0 R/ParentTreeNextKey 1>>", "<</Type/StructElem/S/Document/P 1000 0 R/K[1002 0 R]>>",
			"<</Type/StructElem/S/P/P 1001 0 R/Pg 10 0 R/K 0>>", "<</Nums[0[1002 0 R]]>>",
		},
	}))
}

// groundsJob returns a job with values above form fields with every kind of background, and with annotations that
// cover no value.
func groundsJob(t *testing.T) seal.Job {
	t.Helper()
	var l sealkit.Layout
	var values []seal.Value
	annots := ""
	for i, look := range []string{
		"/MK<</BG[0.54]>>", "/MK<</BG[0.55]>>", "/MK<</BG[0.56]>>", "/MK<</BG[1 0 0]>>", "/MK<</BG[0 1 0]>>", "/MK<</BG[0 0 1]>>", "/MK<</BG[0 0 0 1]>>",
		"/MK<</BG[0 0 0 0]>>", "/MK<</BG[1 0 1 0]>>", "/MK<</BG[]>>", "/MK<</BG 5>>", "/MK<<>>", "", "/F 2", "/F 32", "/F 710", "/F 64", "/F 704", "/F 128", "/F 512",
		"/Subtype/Square", "/Subtype/Popup", "/Subtype/Link", "/Rect[0 0 9]", "/Rect 7",
	} {
		x, y := float64(10+75*(i%5)), float64(10+40*(i/5))
		object := "<</Type/Annot" + look
		if !strings.Contains(look, "/Subtype") {
			object += "/Subtype/Widget"
		}
		if !strings.Contains(look, "/Rect") {
			object += fmt.Sprintf("/Rect[%g %g %g %g]", x+60, 300-y-30, x, 300-y)
		}
		l.Objects = append(l.Objects, object+">>")
		annots += fmt.Sprintf("%d 0 R ", 1000+i)
		values = append(values, seal.Value{FieldID: fmt.Sprint(i), SignerID: sealkit.AdaID, Kind: seal.Date, Page: 1, X: x + 5, Y: y + 5, W: 50, H: 20, Text: "2026-11-21"})
	}
	l.Pages = []sealkit.Page{{Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources + "/Annots[" + annots + "null]"}, {Extra: "/MediaBox[0 0 400 300]" + sealkit.OwnResources + "/Annots[1000 0 R 1020 0 R]"}}
	values = append(values, seal.Value{FieldID: "again", SignerID: sealkit.AdaID, Kind: seal.Checkbox, Checked: true, Page: 2, X: 10, Y: 10, W: 20, H: 30})
	j := sealkit.Job(t, sealkit.ClassicPDF(l))
	j.Values = values
	return j
}

// textsJob returns a job with fields whose text fits on one line, is broken into lines, or is reduced in size.
func textsJob(t *testing.T) seal.Job {
	t.Helper()
	j := sealkit.Job(t, sealkit.ClassicPDF(sealkit.Layout{Pages: []sealkit.Page{{Extra: "/MediaBox[0 0 612 792]" + sealkit.OwnResources, Content: "q"}, {Extra: "/MediaBox[0 0 605 792]" + sealkit.OwnResources}, {Extra: "/MediaBox[0 0 34 34]/UserUnit 2" + sealkit.OwnResources}}}))
	j.Values = nil
	y := 10.0
	for i, c := range []struct {
		text string
		w, h float64
	}{
		{"short", 100, 30},
		{"short", 100, 9.6},
		{"short", 100, 9.5},
		{"a text that does not fit on one line of this field", 100, 30},
		{"a text that does not fit on one line of this field", 100, 9.7},
		{"a text that does not fit on one line of this field", 100, 9.6},
		{"a text that does not fit on one line of this field", 60, 9.5},
		{strings.Repeat("a text that does not fit at all ", 20), 60, 20},
		{"two\nlines", 100, 40},
		{"three\nshort\nlines", 50, 20},
		{"i", 3, 40},
		{"this text is somewhat longer", 100, 10},
		{"unbreakable-and-long-word-without-blanks", 40, 60},
	} {
		j.Values = append(j.Values, seal.Value{FieldID: fmt.Sprint(i), SignerID: sealkit.AdaID, Kind: seal.Text, Page: 1, X: 72, Y: y, W: c.w, H: c.h, Text: c.text})
		y += c.h + 5
	}
	for i, c := range [][2]float64{{20, 10}, {10, 20}, {3, 3}} {
		j.Values = append(j.Values, seal.Value{FieldID: fmt.Sprint("c", i), SignerID: sealkit.AdaID, Kind: seal.Checkbox, Checked: true, Page: 2, X: 72, Y: 40 * float64(i), W: c[0], H: c[1]})
	}
	return j
}

// picturesJob returns a job with one picture for each way in which pictures are embedded, and with more pictures than
// are prepared in advance.
func picturesJob(t *testing.T) seal.Job {
	t.Helper()
	j := sealkit.Job(t, sealkit.SimplePDF(1))
	j.Values = nil
	encode := func(img image.Image) []byte {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		return b.Bytes()
	}
	fill := func(w, h int, at func(x, y int) color.NRGBA) []byte {
		img := image.NewNRGBA(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				img.SetNRGBA(x, y, at(x, y))
			}
		}
		return encode(img)
	}
	grey16 := image.NewGray16(image.Rect(0, 0, 5, 3))
	grey16.SetGray16(2, 1, color.Gray16{Y: 0x8040})
	palette := image.NewPaletted(image.Rect(0, 0, 6, 2), color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{9, 8, 7, 100}, color.NRGBA{}})
	palette.Pix[3], palette.Pix[7] = 1, 2
	for i, b := range [][]byte{
		fill(9, 4, func(x, _ int) color.NRGBA { return color.NRGBA{10, 20, 30, uint8(x * 28)} }),
		fill(8, 4, func(int, int) color.NRGBA { return color.NRGBA{10, 20, 30, 255} }),
		fill(7, 4, func(x, y int) color.NRGBA { return color.NRGBA{uint8(x), uint8(x), uint8(x), uint8(255 - y)} }),
		fill(7, 4, func(x, _ int) color.NRGBA { return color.NRGBA{uint8(x), uint8(x), uint8(x), 255} }),
		fill(7, 4, func(x, y int) color.NRGBA { return color.NRGBA{uint8(x), uint8(y), 200, uint8(x * 40)} }),
		fill(7, 4, func(x, y int) color.NRGBA { return color.NRGBA{uint8(x), uint8(y), 200, 255} }),
		fill(7, 4, func(x, _ int) color.NRGBA { return color.NRGBA{uint8(x), uint8(x), 200, 255} }),
		fill(7, 4, func(x, _ int) color.NRGBA { return color.NRGBA{200, uint8(x), uint8(x), 255} }),
		encode(grey16), encode(palette),
		fill(40, 2, func(int, int) color.NRGBA { return color.NRGBA{A: 255} }), fill(2, 40, func(int, int) color.NRGBA { return color.NRGBA{B: 5, A: 255} }),
		fill(9, 4, func(x, _ int) color.NRGBA { return color.NRGBA{10, 20, 30, uint8(x * 28)} }),
	} {
		j.Values = append(j.Values, seal.Value{FieldID: fmt.Sprint(i), SignerID: sealkit.AdaID, Kind: seal.Signature, Page: 1, X: 72, Y: 10 + 40*float64(i), W: 100, H: 30, PNG: b})
	}
	j.Values[3].SignerID, j.Values[4].SignerID = sealkit.JomoID, sealkit.JomoID
	return j
}
