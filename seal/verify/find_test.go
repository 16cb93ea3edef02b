package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/sandbox"
)

const markText = "/CSGN_Seal<</V 1/Record 1 0 R/Original[0 1]"

// TestMarks_AreFoundAtEveryOffset checks that each mark is found exactly once and at its position, regardless of how
// the bytes are split.
func TestMarks_AreFoundAtEveryOffset(t *testing.T) {
	t.Parallel()
	text := []byte("ab" + markText + "cd" + markText + markText)
	var want []int64
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("/CSGN_Seal"))
		if i < 0 {
			break
		}
		want, at = append(want, int64(at+i)), at+i+1
	}
	require.Len(t, want, 3)
	for piece := 1; piece <= len(text); piece++ {
		var m Marks
		for from := 0; from < len(text); from += piece {
			require.NoError(t, m.Scan(text[from:min(len(text), from+piece)]))
		}
		require.Equal(t, want, m.at, "in pieces of %d", piece)
	}
	for first := range text {
		var m Marks
		require.NoError(t, m.Scan(text[:first]))
		require.NoError(t, m.Scan(nil))
		require.NoError(t, m.Scan(text[first:]))
		require.Equal(t, want, m.at, "in two parts, the first of %d", first)
	}
}

// TestMarksAreBounded checks that eight marks are recorded and a ninth is an error. A mark that would begin before the
// start of the file does not count.
func TestMarksAreBounded(t *testing.T) {
	t.Parallel()
	var m Marks
	require.NoError(t, m.Scan([]byte(strings.Repeat(markText, maxMarks))))
	require.Len(t, m.at, maxMarks)
	require.NoError(t, m.Scan([]byte("and more")))
	require.ErrorIs(t, m.Scan([]byte(markText)), errTooManyMarks)
	var inOne Marks
	require.ErrorIs(t, inOne.Scan([]byte(strings.Repeat(markText, maxMarks+1))), errTooManyMarks)
	var across Marks
	require.NoError(t, across.Scan([]byte(strings.Repeat(markText, maxMarks)+"/CSGN_Se")))
	require.ErrorIs(t, across.Scan([]byte("al<</V 1")), errTooManyMarks)
	var early Marks
	require.NoError(t, early.Scan([]byte("_Seal<</V "+markText)))
	require.Equal(t, []int64{10}, early.at)
	var first Marks
	require.NoError(t, first.Scan([]byte(markText)))
	require.Equal(t, []int64{0}, first.at)
}

