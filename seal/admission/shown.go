package admission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode"

	"countersign/seal/appearance"
	"countersign/seal/rejection"
)

// checkRendering rejects a document if the renderer interprets its pages differently than this package's own parser, or
// if a page is too large to be displayed legibly. It also rejects text that the renderer cannot draw, because signers
// would not see it.
func checkRendering(ctx context.Context, r io.ReaderAt, size int64, lim Limits, info Info) error {
	ctx, cancel := context.WithTimeout(ctx, wallClockFactor*lim.Timeout)
	defer cancel()
	fonts := slices.ContainsFunc(info.Warnings, func(w Warning) bool { return w.Code == WarnFont })
	in, err := lim.Renderer.Inspect(ctx, r, size, fonts)
	if r, ok := errors.AsType[*rejection.Error](err); ok && (r.Code == rejection.DocumentNotRendered || r.Code == rejection.PageNotRendered) {
		return rejection.New(rejection.PDFNeedsRepair, r.Message)
	}
	if err != nil {
		return err
	}
	if len(in.Pages) != len(info.Pages) {
		return rejection.Ambiguous("the number of pages is %d or %d", len(info.Pages), len(in.Pages))
	}
	for i, p := range info.Pages {
		w, h := in.Pages[i][0]*p.unit, in.Pages[i][1]*p.unit
		if !near(w, p.Width) || !near(h, p.Height) {
			return rejection.Ambiguous("page %d measures %.5g × %.5g or %.5g × %.5g points", i+1, p.Width, p.Height, w, h)
		}
		if _, _, err := appearance.Level(1).Pixels(w, h); err != nil {
			return rejection.New(rejection.PageTooLarge, fmt.Sprintf("Page %d measures %.0f × %.0f points, which is too large to display legibly. Use a smaller page size.", i+1, w, h))
		}
	}
	if len(in.Glyphs) == 0 {
		return nil
	}
	g := in.Glyphs[0]
	what := "characters without a name"
	if unicode.IsPrint(g.Character) && g.Character != unicode.ReplacementChar {
		what = fmt.Sprintf("the character “%c” (U+%04X)", g.Character, g.Character)
	}
	return rejection.New(rejection.GlyphMissing, fmt.Sprintf("Page %d contains %s in the font %s, which is not embedded and cannot be replaced by another font. Embed the font.", g.Page, what, safeText(g.Font)))
}

// near reports whether two lengths are equal within single precision.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-3+1e-5*math.Abs(a) }
