package text

import (
	"slices"
	"unicode"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/shaping"
)

// direction returns the direction of the first strongly directional character.
func direction(text []rune) di.Direction {
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana):
			return di.DirectionRTL
		case unicode.IsLetter(r):
			return di.DirectionLTR
		}
	}
	return di.DirectionLTR
}

// levels returns the embedding level of each character (UAX #9), followed by the level of the paragraph.
func (sh *shaper) levels(text []rune, d di.Direction) []bidi.Level {
	dir, base := bidi.LeftToRight, bidi.Level(0)
	if d == di.DirectionRTL {
		dir, base = bidi.RightToLeft, 1
	}
	levels := make([]bidi.Level, len(text)+1)
	levels[len(text)] = base
	runs := sh.bidi.Segment(text, dir)
	for i := range runs.NumRuns() {
		r := runs.Run(i)
		for k := r.Start; k < r.End; k++ {
			levels[k] = r.Level
		}
	}
	return levels
}

// reorder arranges runs in visual order (UAX #9, rule L2). The line breaker's own ordering considers only directions,
// and thus misplaces numbers within right-to-left text.
func reorder(parts []shaping.Output, levels []bidi.Level) {
	order := make([]bidi.Level, len(parts))
	highest := bidi.Level(0)
	for i := range parts {
		at := parts[i].Runes.Offset
		if at < 0 || at >= len(levels) {
			at = len(levels) - 1
		}
		order[i] = levels[at]
		highest = max(highest, order[i])
	}
	for l := highest; l > 0; l-- {
		for i := 0; i < len(parts); i++ {
			j := i
			for j < len(parts) && order[j] >= l {
				j++
			}
			if j > i {
				slices.Reverse(parts[i:j])
				slices.Reverse(order[i:j])
				i = j
			}
		}
	}
}
