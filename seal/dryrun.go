package seal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"fmt"
	"io"
	"strings"
	"time"

	"countersign/seal/pdf"
)

// Rehearse builds what sealing will add to a file, and reads the result: what
// cannot be continued is noticed at the upload and not when all have signed.
// Nothing of it is kept but the facts.
func Rehearse(ctx context.Context, f *pdf.File, r io.ReaderAt, size int64, pages int) (*Facts, error) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), append(make([]byte, 31), 1)) // what it signs is discarded
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
	if err := w.DefineUndefined(facts.mentioned); err != nil {
		return nil, err
	}
	s := &Sealer{cfg: Config{ManifestSigner: key, ServiceName: "Countersign", Now: func() time.Time { return time.Time{} }, Rand: &fixedReader{}}}
	job := &Job{Original: r, Size: size, OriginalSHA256: strings.Repeat("0", 64), Document: Document{PageCount: pages}}
	a, err := s.newAssembly(job, w, f)
	if err != nil {
		return nil, err
	}
	a.dryRun = true
	if err := a.build(nil); err != nil {
		return nil, err
	}
	facts.plain = !a.remarkable
	return facts, readPages(ctx, concatReader{r, size, w.Bytes()}, w.Offset())
}
