package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"countersign/seal"
	"countersign/seal/admission"
)

// dpi is the resolution of rendered pages, and foot is the height, in points, of the area at the foot of a page that
// contains the line.
const (
	dpi  = 50
	foot = 16
)

// pixels renders the first and last page before and after sealing, and compares them.
func (c *checker) pixels(ctx context.Context, r *result, kind, dir, original, sealed string, job seal.Job, info admission.Info) {
	pages := []int{1}
	if n := len(info.Pages); n > 1 {
		pages = append(pages, n)
	}
	for _, renderer := range []string{"poppler", "mupdf"} {
		same := true
		for _, page := range pages {
			before, err := render(ctx, dir, renderer, original, page)
			if err != nil {
				r.count("%s: not rendered by %s before sealing", kind, renderer)
				same = false
				continue
			}
			after, err := render(ctx, dir, renderer, sealed, page)
			if err != nil {
				r.fail("%s does not render page %d after sealing: %v", renderer, page, err)
				same = false
				continue
			}
			changed, drawn := compare(before, after, page, job, info)
			switch {
			case before.w != after.w || before.h != after.h:
				r.fail("%s: page %d has a different size after sealing", renderer, page)
				same = false
			case changed > 0:
				r.fail("%s: %d pixels of page %d differ", renderer, changed, page)
				same = false
			case drawn == 0 && info.Pages[page-1].Height > 10*foot:
				r.fail("%s: nothing is drawn in the fields of page %d", renderer, page)
				same = false
			}
		}
		if same {
			r.count("%s: same pixels in %s", kind, renderer)
		}
	}
}

// picture is a portable pixmap with three bytes per pixel.
type picture struct {
	w, h int
	rgb  []byte
}

func render(ctx context.Context, dir, renderer, file string, page int) (picture, error) {
	name := filepath.Join(dir, "page")
	n, res := fmt.Sprint(page), fmt.Sprint(dpi)
	args := []string{"pdftoppm", "-q", "-cropbox", "-r", res, "-f", n, "-l", n, "-singlefile", file, name}
	if renderer == "mupdf" {
		args = []string{"mutool", "draw", "-q", "-r", res, "-o", name + ".ppm", file, n}
	}
	_ = os.Remove(name + ".ppm")
	out, err := tool(ctx, args...)
	if err != nil {
		return picture{}, fmt.Errorf("%w: %.200q", err, out)
	}
	b, err := os.ReadFile(name + ".ppm") //nolint:gosec // in this program's own folder
	if err != nil {
		return picture{}, err
	}
	var p picture
	var most int
	if _, err := fmt.Sscanf(string(b[:min(len(b), 64)]), "P6\n%d %d\n%d", &p.w, &p.h, &most); err != nil {
		return picture{}, err
	}
	size := p.w * p.h * 3
	if size <= 0 || size > len(b) {
		return picture{}, errors.New("not a picture")
	}
	p.rgb = b[len(b)-size:]
	return p, nil
}

// rounding is the tolerated difference in one color channel. MuPDF rounds the text of a page differently if the page
// contains content that is blended with Multiply.
const rounding = 3

// samePixel reports whether two pixels differ by at most rounding.
func samePixel(a, b []byte) bool {
	for k := range a {
		if max(a[k], b[k])-min(a[k], b[k]) > rounding {
			return false
		}
	}
	return true
}

// compare counts the differing pixels outside the fields and the line at the foot, and those within the fields.
func compare(a, b picture, page int, job seal.Job, info admission.Info) (outside, inside int) {
	if a.w != b.w || a.h != b.h || bytes.Equal(a.rgb, b.rgb) {
		return 0, 0
	}
	const around = 3 // tolerance in points for content on the edge of a box
	size := info.Pages[page-1]
	sx, sy := size.Width/float64(a.w), size.Height/float64(a.h)
	for y := range a.h {
		for x := range a.w {
			i := 3 * (y*a.w + x)
			if samePixel(a.rgb[i:i+3], b.rgb[i:i+3]) {
				continue
			}
			px, py := (float64(x)+0.5)*sx, (float64(y)+0.5)*sy
			if py > size.Height-foot {
				continue
			}
			field := false
			for _, v := range job.Values {
				field = field || v.Page == page && px > v.X-around && px < v.X+v.W+around && py > v.Y-around && py < v.Y+v.H+around
			}
			if field {
				inside++
			} else {
				outside++
			}
		}
	}
	return outside, inside
}
