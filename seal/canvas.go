package seal

import (
	"fmt"
	"strings"

	"countersign/pdf"
	"countersign/seal/text"
)

// rgbColor is an RGB color with components from 0 to 1.
type rgbColor [3]float64

var (
	ink    = rgbColor{0.10, 0.12, 0.16}
	gray   = rgbColor{0.40, 0.43, 0.48}
	pale   = rgbColor{0.84, 0.86, 0.89}
	tint   = rgbColor{0.957, 0.965, 0.976}
	accent = rgbColor{0.05, 0.35, 0.45}
)

// typesetter is the drawing state shared by all pages of one sealed document.
type typesetter struct {
	lib   *text.Library
	fonts *text.Embedder
	font  pdf.Ref // Font entry of every resource dictionary
	w     *pdf.Increment
	inks  map[string]placedImage // embedded images by the hash of their PNG
	ahead *prefetched
}

// canvas writes a content stream. Its origin is the top left corner, y increases downward, and units are points. Only
// the first error is recorded.
type canvas struct {
	t       *typesetter
	w, h    float64
	mirror  bool // x increases leftward from the right edge, for right-to-left languages
	b       []byte
	xobject pdf.Dict
	backed  bool // whether a backing was drawn
	// multiplied is the opacity of a picture that is blended with Multiply onto the content beneath it, or 0 if there
	// is none.
	multiplied float64
	err        error
}

func (t *typesetter) canvas(w, h float64) *canvas { return &canvas{t: t, w: w, h: h} }

// resources returns the resource dictionary of the drawing.
func (c *canvas) resources() pdf.Value {
	d := pdf.Dict{{Key: "Font", Value: c.t.font.Value()}}
	if len(c.xobject) > 0 {
		d.Set("XObject", c.xobject.Value())
	}
	var states pdf.Dict
	if c.backed {
		states.Set("B", pdf.Value("<</ca "+backingAlpha+">>"))
	}
	if c.multiplied > 0 {
		states.Set("M", append(pdf.AppendNumber(pdf.Value("<</BM/Multiply/ca "), c.multiplied), ">>"...))
	}
	if states != nil {
		d.Set("ExtGState", states.Value())
	}
	return d.Value()
}

func (c *canvas) op(operator string, operands ...float64) {
	for _, n := range operands {
		c.b = pdf.AppendNumber(c.b, n)
		c.b = append(c.b, ' ')
	}
	c.b = append(c.b, operator...)
	c.b = append(c.b, '\n')
}

func (c *canvas) fill(col rgbColor)   { c.op("rg", col[0], col[1], col[2]) }
func (c *canvas) stroke(col rgbColor) { c.op("RG", col[0], col[1], col[2]) }

// left returns the left edge of an item of width w placed at x.
func (c *canvas) left(x, w float64) float64 {
	if c.mirror {
		return c.w - x - w
	}
	return x
}

func (c *canvas) rect(x, y, w, h float64, col rgbColor) {
	c.fill(col)
	c.op("re", c.left(x, w), c.h-y-h, w, h)
	c.op("f")
}

// backingAlpha is the opacity of a backing. It makes dark ink legible on black, but does not hide a form's signature
// line.
const backingAlpha = "0.75"

// backing draws a white rectangle beneath the next drawing. It is used if the drawing would be illegible on the page.
func (c *canvas) backing(x, y, w, h float64) {
	c.backed = true
	c.b = append(c.b, "q /B gs\n"...)
	c.rect(x, y, w, h, rgbColor{1, 1, 1})
	c.op("Q")
}

// rule strokes a straight line.
func (c *canvas) rule(x1, y1, x2, y2, width float64, col rgbColor) {
	c.stroke(col)
	c.op("w", width)
	c.op("m", c.left(x1, 0), c.h-y1)
	c.op("l", c.left(x2, 0), c.h-y2)
	c.op("S")
}

// face is the style, size in points and color of text.
type face struct {
	style text.Style
	size  float64
	col   rgbColor
}

// line draws a line of text with its baseline at y. A character for which no font contains a glyph is replaced by its
// code point.
func (c *canvas) line(f face, x, y float64, s string) { c.show(f, x, y, c.set(f, s)) }

// lineRight draws a line of text that ends at x.
func (c *canvas) lineRight(f face, x, y float64, s string) {
	l := c.set(f, s)
	c.show(f, x-l.Width*f.size/1000, y, l)
}

func (c *canvas) set(f face, s string) text.Line {
	l, err := c.t.lib.LineOf(f.style, s)
	c.fail(err)
	return l
}

func (c *canvas) width(f face, s string) float64 { return c.set(f, s).Width * f.size / 1000 }

// wrap breaks s into lines of the given width in points. It returns at most limit lines, or all lines if limit is 0.
func (c *canvas) wrap(f face, s string, width float64, limit int) []text.Line {
	l, err := c.t.lib.WrapOf(f.style, s, width/f.size*1000, limit)
	c.fail(err)
	return l
}

