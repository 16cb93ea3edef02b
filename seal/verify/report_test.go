package verify

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func of(code Code) Finding { return newFinding(code, nil) }

// TestConclude checks the verdict derived from several findings, in every order.
func TestConclude(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		findings         []Code
		verdict          Verdict
		record           bool // whether the record is included
		confirmed        bool
		additions        bool // whether additions are reported
		summary, failure string
	}{
		"valid": {[]Code{"digest.unchanged", "timestamp.absent", "certificate.trusted"}, VerdictValid, true, true, false, "Sealed by Ada. The file is unchanged", "Sealed by Ada"},
		"untrusted": {
			[]Code{"timestamp.untrusted", "certificate.untrusted", "manifest_key.unknown"},
			VerdictUntrusted, true, false, true,
			"Content was added to the sealed document, whose seal is not trusted here: The certificate of", "Content was added",
		},
		"altered":               {[]Code{"later_changes.saved"}, VerdictAltered, false, false, true, "content was added afterwards", "Starting at byte"},
		"altered by its stamp":  {[]Code{"digest.unchanged", "archive_timestamp.untrusted"}, VerdictUntrusted, true, false, true, "A document time-stamp of", ""},
		"altered and untrusted": {[]Code{"later_changes.form", "certificate.untrusted"}, VerdictUntrusted, true, false, true, "The certificate of", "Starting at byte"},
		"altered and broken":    {[]Code{"later_changes.form", "digest.changed"}, VerdictBroken, false, false, false, "The sealed content was changed", "The file was changed"},
		"broken":                {[]Code{"digest.changed", "certificate.untrusted"}, VerdictBroken, false, false, false, "The sealed content was changed", "The file was changed"},
		"broken, named last":    {[]Code{"certificate.untrusted", "audit_chain.broken"}, VerdictBroken, false, false, false, "The sealed content was changed", "The audit chain is broken"},
		"no seal":               {[]Code{"signature.none"}, VerdictNotSealed, false, false, false, "This file was not sealed by this service.", ""},
		"no PDF":                {[]Code{"structure.not_pdf"}, VerdictNotSealed, false, false, false, "This file was not sealed by this service.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Report{Record: &Record{}, Additions: &Additions{}, SealedBy: "Ada"}
			for _, c := range tt.findings {
				r.Findings = append(r.Findings, of(c))
			}
			r.conclude()
			require.Equal(t, tt.verdict, r.Verdict)
			require.Equal(t, tt.verdict == VerdictValid, r.OK())
			require.Equal(t, tt.record, r.Record != nil)
			if tt.record {
				require.Equal(t, tt.confirmed, r.Record.Confirmed)
			}
			require.Equal(t, tt.additions, r.Additions != nil)
			require.Contains(t, r.Summary, tt.summary)
			require.Contains(t, r.FirstFailure(), tt.failure)
		})
	}
	alone := Report{Findings: []Finding{of("certificate.untrusted")}}
	alone.conclude()
	require.True(t, strings.HasPrefix(alone.Summary, "Sealed and unchanged, but not trusted here: The certificate of"), alone.Summary)
	others := Report{Findings: []Finding{of("signature.none")}, Signatures: []OtherSignature{{}}}
	others.conclude()
	require.Contains(t, others.Summary, "It contains other signatures")
	none := Report{Findings: []Finding{of("digest.unchanged")}, Summary: "all is well"}
	require.Equal(t, "all is well", none.FirstFailure())
}

// TestFindingsAreInOrder checks that findings are sorted by check, and within a check by the order of detection.
func TestFindingsAreInOrder(t *testing.T) {
	t.Parallel()
	r := Report{}
	for _, c := range []Code{"recorded.same", "certificate.trusted", "structure.readable", "digest.unchanged"} {
		r.add(c, nil)
	}
	first, second := newFinding("archive_timestamp.untrusted", values{"name": "a"}), newFinding("archive_timestamp.untrusted", values{"name": "b"})
	r.Findings = append(r.Findings, first, second)
	r.conclude()
	var order []string
	for _, f := range r.Findings {
		order = append(order, f.Check+f.Values["name"])
	}
	require.Equal(t, []string{"structure", "digest", "archive_timestampa", "archive_timestampb", "certificate", "recorded"}, order)
}

// TestStatusIsTheWorst checks that the status of a check with several findings is the worst status among them.
func TestStatusIsTheWorst(t *testing.T) {
	t.Parallel()
	absent, passed, untrusted, failed := of("archive_timestamp.absent"), of("archive_timestamp.confirmed"), of("archive_timestamp.untrusted"), of("digest.changed")
	failed.Check = CheckArchive
	for name, tt := range map[string]struct {
		findings []Finding
		want     Status
	}{
		"none":                 {nil, Absent},
		"of another check":     {[]Finding{of("digest.changed")}, Absent},
		"absent":               {[]Finding{absent}, Absent},
		"passed":               {[]Finding{passed}, Passed},
		"passed after absent":  {[]Finding{absent, passed}, Passed},
		"absent after passed":  {[]Finding{passed, absent}, Passed},
		"untrusted, passed":    {[]Finding{untrusted, passed}, Untrusted},
		"passed, untrusted":    {[]Finding{passed, untrusted}, Untrusted},
		"failed among others":  {[]Finding{passed, failed, untrusted}, Failed},
		"failed after another": {[]Finding{untrusted, failed}, Failed},
	} {
		require.Equal(t, tt.want, Report{Findings: tt.findings}.Status(CheckArchive), name)
	}
	require.True(t, Report{Findings: []Finding{passed, absent}}.Has("archive_timestamp.absent"))
	require.False(t, Report{Findings: []Finding{passed}}.Has("archive_timestamp.absent"))
}