// TestLastSealIsSearchedThroughTheWholeFile checks that every mark is tried, starting with the last one, at any
// position relative to the pieces that are read.
func TestLastSealIsSearchedThroughTheWholeFile(t *testing.T) {
	t.Parallel()
	search := func(size int, marks ...int) *Found {
		t.Helper()
		b := bytes.Repeat([]byte{' '}, size)
		for _, at := range marks {
			copy(b[at:], markText)
		}
		found, err := Find(t.Context(), bytes.NewReader(b), int64(size))
		require.NoError(t, err)
		require.Nil(t, found.seal)
		return found
	}
	const size = 2*CopyBuffer + 100
	for _, at := range []int{0, 1, 99, 100, CopyBuffer + 80, CopyBuffer + 89, CopyBuffer + 90, CopyBuffer + 95, CopyBuffer + 99, CopyBuffer + 100, size - len(markText)} {
		found := search(size, at)
		require.Error(t, found.reason, "at %d", at)
		require.EqualValues(t, at, found.mark)
		require.NotErrorIs(t, found.reason, errTooManyMarks)
	}
	require.EqualValues(t, 500, search(size, 100, 500).mark, "the last occurrence must be reported")
	require.NoError(t, search(size).reason)
	var many []int
	for i := range maxMarks {
		many = append(many, CopyBuffer+80-60*i)
	}
	require.NotErrorIs(t, search(size, many...).reason, errTooManyMarks, "each occurrence must count only once, even at the edge of a piece")
	require.ErrorIs(t, search(size, append(many, 10)...).reason, errTooManyMarks)

	trace := strings.ToUpper(fmt.Sprintf("%x", "countersign-seal.json"))
	for _, at := range []int{0, 99, CopyBuffer + 60, CopyBuffer + 100 - len(trace), CopyBuffer + 100, size - len(trace)} {
		b := bytes.Repeat([]byte{' '}, size)
		copy(b[at:], trace)
		found, err := Find(t.Context(), bytes.NewReader(b), size)
		require.NoError(t, err)
		require.True(t, found.remains, "at %d", at)
	}
	require.False(t, search(size, 5).remains)

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Find(canceled, bytes.NewReader(nil), 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Find(t.Context(), bytes.NewReader(nil), 1)
	require.ErrorContains(t, err, "reading")
}

// TestResemblesSeal checks that a file with eight marks resembles a seal regardless of the marks' context, because its
// own seal would add a ninth mark.
func TestResemblesSeal(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{0: false, 1: false, maxMarks - 1: false, maxMarks: true, maxMarks + 1: true} {
		for _, signed := range []bool{false, true} {
			b := []byte("%PDF-1.7 " + strings.Repeat(markText, n))
			got, err := ResemblesSeal(t.Context(), bytes.NewReader(b), int64(len(b)), signed)
			require.NoError(t, err)
			require.Equal(t, want, got, "%d marks, signed %v", n, signed)
		}
	}
	_, err := ResemblesSeal(t.Context(), bytes.NewReader(nil), 5, false)
	require.Error(t, err)
}

// dictionaryText describes a signature dictionary as written by the seal. The byte range matches unless the function in
// change modifies it.
type dictionaryText struct {
	number, record, stamp, name, padding string
	contents                             int // number of digits
	after                                int // number of bytes that follow
	from, to                             int64
	change                               func(at, contents, contentsEnd, rest int64) [3]int64
}

func (d dictionaryText) bytes() (b []byte, mark int64) {
	var out bytes.Buffer
	out.WriteString("%PDF-1.7\n" + d.number + " 0 obj\n")
	fmt.Fprintf(&out, "%s/CSGN_Seal<</V 1/Record %s 0 R/Original[%d %d]/Chain<%s>/Stamp/%s>>\n", signatureBegin, d.record, d.from, d.to, strings.Repeat("A", 64), d.stamp)
	fmt.Fprintf(&out, "/Name %s\n/Reason (r)\n/M(D:20260102030405Z)\n%s/ByteRange[0 ", d.name, docMDP)
	at := out.Len()
	out.WriteString(d.padding + "]\n/Contents")
	contents := out.Len()
	out.WriteString("<" + strings.Repeat("0", d.contents) + ">")
	end := out.Len()
	out.WriteString(strings.Repeat(".", d.after))
	b = out.Bytes()
	n := [3]int64{int64(contents), int64(end), int64(d.after)}
	if d.change != nil {
		n = d.change(int64(at), n[0], n[1], n[2])
	}
	copy(b[at:at+len(d.padding)], fmt.Sprintf("%d %d %d", n[0], n[1], n[2]))
	return b, int64(bytes.Index(b, []byte("/CSGN")))
}

// TestSignatureDictionary checks that a signature dictionary is accepted only in the form that the sealer writes, and
// only if its byte range matches its position.
func TestSignatureDictionary(t *testing.T) {
	t.Parallel()
	issuers := "/Issuers<" + strings.Repeat("B", 64) + ">"
	good := dictionaryText{number: "12", record: "34", stamp: "None", name: "(Ada)", padding: strings.Repeat(" ", ByteRangeWidth), contents: 20, after: 30, from: 5, to: 9}
	read := func(d dictionaryText) (signatureDict, []byte, error) {
		b, mark := d.bytes()
		got, err := readSignatureDict(bytes.NewReader(b), int64(len(b)), mark)
		return got, b, err
	}
	for name, change := range map[string]func(d *dictionaryText){
		"without a stamp":          func(*dictionaryText) {},
		"number 0":                 func(d *dictionaryText) { d.number, d.record = "0", "0" },
		"ten digits":               func(d *dictionaryText) { d.number, d.record = "1234567890", "9876543210" },
		"a stamp that is demanded": func(d *dictionaryText) { d.stamp = "Required" + issuers },
		"a stamp that may be":      func(d *dictionaryText) { d.stamp = "Optional" + issuers },
		"a name with brackets":     func(d *dictionaryText) { d.name = `(a\(b\)\\)` },
		"a name in Unicode":        func(d *dictionaryText) { d.name = "<FEFF0041>" },
		"the least contents":       func(d *dictionaryText) { d.contents = 2 },
		"the most contents":        func(d *dictionaryText) { d.contents = 2 * maxContents },
		"one byte after it":        func(d *dictionaryText) { d.after = 1 },
	} {
		d := good
		change(&d)
		got, b, err := read(d)
		require.NoError(t, err, name)
		require.Equal(t, d.number, fmt.Sprint(got.object), name)
		require.Equal(t, d.record, fmt.Sprint(got.Record.Num), name)
		require.Equal(t, []int64{5, 9, int64(len(b))}, []int64{got.From, got.To, got.end}, name)
		require.EqualValues(t, bytes.Index(b, []byte(d.number+" 0 obj")), got.at, name)
		require.Equal(t, byte('<'), b[got.contents], name)
		require.Equal(t, byte('>'), b[got.contentsEnd-1], name)
		require.Equal(t, strings.Repeat("A", 64), got.Chain, name)
		stamp, hash, _ := strings.Cut(d.stamp, "/Issuers")
		require.Equal(t, []string{stamp, strings.Trim(hash, "<>")}, []string{got.Stamp, got.Issuers}, name)
	}
	for name, change := range map[string]func(d *dictionaryText){
		"eleven digits":             func(d *dictionaryText) { d.record = "12345678901" },
		"a leading zero":            func(d *dictionaryText) { d.record = "012" },
		"no number":                 func(d *dictionaryText) { d.number = "" },
		"a stamp without issuers":   func(d *dictionaryText) { d.stamp = "Required" },
		"issuers without a stamp":   func(d *dictionaryText) { d.stamp = "None" + issuers },
		"an open bracket in a name": func(d *dictionaryText) { d.name = "(a(b)" },
		"less room":                 func(d *dictionaryText) { d.padding = d.padding[1:] },
		"more room":                 func(d *dictionaryText) { d.padding += " " },
		"no contents":               func(d *dictionaryText) { d.contents = 0 },
		"half a byte":               func(d *dictionaryText) { d.contents = 3 },
		"contents too long":         func(d *dictionaryText) { d.contents = 2*maxContents + 2 },
		"nothing after it":          func(d *dictionaryText) { d.after = 0 },
		"another beginning": func(d *dictionaryText) {
			d.change = func(_, c, e, r int64) [3]int64 { return [3]int64{c - 1, e, r} }
		},
		"an end before the beginning": func(d *dictionaryText) {
			d.change = func(_, c, _, r int64) [3]int64 { return [3]int64{c, 7, r} }
		},
	} {
		d := good
		change(&d)
		_, _, err := read(d)
		require.Error(t, err, name)
		var cut *cutOffError
		require.NotErrorAs(t, err, &cut, name)
	}
	b, mark := good.bytes()
	_, err := readSignatureDict(bytes.NewReader(b[:len(b)-1]), int64(len(b)-1), mark)
	var cut *cutOffError
	require.ErrorAs(t, err, &cut)
	require.EqualValues(t, len(b), cut.end)
	begin := int64(bytes.Index(b, []byte("12 0 obj")))
	for _, from := range []int64{begin + 1, begin + 2, begin + 3, mark} { // decreasing amounts of content before the mark
		part := b[from:]
		got, err := readSignatureDict(bytes.NewReader(part), int64(len(part)), mark-from)
		require.Error(t, err, "%d %+v", from-begin, got)
	}
}

// TestContentsHaveOneForm checks that only lower-case hexadecimal digits are accepted, although upper-case digits have
// the same meaning.
func TestContentsHaveOneForm(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"<0aff>": true, "<0AFF>": false, "<0aFf>": false, "<0a f>": false, "(0aff>": false, "<0aff)": false, "<0agg>": false} {
		d := signatureDict{contents: 3, contentsEnd: 9}
		got, err := d.readContents(strings.NewReader("abc" + text + "x"))
		if ok {
			require.NoError(t, err, text)
			require.Equal(t, []byte{0x0a, 0xff}, got)
			continue
		}
		require.ErrorIs(t, err, errDigits, text)
	}
	_, err := signatureDict{contents: 3, contentsEnd: 9}.readContents(strings.NewReader("abc<00"))
	require.Error(t, err)
	require.NotErrorIs(t, err, errDigits)
}

