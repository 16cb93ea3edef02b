package seal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"countersign/locales"
	"countersign/seal"
	"countersign/seal/lang"
	"countersign/test/kit/sealkit"
)

// longUserAgent is longer than a line on the certificate.
var longUserAgent = "Mozilla/5.0 (Linux; Android 14; SM-S928B Build/UP1A.231005.007; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.6778.135 " +
	"Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/491.0.0.63.81;IABMV/1;FBLC/de_DE;] LastWord/1"

// awkwardInputs returns a job with names, addresses and user agents that are long, in many scripts, and hard to break
// into lines.
func awkwardInputs(t *testing.T, language string) seal.Job {
	t.Helper()
	j := sealkit.Job(t, sealkit.SimplePDF(1))
	j.Language = language
	j.Signers[0].Name, j.Signers[1].Name = "Bartholomew 🎉 𠮷野 Featherstonehaugh-Cholmondeley-Montgomery-Wolfeschlegelsteinhausen", "משה כהן · 李小龍 · محمد"
	j.Signers[0].Email = "bartholomew.featherstonehaugh-cholmondeley+contracts_of_2026@legal.department.example-corporation.org"
	j.Signers[0].UserAgent, j.Signers[0].IP = longUserAgent, "2001:db8:85a3:1234:5678:8a2e:370:7334"
	j.Signers[1].Shown = &seal.Shown{Digest: strings.Repeat("ab", 32), Signers: []string{sealkit.AdaID}, Confirmed: true}
	return sealkit.WithPrevious(t, j, 1, "gone for good: "+strings.Repeat("a reason of many words ", 5), "Maria Grażyna Łabędzka-Ćwiklińska", "שרה לוי")
}

// certificateWords returns the words that pdftotext finds on the added pages, with their boxes.
func certificateWords(t *testing.T, file string, original int) (pages [][]word, width float64) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", "-f", strconv.Itoa(original+1), file, "-").Output()
	require.NoError(t, err)
	page := regexp.MustCompile(`<page width="([\d.]+)"`)
	at := regexp.MustCompile(`<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*)</word>`)
	for line := range bytes.Lines(out) {
		if m := page.FindSubmatch(line); m != nil {
			width = number(t, m[1])
			pages = append(pages, nil)
		}
		if m := at.FindSubmatch(line); m != nil {
			pages[len(pages)-1] = append(pages[len(pages)-1], word{number(t, m[1]), number(t, m[3]), number(t, m[2]), string(m[5])})
		}
	}
	require.NotEmpty(t, pages)
	return pages, width
}

var timeOfDay = regexp.MustCompile(`^\d\d:\d\d:\d\d$`)

type word struct {
	left, right, top float64
	text             string
}

func number(t *testing.T, b []byte) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(string(b), 64)
	require.NoError(t, err)
	return f
}