// wrapAt is like wrap, but breaks lines only after one of the separators. For example, an IP address must not be broken
// within a group, because the first part could be mistaken for a complete group. A piece that is too long for a line is
// broken at any position.
func (c *canvas) wrapAt(separators string, f face, s string, width float64, limit int) []text.Line {
	var out strings.Builder
	line := ""
	for len(s) > 0 {
		n := strings.IndexAny(s, separators) + 1
		if n == 0 {
			n = len(s)
		}
		if line != "" && c.width(f, line+s[:n]) > width {
			out.WriteString(strings.TrimRight(line, " ") + "\n")
			line = ""
		}
		line, s = line+s[:n], s[n:]
	}
	out.WriteString(line)
	return c.wrap(f, out.String(), width, limit)
}

// paragraph breaks text into lines of the given width, and draws them with the first baseline at y. It returns the
// baseline after the last line. The lines are cached, because the text is the same in most documents.
func (c *canvas) paragraph(f face, x, y, width, leading float64, s string) float64 {
	lines, err := c.t.lib.Constant(f.style, s, width/f.size*1000)
	c.fail(err)
	return c.lines(f, x, y, leading, lines)
}

// lines draws lines of text with the first baseline at y. It returns the baseline after the last line.
func (c *canvas) lines(f face, x, y, leading float64, lines []text.Line) float64 {
	for _, l := range lines {
		c.show(f, x, y, l)
		y += leading
	}
	return y
}

func (c *canvas) show(f face, x, y float64, l text.Line) {
	if len(l.Runs) == 0 {
		return
	}
	c.fill(f.col)
	if f.style == text.Bold {
		c.stroke(f.col)
	}
	c.text("BT\n", l, f.size, c.left(x, l.Width*f.size/1000), c.h-y, "ET\n")
}

// text draws a line of text between the given operators, which delimit a text object.
func (c *canvas) text(begin string, l text.Line, size, x, y float64, end string) {
	b, err := c.t.fonts.Append(append(c.b, begin...), l, size, x, y)
	if err != nil {
		c.fail(err)
		return
	}
	c.b = append(b, end...)
}

// hidden writes invisible text (rendering mode 3, ISO 32000-2, 9.3.6), stretched over a box, so that screen readers and
// searches find the text.
func (c *canvas) hidden(x, y, w, h float64, s string) {
	l := c.set(face{}, s)
	if l.Width == 0 {
		return
	}
	size := min(h*0.8, w/l.Width*1000)
	c.text("BT 3 Tr\n", l, size, x, c.h-y-h/2-size*0.3, "0 Tr ET\n")
}

// image draws a PNG as large as possible in a box, left-aligned and vertically centered.
func (c *canvas) image(x, y, w, h float64, png []byte) { c.picture(x, y, w, h, png, false) }

// multiply is like image, but the content beneath remains legible. White areas are transparent, and solid dark areas
// are drawn with less opacity.
func (c *canvas) multiply(x, y, w, h float64, png []byte) { c.picture(x, y, w, h, png, true) }

func (c *canvas) picture(x, y, w, h float64, png []byte, multiply bool) {
	img, err := c.t.image(png)
	if err != nil {
		c.fail(err)
		return
	}
	scale := min(w/float64(img.w), h/float64(img.h))
	iw, ih := float64(img.w)*scale, float64(img.h)*scale
	c.op("q")
	if multiply {
		c.multiplied = img.dark.Opacity(scale)
		c.b = append(c.b, "/M gs\n"...)
	}
	c.op("cm", iw, 0, 0, ih, c.left(x, iw), c.h-y-(h+ih)/2)
	c.do(img.ref)
	c.op("Q")
}

// do paints an XObject.
func (c *canvas) do(ref pdf.Ref) {
	name := fmt.Sprintf("X%d", ref.Num)
	c.xobject.Set(name, ref.Value())
	c.b = append(c.b, '/')
	c.b = append(c.b, name...)
	c.b = append(c.b, " Do\n"...)
}

func (c *canvas) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// form writes the drawing as a form XObject (8.10).
func (c *canvas) form(extra ...pdf.Entry) (pdf.Ref, error) {
	return c.formOf(box(0, 0, c.w, c.h), extra...)
}

// formOf writes part of the drawing as a form XObject.
func (c *canvas) formOf(bbox pdf.Value, extra ...pdf.Entry) (pdf.Ref, error) {
	d := append(pdf.Dict{
		{Key: "Type", Value: pdf.Value("/XObject")},
		{Key: "Subtype", Value: pdf.Value("/Form")},
		{Key: "BBox", Value: bbox},
		{Key: "Resources", Value: c.resources()},
	}, extra...)
	return c.t.w.AddStream(d, c.b), c.err
}

func box(x0, y0, x1, y1 float64) pdf.Value {
	b := []byte{'['}
	for i, n := range []float64{x0, y0, x1, y1} {
		if i > 0 {
			b = append(b, ' ')
		}
		b = pdf.AppendNumber(b, n)
	}
	return append(b, ']')
}