// TestHashFile checks that every digest matches the bytes that it covers, regardless of the number of bytes already
// read and of how the rest is split.
func TestHashFile(t *testing.T) {
	t.Parallel()
	data := make([]byte, 3*CopyBuffer+77)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	size := int64(len(data))
	sum := func(parts ...[]byte) []byte {
		h := sha256.New()
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	for _, c := range []struct {
		to    int64
		holes []byteRangeGap
	}{
		{100, []byteRangeGap{{200, 300, size}}},
		{CopyBuffer, []byteRangeGap{{CopyBuffer, CopyBuffer + 10, 2 * CopyBuffer}}},
		{CopyBuffer + 1, []byteRangeGap{{2 * CopyBuffer, 2*CopyBuffer + 1, 2*CopyBuffer + 2}, {2*CopyBuffer + 5, 3 * CopyBuffer, size}}},
		{2*CopyBuffer + 9, []byteRangeGap{{2*CopyBuffer + 10, 2*CopyBuffer + 20, size}}},
		{2 * CopyBuffer, []byteRangeGap{{2 * CopyBuffer, 2*CopyBuffer + 4, size}}},
		{CopyBuffer + 1, []byteRangeGap{{CopyBuffer + 1, CopyBuffer + 4, size}}},
	} {
		check := func(got digests, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, sum(data[:c.to]), got.original)
			require.Equal(t, sum(data), got.whole.Sum(nil))
			for i, h := range c.holes {
				require.Equal(t, sum(data[:h.from], data[h.to:h.end]), got.covered[i], "%d of %+v", i, c)
				require.Equal(t, sum(data[:h.from]), got.begun[h.from].Sum(nil))
			}
		}
		got, err := hashFile(t.Context(), bytes.NewReader(data), size, c.to, c.holes, nil)
		check(got, err)

		// The beginning is already hashed, so only the rest is read.
		begun := sha256.New()
		known := c.holes[0].from
		begun.Write(data[:known])
		unread := bytes.Clone(data)
		clear(unread[:known])
		done := &Prefix{Size: known, Hash: begun, Original: sum(data[:c.to])}
		got, err = hashFile(t.Context(), bytes.NewReader(unread), size, c.to, c.holes, done)
		check(got, err)
		require.Equal(t, sum(data[:known]), done.Hash.Sum(nil), "earlier results must not change")

		// Repeat the test, this time also supplying the hashes of the bytes before each signature.
		done = &Prefix{Size: size, Hash: got.whole, Original: got.original, Begun: got.begun}
		for _, h := range c.holes {
			clear(unread[:h.from])
		}
		copy(unread[c.holes[0].to:], data[c.holes[0].to:])
		got, err = hashFile(t.Context(), bytes.NewReader(unread), size, c.to, c.holes, done)
		check(got, err)
	}
	_, err := hashFile(t.Context(), bytes.NewReader(data), size, 9, []byteRangeGap{{size + 1, size + 2, size + 3}}, nil)
	require.ErrorContains(t, err, "beyond the end")
	marked := append(bytes.Clone(data), strings.Repeat(markText, maxMarks+1)...)
	_, err = hashFile(t.Context(), bytes.NewReader(marked), int64(len(marked)), 9, nil, nil)
	require.ErrorIs(t, err, errTooManyMarks)
}

