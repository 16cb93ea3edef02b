package forgeries_test

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal/rejection"
	pin "countersign/seal/trust"
	"countersign/seal/verify"
)

// forgery is an attack. It specifies how its file is created from a genuine one, the required verdict, and the effect
// in programs that accept the file.
type forgery struct {
	name   string
	class  string // class in the table of docs/learn/attacks.md
	levels []level
	// original is the document that the forger submitted for sealing. If it is nil, it is the agreement.
	original func() []byte
	want     verify.Verdict
	make     func(g *genuine) []byte
	shows    effect
	trust    func(h *fakeIssuer) verify.Options // nil for the options of the issuer
}

func (f forgery) at() []level {
	if f.levels == nil {
		return levels
	}
	return f.levels
}

// The possible verdicts on a forged file.
const (
	altered   = verify.Verdict("altered")
	broken    = verify.VerdictBroken
	untrusted = verify.VerdictUntrusted
	notSealed = verify.Verdict("not_sealed")
	valid     = verify.VerdictValid
)

var archived = []level{levelLT, levelLTA}

// rejected means that the original is rejected, so that the forged file cannot exist.
const rejected = verify.Verdict("refused")

func all() []forgery {
	return slices.Concat(resaveForgeries(), wrappingForgeries(), universal(), shadowForgeries(), annotationForgeries(), crossReferenceForgeries(), archiveForgeries(), holesOfSeal(), holesOfStamps(),
		sealerForgeries(), timestampForgeries(), recordForgeries())
}

// base returns the genuine file from which a forgery is created.
func (f forgery) base(l level) (*genuine, error) {
	if f.original == nil {
		return genuineFiles()[l], nil
	}
	return newFakeIssuer().tryMake(l, f.original())
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range all() {
		require.False(t, seen[f.name], f.name)
		require.NotEmpty(t, f.class, f.name)
		seen[f.name] = true
	}
	require.GreaterOrEqual(t, len(seen), 80)
}

// TestGenuine checks that the genuine files on which the forgeries are based are valid at each level.
func TestGenuine(t *testing.T) {
	t.Parallel()
	for _, l := range levels {
		g := genuineFiles()[l]
		r := verified(g.bytes, g.house.trust())
		require.Equal(t, valid, r.Verdict, "%s: %s", l, explain(r))
		require.Len(t, g.later(), map[level]int{levelB: 0, levelT: 0, levelLT: 1, levelLTA: 2}[l])
	}
}

// TestForgeries checks the verdict and the effect of every forgery at every level.
func TestForgeries(t *testing.T) {
	t.Parallel()
	genuineFiles()
	var seen recognized
	t.Cleanup(func() { seen.report(t) })
	for _, f := range all() {
		for _, l := range f.at() {
			t.Run(f.name+"/"+string(l), func(t *testing.T) {
				t.Parallel()
				g, err := f.base(l)
				var objection *rejection.Error
				if errors.As(err, &objection) && f.want == rejected {
					return
				}
				require.NoError(t, err)
				b := f.make(g)
				require.NotEqual(t, g.bytes, b)
				trust := g.house.trust()
				if f.trust != nil {
					trust = f.trust(g.house)
				}
				r := verified(b, trust)
				if r.Verdict != f.want {
					t.Errorf("verdict %s, want %s:\n%s", r.Verdict, f.want, explain(r))
				}
				checkReport(t, b, r, trust)
				seen.count(t, b, r)
				if f.trust == nil { // a more specific trust anchor must not result in more trust
					for _, s := range []pin.Sealer{pin.PinnedCertificate(g.house.sealer.cert), pin.IssuedBy(g.house.sealRoot.cert, "Countersign")} {
						require.NotEqual(t, valid, verified(b, g.house.trusting(s)).Verdict)
					}
				}
				if !*long && l != f.at()[0] && l != levelLTA {
					return // other programs interpret the file in the same way at every level
				}
				if err := f.shows.shown(t.TempDir(), g, b); err != nil {
					t.Errorf("attacks nothing: %v", err)
				}
			})
		}
	}
}

// recognized counts the forged files that the verifier recognized as files of this service, by the point at which it
// stopped. A forgery without the mark of the current format would be rejected only for that reason, and the attack
// would not be tested.
type recognized struct {
	mu    sync.Mutex
	files int
	// opened is the number of recognized files whose seal was found, so that the signature and later parts were examined.
	opened  int
	reasons map[verify.Code]int // number of files by the first failed or untrusted check
}

func (c *recognized) count(t *testing.T, b []byte, r verify.Report) {
	t.Helper()
	marked, err := verify.ContainsMark(t.Context(), bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	if !marked || r.Has("signature.none") || r.Has("signature.remains") || r.Has("structure.not_pdf") {
		t.Errorf("not recognized as a file of this service:\n%s", explain(r))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files++
	if r.Has("structure.readable") {
		c.opened++
	}
	reason := verify.Code("none")
	if i := slices.IndexFunc(r.Findings, func(f verify.Finding) bool { return f.Status == verify.Failed || f.Status == verify.Untrusted }); i >= 0 {
		reason = r.Findings[i].Code
	}
	if c.reasons == nil {
		c.reasons = map[verify.Code]int{}
	}
	c.reasons[reason]++
}

func (c *recognized) report(t *testing.T) {
	t.Helper()
	t.Logf("%d forged files were recognized as files of this service; the seals of %d were examined. First findings: %v", c.files, c.opened, c.reasons)
	// Only forgeries of the mark or the byte range may be rejected earlier.
	if !t.Failed() && c.opened < c.files*3/4 {
		t.Errorf("only %d of %d files were examined", c.opened, c.files)
	}
}

// checkReport checks that the report for an invalid file lists no signers, and that the original beginning of an
// altered file is valid.
func checkReport(t require.TestingT, b []byte, r verify.Report, trust verify.Options) {
	switch r.Verdict {
	case valid:
		require.NotNil(t, r.Record)
		require.True(t, r.Record.Confirmed)
		require.Nil(t, r.Additions)
	case untrusted:
		require.False(t, r.Record != nil && r.Record.Confirmed)
	case altered:
		require.Nil(t, r.Record)
		require.NotNil(t, r.Additions)
		require.Equal(t, valid, verified(b[:r.Additions.From], trust).Verdict)
		require.EqualValues(t, len(b), r.Additions.From+r.Additions.Bytes)
	case broken, notSealed:
		require.Nil(t, r.Record)
		require.Nil(t, r.Additions)
	default:
		require.Fail(t, "the verdict does not exist", r.Verdict)
	}
}
