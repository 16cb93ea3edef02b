package seal

import (
	"fmt"

	"countersign/seal/lang"
	"countersign/seal/pdf"
	"countersign/seal/text"
)

// drawValue draws one value into its field.
func drawValue(c *canvas, v Value, signer string) error {
	switch v.Kind {
	case Signature, Initial:
		c.image(v.X, v.Y, v.W, v.H, v.PNG)
		c.hidden(v.X, v.Y, v.W, v.H, signer)
	case Checkbox:
		drawCheck(c, v)
	case Date, Text:
		return drawText(c, v)
	default:
		return fmt.Errorf("seal: unknown kind of field %q", v.Kind)
	}
	return c.err
}

// drawCheck draws a check mark as a path, with the mark as hidden text.
func drawCheck(c *canvas, v Value) {
	side := min(v.W, v.H) * 0.8
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

// Bounds of text sizes in points. Below minWrapped nothing is broken into
// lines, it only shrinks until it fits: a value is never cut.
const (
	maxTextSize = 12.0
	minOneLine  = 8.0
	minWrapped  = 4.0
	lineFactor  = 1.2
)

// drawText fits text into its field: on one line if that stays readable, else
// broken into lines, else as small as it must be.
func drawText(c *canvas, v Value) error {
	lines, size, err := fitText(c.t.lib, v.Text, v.W-2, v.H)
	if err != nil {
		return err
	}
	f := face{text.Sans, size, ink}
	// The block is centred; a line's ink lies between ascender and descender.
	y := v.Y + (v.H-float64(len(lines))*size*lineFactor)/2 + size*0.93
	for _, l := range lines {
		c.show(f, v.X+1, y, l)
		y += size * lineFactor
	}
	return c.err
}

func fitText(lib *text.Library, s string, w, h float64) ([]text.Line, float64, error) {
	one, err := lib.Wrap(text.Sans, s, 0, 0)
	if err != nil {
		return nil, 0, err
	}
	widest := 1.0
	for _, l := range one {
		widest = max(widest, l.Width)
	}
	size := min(maxTextSize, h/lineFactor/float64(len(one)), w/widest*1000)
	if size >= minOneLine || h < 2*minWrapped*lineFactor {
		return one, size, nil
	}
	for try := min(maxTextSize, h/lineFactor/2); try >= minWrapped && try > size; try -= 0.5 {
		lines, err := lib.Wrap(text.Sans, s, w/try*1000, 0)
		if err != nil {
			return nil, 0, err
		}
		if float64(len(lines))*try*lineFactor <= h {
			return lines, try, nil
		}
	}
	return one, size, nil
}

// sealLine makes the form with the line that stands at the foot of each page, for
// dark pages on a backing.
func (t *typesetter) sealLine(job *Job, service string, backed bool) (form pdf.Ref, width float64, err error) {
	s := fmt.Sprintf(lang.ForTag(job.Language).SealLine, service, job.Envelope.ID, job.OriginalSHA256)
	f := face{text.Sans, sealLineSize, grey}
	measure := t.canvas(0, 0)
	width = measure.width(f, s)
	c := t.canvas(width, sealLineSize*sealLineHeight)
	c.b = append(c.b, "/Artifact<</Type/Pagination/Subtype/Footer>>BDC\n"...)
	if backed {
		c.backing(0, 0, c.w, c.h)
	}
	c.line(f, 0, sealLineSize*1.15, s)
	c.b = append(c.b, "EMC\n"...)
	form, err = c.form()
	return form, width, err
}

const (
	sealLineSize   = 5.5
	sealLineHeight = 1.6
	sealLineMargin = 14.0
	sealLineFoot   = 5.0
)
