package prepare_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
)

const resolution = 50 // pixels per inch of the compared pictures

// sameRendering checks, in two renderers, that each page looks the same in two revisions.
func sameRendering(t *testing.T, before, after []byte) {
	t.Helper()
	sameOutside(t, before, after, nil)
}

// sameExceptTags checks, in two renderers, that each page looks the same in two revisions except at the positions of
// tags.
func sameExceptTags(t *testing.T, before, after []byte, tags []prepare.FoundTag) {
	t.Helper()
	places := make(map[int][]image.Rectangle)
	for _, tag := range tags {
		for _, l := range tag.Lines {
			places[tag.Place.Page] = append(places[tag.Place.Page], pixels(l.X, l.Y, l.W, l.H))
		}
	}
	sameOutside(t, before, after, places)
}

// pixels returns the region of a rendered page that a box can affect, including a small margin.
func pixels(x, y, w, h float64) image.Rectangle {
	const scale, edge = resolution / 72.0, 3
	return image.Rect(int(x*scale)-edge, int(y*scale)-edge, int((x+w)*scale)+edge+1, int((y+h)*scale)+edge+1)
}

// sameOutside checks, in two renderers, that each page looks the same in two revisions outside the given areas, which
// are listed by page number.
func sameOutside(t *testing.T, before, after []byte, places map[int][]image.Rectangle) {
	t.Helper()
	dir := t.TempDir()
	for name, b := range map[string][]byte{"before": before, "after": after} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".pdf"), b, 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "qpdf", "--check", filepath.Join(dir, "after.pdf")).CombinedOutput()
	require.NoError(t, err, string(out))
	for name, command := range map[string][]string{
		"poppler": {"pdftoppm", "-q", "-cropbox", "-r", strconv.Itoa(resolution), "IN.pdf", "OUT"},
		"mupdf":   {"mutool", "draw", "-q", "-r", strconv.Itoa(resolution), "-o", "OUT-%03d.ppm", "IN.pdf"},
	} {
		pictures := make(map[string][]picture)
		for _, file := range []string{"before", "after"} {
			var args []string
			for _, a := range command {
				a = strings.ReplaceAll(a, "IN", filepath.Join(dir, file))
				args = append(args, strings.ReplaceAll(a, "OUT", filepath.Join(dir, name+"-"+file)))
			}
			out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
			require.NoError(t, err, string(out))
			pages, err := filepath.Glob(filepath.Join(dir, name+"-"+file+"-*.ppm"))
			require.NoError(t, err)
			require.NotEmpty(t, pages)
			sort.Strings(pages)
			for _, p := range pages {
				pictures[file] = append(pictures[file], readPicture(t, p))
			}
		}
		require.Len(t, pictures["after"], len(pictures["before"]), name)
		for i, was := range pictures["before"] {
			where := was.difference(pictures["after"][i], places[i+1])
			require.Empty(t, where, "%s renders page %d differently", name, i+1)
		}
	}
}

type picture struct {
	w, h int
	rgb  []byte
}

func readPicture(t *testing.T, name string) picture {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	var p picture
	var most int
	_, err = fmt.Fscanf(bytes.NewReader(b), "P6\n%d %d\n%d\n", &p.w, &p.h, &most)
	require.NoError(t, err, name)
	require.Equal(t, 255, most)
	p.rgb = b[len(b)-3*p.w*p.h:]
	return p
}

func (p picture) at(x, y int) color.RGBA {
	i := 3 * (y*p.w + x)
	return color.RGBA{p.rgb[i], p.rgb[i+1], p.rgb[i+2], 255}
}

// difference returns the first differing pixel outside the given areas, or "" if there is none.
func (p picture) difference(q picture, outside []image.Rectangle) string {
	if p.w != q.w || p.h != q.h {
		return fmt.Sprintf("%d by %d pixels instead of %d by %d", p.w, p.h, q.w, q.h)
	}
	for y := range p.h {
		for x := range p.w {
			if p.at(x, y) == q.at(x, y) {
				continue
			}
			within := false
			for _, r := range outside {
				within = within || image.Pt(x, y).In(r)
			}
			if !within {
				return fmt.Sprintf("at %d, %d", x, y)
			}
		}
	}
	return ""
}