// TestWriteText checks that the text contains a line with a mark for each finding, a line for each other signature, and
// the verdict.
func TestWriteText(t *testing.T) {
	t.Parallel()
	r := Report{
		Findings:   []Finding{of("digest.unchanged"), of("digest.changed"), of("certificate.untrusted"), of("timestamp.absent")},
		Signatures: []OtherSignature{{Format: "f", Covers: 7}, {Format: "g", By: "Ada", Covers: 9, WholeFile: true}},
		Summary:    "So it is.",
	}
	for verdict, text := range map[Verdict]string{
		VerdictValid: "VALID", VerdictUntrusted: "NOT TRUSTED HERE", VerdictAltered: "ALTERED", VerdictBroken: "BROKEN", VerdictNotSealed: "NOT SEALED",
	} {
		r.Verdict = verdict
		var b strings.Builder
		require.NoError(t, r.WriteText(&b))
		require.Equal(t, "✓ digest             The sealed bytes are unchanged.\n"+
			"✗ digest             The file was changed after it was sealed.\n"+
			"? certificate        The certificate of {name} is valid, but neither it nor any of its issuers is trusted here.\n"+
			"– timestamp          The signature has no time-stamp.\n"+
			"  Signature (f) by a signer whose certificate cannot be read over its first 7 bytes.\n"+
			"  Signature (g) by Ada over the whole file.\n"+
			"\n"+text+": So it is.\n", b.String())
		for n := range 7 {
			require.ErrorIs(t, r.WriteText(&failsAfter{n}), errFull, "line %d", n+1)
		}
	}
	require.Equal(t, []Verdict{"not_sealed", "broken", "untrusted", "altered", "valid"}, []Verdict{VerdictNotSealed, VerdictBroken, VerdictUntrusted, VerdictAltered, VerdictValid})
}

var errFull = errors.New("no room")

// failsAfter is a writer that fails after n successful writes.
type failsAfter struct{ n int }

func (f *failsAfter) Write(b []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestValuesOfFindings checks that each type of value is formatted for programs, and that times are also formatted for
// people.
func TestValuesOfFindings(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	f := newFinding("certificate.not_valid_then", values{"from": at, "to": time.Time{}, "at": "now\x00"})
	require.Equal(t, map[string]string{"from": "2026-01-02T02:04:05Z", "to": "0001-01-01T00:00:00Z", "at": "now\ufffd"}, f.Values)
	require.Equal(t, "The certificate was valid from 2026-01-02 02:04:05 UTC to –, which does not include now\ufffd.", f.Detail)
	require.Equal(t, map[string]string{"a": "-3", "b": "4", "c": "bad\u00a0", "d": "two", "e": "1h0m0s"},
		valuesOf(values{"a": -3, "b": int64(4), "c": "bad\u00a0", "d": errors.New("seal: two"), "e": time.Hour}))
	require.Nil(t, valuesOf(values{}))
	require.Panics(t, func() { valuesOf(values{"x": 1.5}) })
	require.Panics(t, func() { newFinding("no.such", nil) })
	require.Negative(t, indexOf("no.such"))
	require.Len(t, Codes(), len(findings))
	require.Equal(t, Code("structure.readable"), Codes()[0])
}

// TestReadRange checks that pieces are contiguous, and that a piece that cannot be read results in an error.
func TestReadRange(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789abcdef"), (2*CopyBuffer+32)/16)
	for _, c := range [][2]int64{{0, int64(len(data))}, {5, 6}, {1, CopyBuffer + 1}, {1, CopyBuffer + 2}, {7, 7}, {9, 3}} {
		var got []byte
		next, pieces := c[0], int64(0)
		require.NoError(t, ReadRange(t.Context(), bytes.NewReader(data), c[0], c[1], func(at int64, b []byte) error {
			require.Equal(t, next, at)
			require.LessOrEqual(t, len(b), CopyBuffer)
			next, got, pieces = at+int64(len(b)), append(got, b...), pieces+1
			return nil
		}))
		require.Equal(t, string(data[c[0]:max(c[0], c[1])]), string(got))
		require.Equal(t, (max(0, c[1]-c[0])+CopyBuffer-1)/CopyBuffer, pieces)
	}
	none := func(int64, []byte) error { return nil }
	require.ErrorIs(t, ReadRange(t.Context(), bytes.NewReader(data), 0, int64(len(data))+1, none), io.ErrUnexpectedEOF)
	require.ErrorIs(t, ReadRange(t.Context(), bytes.NewReader(data), 0, 9, func(int64, []byte) error { return errFull }), errFull)
	require.NoError(t, ReadFull(bytes.NewReader([]byte("abc")), make([]byte, 3), 0))
	require.ErrorIs(t, ReadFull(bytes.NewReader([]byte("abc")), make([]byte, 3), 1), io.ErrUnexpectedEOF)
}

// TestOpenedRecords checks that an opened record is reused only for the same bytes.
func TestOpenedRecords(t *testing.T) {
	t.Parallel()
	known := OpenRecord([]byte("a"))
	require.Same(t, known, known.of([]byte("a")))
	other := known.of([]byte("b"))
	require.NotSame(t, known, other)
	require.Equal(t, []byte("b"), other.raw)
	require.Equal(t, []byte("c"), (*OpenedRecord)(nil).of([]byte("c")).raw)
}
