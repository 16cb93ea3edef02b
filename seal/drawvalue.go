package seal

import (
	"fmt"
	"math"

	"github.com/go-text/typesetting/segmenter"

	"countersign/seal/text"
)

func drawValue(c *canvas, v Value, signer string) error {
	switch v.Kind {
	case Signature, Initial, Stamp:
		c.multiply(v.X, v.Y, v.W, v.H, v.PNG)
		c.hidden(v.X, v.Y, v.W, v.H, signer)
	case Checkbox:
		drawCheck(c, v)
	case Radio:
		drawRadio(c, v)
	case Date, Text, Name, Email, Company, Title, SignedDate, Number, Select, Attachment:
		if v.Cells > 0 {
			return drawComb(c, v)
		}
		return drawText(c, v)
	default:
		return fmt.Errorf("seal: unknown field type %q", v.Kind)
	}
	return c.err
}

// empty reports whether the value draws nothing.
func (v *Value) empty() bool {
	switch v.Kind {
	case Signature, Initial, Stamp:
		return len(v.PNG) == 0
	case Checkbox, Radio:
		return !v.Checked
	}
	return v.Text == "" && len(v.PNG) == 0 // a value of unknown kind must be rejected rather than omitted
}

// maxMark is the maximum side length of a mark, in points. In a larger field the mark is centered, so that it does not
// cover text.
const maxMark = 36

// drawCheck draws a check mark as a path, with the same mark as hidden text.
func drawCheck(c *canvas, v Value) {
	side := min(v.W, v.H, maxMark) * 0.8
	x, y := v.X+(v.W-side)/2, v.Y+(v.H-side)/2
	at := func(op string, px, py float64) { c.op(op, x+px*side, c.h-(y+py*side)) }
	c.op("q")
	c.stroke(ink)
	c.op("w", side*0.14)
	c.op("J", 1)
	c.op("j", 1)
	at("m", 0.10, 0.55)
	at("l", 0.38, 0.85)
	at("l", 0.92, 0.15)
	c.op("S")
	c.op("Q")
	c.hidden(v.X, v.Y, v.W, v.H, "✓")
}

// drawRadio draws a disc as the mark of a selected option, with the same mark as hidden text.
func drawRadio(c *canvas, v Value) {
	const kappa = 0.5522847498 // for a quarter circle as a Bézier curve
	r := min(v.W, v.H, maxMark) * 0.3
	x, y := v.X+v.W/2, c.h-(v.Y+v.H/2)
	c.op("q")
	c.fill(ink)
	c.op("m", x+r, y)
	for _, q := range [4][2]float64{{0, 1}, {-1, 0}, {0, -1}, {1, 0}} { // end points of the quarters
		fx, fy := q[1], -q[0] // start points of the quarters
		c.op("c", x+r*(fx+kappa*q[0]), y+r*(fy+kappa*q[1]), x+r*(q[0]+kappa*fx), y+r*(q[1]+kappa*fy), x+r*q[0], y+r*q[1])
	}
	c.op("f")
	c.op("Q")
	c.hidden(v.X, v.Y, v.W, v.H, "●")
}

// drawText draws text in the layout returned by fitText.
func drawText(c *canvas, v Value) error {
	wrap := c.t.lib.Wrap
	if v.Kind == Name || v.Kind == Email { // values set by the service were not checked earlier
		wrap = c.t.lib.WrapOf
	}
	lines, size, err := fitText(wrap, v.Text, v.W-2*textInset, v.H, v.FontSize)
	if err != nil {
		return err
	}
	f := face{text.Sans, size, ink}
	// The block is centered. The glyphs of a line extend from the ascender to the descender.
	y := v.Y + (v.H-float64(len(lines))*size*lineFactor)/2 + size*0.93
	for _, l := range lines {
		c.show(f, v.X+textInset+indent(v.Align, v.W-2*textInset, l.Width*size/1000), y, l)
		y += size * lineFactor
	}
	return c.err
}

// indent returns the distance from the left edge to the start of a line.
func indent(align string, width, line float64) float64 {
	switch align {
	case "center":
		return max(0, (width-line)/2)
	case "right":
		return max(0, width-line)
	}
	return 0
}

// drawComb draws each character in the middle of its cell. A combining mark shares the cell of its base character.
func drawComb(c *canvas, v Value) error {
	cell := v.W / float64(v.Cells)
	letters := graphemes(v.Text)
	lines := make([]text.Line, 0, len(letters))
	size := min(maxTextSize, v.H/lineFactor)
	if v.FontSize > 0 {
		size = min(v.FontSize, v.H/lineFactor)
	}
	for _, letter := range letters {
		all, err := c.t.lib.Wrap(text.Sans, letter, 0, 0)
		if err != nil {
			return err
		}
		line := text.Line{}
		if len(all) > 0 {
			line = all[0]
		}
		size = min(size, cell/max(line.Width, 1)*1000)
		lines = append(lines, line)
	}
	first := int(indent(v.Align, float64(v.Cells), float64(len(lines)))) // index of the first cell
	y := v.Y + (v.H-size*lineFactor)/2 + size*0.93
	for i, l := range lines {
		x := v.X + float64(first+i)*cell + (cell-l.Width*size/1000)/2
		c.show(face{text.Sans, size, ink}, math.Max(x, v.X), y, l)
	}
	return c.err
}

// graphemes returns the user-perceived characters of a string.
func graphemes(s string) []string {
	var seg segmenter.Segmenter
	seg.Init([]rune(s))
	var out []string
	for it := seg.GraphemeIterator(); it.Next(); {
		out = append(out, string(it.Grapheme().Text))
	}
	return out
}
