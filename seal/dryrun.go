package seal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"countersign/pdf"
	"countersign/seal/rejection"
)

// DryRun builds the additions that a future seal would make to a file, and reads the result. A file that cannot be
// extended is therefore rejected at upload rather than after all signers have signed. DryRun discards the result and
// returns only the facts.
func DryRun(ctx context.Context, f *pdf.File, r io.ReaderAt, size int64, pages int) (*Facts, error) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), append(make([]byte, 31), 1)) // signatures of this key are discarded
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	w, err := pdf.NewIncrement(f)
	if err != nil {
		return nil, err
	}
	m, err := f.ReferenceScan()
	if err != nil {
		return nil, err
	}
	facts := &Facts{}
	if facts.mentioned, err = m.Find(ctx); err != nil {
		return nil, err
	}
	problem, err := f.RepairProblem(ctx, facts.mentioned.Undefined)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return nil, rejection.Ambiguous("it %s", problem)
	}
	if err := w.DefineUndefined(facts.mentioned); err != nil {
		return nil, err
	}
	s := &Sealer{cfg: Config{ManifestSigner: key, ServiceName: ServiceName, Now: func() time.Time { return time.Time{} }, Rand: &fixedReader{}}}
	job := &Job{Original: r, Size: size, OriginalSHA256: strings.Repeat("0", 64), Document: Document{PageCount: pages}}
	a, err := s.newAssembly(job, w, f)
	if err != nil {
		return nil, err
	}
	a.dryRun = true
	if err := a.build(ctx); err != nil {
		return nil, err
	}
	facts.lineless = a.lineless
	pages, err = readPages(ctx, concatReader{r, size, w.Bytes()}, w.Offset())
	if want := a.pages + len(a.certPages); err == nil && pages != want {
		err = fmt.Errorf("%w: the sealed file would have %d pages instead of %d", pdf.ErrDamaged, pages, want)
	}
	return facts, err
}

// Facts contains properties of an original that are required for sealing, and that can be determined only by reading
// the complete file. They depend only on the file's bytes. Admit determines them, and a Job may contain them.
// Otherwise, Seal determines them itself with the same result.
type Facts struct {
	mentioned pdf.ReferenceSummary
	lineless  pageSet // the pages without free space for the line at the foot
}

// wireFacts is the stored form of Facts.
type wireFacts struct {
	Version   int      `json:"v"`
	Undefined [][2]int `json:"undefined,omitempty"` // object numbers and generations
	Highest   int      `json:"highest"`
	Lineless  pageSet  `json:"lineless,omitempty"`
}

const (
	// factsVersion is the version of the facts' content. Stored facts of another version are discarded and determined
	// again.
	factsVersion = 2
	// maxFacts is the maximum size of encoded facts, in bytes. Files with larger facts are rare, and are read again
	// when they are sealed.
	maxFacts = 4 << 10
)

// Encode returns the stored form of the facts. It returns an empty string if f is nil or the result would exceed
// maxFacts.
func (f *Facts) Encode() string {
	if f == nil {
		return ""
	}
	w := wireFacts{Version: factsVersion, Highest: f.mentioned.Highest, Lineless: f.lineless}
	for _, ref := range f.mentioned.Undefined {
		w.Undefined = append(w.Undefined, [2]int{ref.Num, ref.Gen})
	}
	b, err := json.Marshal(w)
	if err != nil || len(b) > maxFacts {
		return ""
	}
	return string(b)
}

// DecodeFacts parses the output of Encode. It returns nil for any other input, and the facts are then determined again.
func DecodeFacts(s string) *Facts {
	var w wireFacts
	if len(s) > maxFacts || json.Unmarshal([]byte(s), &w) != nil || w.Version != factsVersion {
		return nil
	}
	f := &Facts{mentioned: pdf.ReferenceSummary{Highest: w.Highest}, lineless: w.Lineless}
	for _, ref := range w.Undefined {
		f.mentioned.Undefined = append(f.mentioned.Undefined, pdf.Ref{Num: ref[0], Gen: ref[1]})
	}
	return f
}

// pageSet is a set of pages, stored as ascending ranges of first and last page indexes.
type pageSet [][2]int

// add adds a page that follows all pages in the set.
func (s *pageSet) add(page int) {
	if n := len(*s); n > 0 && (*s)[n-1][1] == page-1 {
		(*s)[n-1][1] = page
		return
	}
	*s = append(*s, [2]int{page, page})
}

func (s pageSet) has(page int) bool {
	for _, r := range s {
		if page <= r[1] {
			return page >= r[0]
		}
	}
	return false
}