// TestCertificateInEveryLanguage checks, in every language, that the text of the certificate is complete, within the
// margins, and broken only where permitted.
func TestCertificateInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	for _, tag := range locales.Tags() {
		labels := lang.ForTag(tag)
		t.Run(labels.Tag, func(t *testing.T) {
			t.Parallel()
			j := awkwardInputs(t, labels.Tag)
			file, _ := sealkit.Sealed(t, s, j)
			pages, width := certificateWords(t, file, j.Document.PageCount)
			var all []string
			for i, words := range pages {
				for _, w := range words {
					assert.GreaterOrEqual(t, w.left, 49.0, "page %d: %s", i, w.text)
					assert.LessOrEqual(t, w.right, width-49.0, "page %d: %s", i, w.text)
					all = append(all, w.text)
				}
			}
			text := strings.Join(all, " ")
			assert.NotContains(t, text, "[U+", "characters that were not drawn")
			assert.NotContains(t, text, "…", "truncated text")
			for _, part := range []string{"🎉", "𠮷野", "LastWord/1", "SM-S928B"} {
				assert.Contains(t, text, part)
			}
			assert.NotRegexp(t, `\b[a-z]+\.[a-z]+_?[a-z]+ +\d`, regexp.MustCompile(`\S*@\S*|\S*\.(org|de|pdf|json)\S*|https?:\S*`).ReplaceAllString(text, ""), "an event without a description")
			for _, w := range all {
				if strings.HasPrefix(w, "2001:") || strings.HasSuffix(w, ":7334") {
					assert.Regexp(t, `^([0-9a-f]{0,4}:)*([0-9a-f]{0,4})$`, w)
				}
			}
			if !labels.RightToLeft { // pdftotext returns the words of a mirrored line in a different order
				assert.Contains(t, strings.Join(all, ""), "2001:db8:85a3:1234:5678:8a2e:370:7334")
			}
			last := pages[len(pages)-1]
			if len(pages) > 1 {
				rows := 0
				for _, w := range last {
					if timeOfDay.MatchString(w.text) {
						rows++
					}
				}
				assert.GreaterOrEqual(t, rows, 3, "the last page must also contain events")
			}
		})
	}
}

// TestCertificateClosingNeverAlone checks that, for any number of events, the verification section is not the only
// content of its page.
func TestCertificateClosingNeverAlone(t *testing.T) {
	t.Parallel()
	s := sealkit.NewFixture(t).Sealer(t)
	for _, more := range []int{0, 1, 2, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 40} {
		t.Run(fmt.Sprint(more), func(t *testing.T) {
			t.Parallel()
			j := sealkit.Job(t, sealkit.SimplePDF(1))
			var events []map[string]any
			for _, raw := range j.Events {
				var e map[string]any
				require.NoError(t, json.Unmarshal(raw, &e))
				delete(e, "hash")
				events = append(events, e)
			}
			for i := range more {
				events = append(events, map[string]any{
					"event": "page_viewed", "actor": "signer:" + sealkit.AdaID, "timestamp": events[len(events)-1]["timestamp"], "detail": map[string]any{"page": i + 1},
				})
			}
			j.Events, j.ChainHead = sealkit.Chain(t, events...)
			file, _ := sealkit.Sealed(t, s, j)
			pages, _ := certificateWords(t, file, j.Document.PageCount)
			last := pages[len(pages)-1]
			rows := 0
			for _, w := range last {
				if timeOfDay.MatchString(w.text) {
					rows++
				}
			}
			if len(pages) > 1 {
				assert.GreaterOrEqual(t, rows, 3)
			}
		})
	}
}

// TestBoldInEveryScript checks that, if a bold font is missing, a regular font with stroked glyphs replaces it.
func TestBoldInEveryScript(t *testing.T) {
	t.Parallel()
	j := awkwardInputs(t, "en")
	file, _ := sealkit.Sealed(t, sealkit.NewFixture(t).Sealer(t), j)
	content, err := exec.CommandContext(t.Context(), "qpdf", "--qdf", "--object-streams=disable", file, "-").Output()
	require.NoError(t, err)
	assert.Regexp(t, `2 Tr 0\.29\d* w /F\d+ 10\.5 Tf`, content, "names are bold even if the font has no bold style")
	assert.Equal(t, bytes.Count(content, []byte("2 Tr ")), bytes.Count(content, []byte(" 0 Tr\n")), "the following text is not bold")
}

// TestBrandedCertificate checks that a document with a branded certificate passes verification, in left-to-right and
// right-to-left languages.
func TestBrandedCertificate(t *testing.T) {
	t.Parallel()
	k := sealkit.NewFixture(t)
	for _, language := range []string{"en", "ar"} {
		_, b := sealkit.Sealed(t, k.Sealer(t), sealkit.BrandedJob(t, language))
		r := sealkit.Verified(t, b, k.Trust())
		require.True(t, r.OK(), sealkit.TextOf(t, r))
	}
}