// TestContainsMark checks that ContainsMark returns true for one mark and for too many marks.
func TestContainsMark(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{0: false, 1: true, maxMarks + 1: true} {
		text := "%PDF-1.7 " + strings.Repeat(markText, n)
		got, err := ContainsMark(t.Context(), strings.NewReader(text), int64(len(text)))
		require.NoError(t, err, n)
		require.Equal(t, want, got, n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ContainsMark(ended, strings.NewReader(markText), int64(len(markText)))
	require.ErrorIs(t, err, context.Canceled)
}

// TestReadPages_OfASealedRevision_EndsWithItsContext checks that reading stops when the context is canceled, and does
// nothing without a sealed revision.
func TestReadPages_OfASealedRevision_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, new(Found).ReadPages(ended))
	f := opened(t, smallPDF(map[int]string{1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 9 9]>>", 3: "<</Type/Page/Parent 2 0 R>>"}))
	found := &Found{seal: &sealedRevision{file: f}}
	require.NoError(t, found.ReadPages(t.Context()))
	require.ErrorIs(t, found.ReadPages(ended), context.Canceled)
}

// TestHash_TooManyMarks_EndTheExamination checks that the examination stops if there are too many marks, because it
// cannot determine which of them belongs to the seal.
func TestHash_TooManyMarks_EndTheExamination(t *testing.T) {
	t.Parallel()
	data := []byte("0123456789" + strings.Repeat(markText, maxMarks+1))
	e := &examiner{examination: &Examination{}, r: bytes.NewReader(data), size: int64(len(data)), seal: &sealedRevision{}}
	require.ErrorIs(t, e.hash(t.Context()), errStopExamining)
	require.Equal(t, Code("signature.does_not_fit"), e.examination.report.Findings[0].Code)
}

// TestExamineTask_AnswersAsExamine checks that the task returns the same result as Examine in this process.
func TestExamineTask_AnswersAsExamine(t *testing.T) {
	t.Parallel()
	const text = "%PDF-1.7 no document"
	here, err := Examine(t.Context(), strings.NewReader(text), int64(len(text)))
	require.NoError(t, err)
	a, ok := ExamineTask(t.Context(), strings.NewReader(text), int64(len(text)), sandbox.Bounds{}).(examinationAnswer)
	require.True(t, ok)
	require.NoError(t, a.Err())
	require.NotEmpty(t, a.Report.Findings)
	require.Equal(t, here.report, a.Report)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	a, ok = ExamineTask(ended, strings.NewReader(text), int64(len(text)), sandbox.Bounds{}).(examinationAnswer)
	require.True(t, ok)
	require.Error(t, a.Err())
}
