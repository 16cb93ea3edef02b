package prepare

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"countersign/pdf/pagetext"
)

// similar collects strings that resemble a searched string. It compares strings with the same number of words by the
// number of letter pairs that they have in common.
type similar struct {
	pairs map[[2]rune]int
	count int // number of pairs
	words int
	work  int // remaining number of comparisons
	best  []candidate
}

type candidate struct {
	text  string
	score float64
}

const (
	maxSimilar     = 3
	leastSimilar   = 0.5
	similarWindows = 50_000
)

func newSimilar(text string) similar {
	s := similar{words: max(1, len(strings.Fields(text))), work: similarWindows}
	s.pairs, s.count = pairs(text)
	return s
}

// pairs counts the pairs of adjacent letters and digits, ignoring case.
func pairs(text string) (map[[2]rune]int, int) {
	counts, n := make(map[[2]rune]int), 0
	last := rune(0)
	for _, r := range norm.NFKD.String(text) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		r = unicode.ToLower(r)
		counts[[2]rune{last, r}]++
		n++
		last = r
	}
	return counts, n
}

// comparePage compares the text of a page with the searched text.
func (s *similar) comparePage(p *pagetext.Page) {
	for _, q := range p.Passages() {
		words := strings.Fields(q.Text)
		for i := 0; i < len(words) && (i == 0 || i+s.words <= len(words)); i++ {
			if s.work--; s.work < 0 {
				return
			}
			s.compare(strings.Join(words[i:min(len(words), i+s.words)], " "))
		}
	}
}

func (s *similar) compare(text string) {
	if len(text) > 4*maxAnchorText {
		return
	}
	other, n := pairs(text)
	if n == 0 || s.count == 0 {
		return
	}
	common := 0
	for pair, c := range other {
		common += min(c, s.pairs[pair])
	}
	score := 2 * float64(common) / float64(n+s.count)
	text = norm.NFC.String(text)
	if score < leastSimilar || slices.ContainsFunc(s.best, func(c candidate) bool { return c.text == text }) {
		return
	}
	at := len(s.best)
	for at > 0 && s.best[at-1].score < score {
		at--
	}
	s.best = slices.Insert(s.best, at, candidate{text, score})
	s.best = s.best[:min(len(s.best), maxSimilar)]
}

func (s *similar) texts() []string {
	var all []string
	for _, c := range s.best {
		all = append(all, c.text)
	}
	return all
}
