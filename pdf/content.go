package pdf

import (
	"context"
	"io"
	"math"
	"slices"
)

// Content describes the content of a page for a caller that draws on top of it.
type Content struct {
	// Dark reports, for each box, whether dark ink might be illegible on the painted content.
	Dark []bool
	// Free reports whether the last box contains no paint other than white.
	Free bool
	// Size is the number of decoded bytes read, including those of forms.
	Size int64
}

// maxContent is the maximum size of the decoded content read for one page, in bytes.
const maxContent = 16 << 20

// ReadContent reads and interprets a page's content streams.
func (f *File) ReadContent(contents []Value, resourceDict Value, boxes []Box) (Content, error) {
	data, whole, err := f.contentData(contents, maxContent)
	if err != nil {
		return Content{}, err
	}
	c := Content{Dark: make([]bool, len(boxes)), Size: int64(len(data))}
	if c.Size > maxContent {
		return c, nil
	}
	r := &contentReader{f: f, work: maxContentWork, data: maxContent, points: make([]point, 0, len(boxes)*pointsPerBox), foot: boxes[len(boxes)-1], unknown: !whole}
	for _, b := range boxes {
		r.addPoints(b)
	}
	begin := graphics{ctm: Matrix{1, 0, 0, 1, 0, 0}, clip: Box{-1e9, -1e9, 1e9, 1e9}, exact: true, space: "DeviceGray", lineWidth: 1}
	if err := r.run(data, &resources{f: f, value: resourceDict}, begin, 0); err != nil {
		return c, err
	}
	c.Free, c.Size = !r.unknown && !r.taken && r.work > 0, c.Size+maxContent-r.data
	for i := range boxes {
		dark := 0
		for _, p := range r.points[i*pointsPerBox : (i+1)*pointsPerBox] {
			if p.dark {
				dark++
			}
		}
		c.Dark[i] = dark*10 >= 3*pointsPerBox // a line through the box, or a border, covers fewer points
	}
	return c, nil
}

// contentData decodes content streams and joins them, separated by line feeds. It also reports whether all of the
// content was readable. The data is valid until the next call.
func (f *File) contentData(contents []Value, most int64) (data []byte, whole bool, err error) {
	data, whole = f.content[:0], true
	defer func() {
		if cap(data) <= maxReusedContent {
			f.content = data
		}
	}()
	for _, v := range contents {
		ref, ok := v.Ref()
		if !ok { // null; Poppler then shows an empty page
			whole = false
			continue
		}
		o, err := f.objectAhead(ref)
		if err != nil {
			return nil, false, err
		}
		if !o.IsStream() {
			whole = false
			continue
		}
		var complete bool
		data, complete = f.decodeSome(data, o, most-int64(len(data)))
		whole = whole && complete
		data = append(slices.Grow(data, 1+len(afterTokens)), '\n')
		if int64(len(data)) > most {
			return data, false, nil
		}
	}
	return data, whole, nil
}

// maxReusedContent is the maximum size, in bytes, of a content buffer that is kept for reuse.
const maxReusedContent = 256 << 10

// decodeSome appends the decodable part of a stream, and reports whether it is complete.
func (f *File) decodeSome(data []byte, o Object, most int64) ([]byte, bool) {
	r, err := f.streamReader(o)
	if err != nil || f.decoded > f.maxDecoded() {
		return data, false
	}
	before, most := len(data), max(most, 0)+1
	if raw, ok := r.(*io.SectionReader); ok { // not encoded
		n := min(raw.Size(), most)
		data = slices.Grow(data, int(n)+1+len(afterTokens))[:before+int(n)]
		err = f.in.copyAhead(data[before:], o.Data)
	} else {
		data, err = appendAll(slices.Grow(data, 512), io.LimitReader(r, most))
	}
	f.decoded += int64(len(data) - before) // PDF readers show content that precedes an error
	return data, err == nil
}

// contentReader interprets content streams. It tracks the graphics state, paths, images, and the position of text.
type contentReader struct {
	f       *File
	points  []point
	foot    Box   // the box to check for painted content
	taken   bool  // whether something is painted in foot
	unknown bool  // whether some content was not read
	work    int   // remaining work; negative if exhausted
	data    int64 // remaining bytes of forms that may be read
}

const (
	maxContentWork = 20_000_000 // approximate number of comparisons of a point with a path segment
	maxForms       = 8          // maximum nesting depth
	gridX, gridY   = 5, 5
	pointsPerBox   = gridX * gridY
)

// point is a position on a page, and whether the topmost paint there is dark or unknown.
type point struct {
	x, y float64
	dark bool
}

func (r *contentReader) addPoints(b Box) {
	for i := range gridX {
		for j := range gridY {
			r.points = append(r.points, point{
				x: b.X0 + (b.X1-b.X0)*(float64(i)+0.5)/gridX, y: b.Y0 + (b.Y1-b.Y0)*(float64(j)+0.5)/gridY,
			})
		}
	}
}

// graphics is the tracked part of the graphics state (8.4).
type graphics struct {
	ctm   Matrix
	clip  Box
	exact bool    // clip is exactly the clipping path, and paint hides the content below
	light float64 // lightness of the fill color, from 0 to 1; NaN if unknown
	space string  // color space of the fill color

	lineWidth, fontSize, leading, spacing float64 // spacing is the sum of character and word spacing
}

// marks sets r.taken if paint in a box, after clipping, overlaps the box at the foot.
func (r *contentReader) marks(g *graphics, b Box) {
	b = Box{max(b.X0, g.clip.X0), max(b.Y0, g.clip.Y0), min(b.X1, g.clip.X1), min(b.Y1, g.clip.Y1)}
	r.taken = r.taken || b.Overlaps(r.foot)
}

// contains reports whether a box lies completely within b.
func (b Box) contains(c Box) bool {
	return b.X0 <= c.X0 && b.Y0 <= c.Y0 && b.X1 >= c.X1 && b.Y1 >= c.Y1
}

// whiteThreshold is the lightness above which a color counts as white.
const whiteThreshold = 0.99

// darkThreshold is the lightness below which a color counts as dark.
const darkThreshold = 0.55

// paint updates the darkness of the points inside a painted area.
func (r *contentReader) paint(g *graphics, in func(x, y float64) bool) {
	isDark := math.IsNaN(g.light) || g.light < darkThreshold
	if !isDark && !g.exact {
		return // might not cover the content below
	}
	for i := range r.points {
		p := &r.points[i]
		if p.dark != isDark && p.x >= g.clip.X0 && p.x <= g.clip.X1 && p.y >= g.clip.Y0 && p.y <= g.clip.Y1 && in(p.x, p.y) {
			p.dark = isDark
		}
	}
}

// run interprets one stream. It writes to the spare capacity of b. A form changes only what is painted, because it
// cannot change the graphics state of the content that paints it.
func (r *contentReader) run(b []byte, own *resources, g graphics, level int) error {
	s := &stream{reader: r, resources: own, level: level, g: g}
	_ = tokens(context.Background(), b, s.operand, func(op string) bool {
		s.operator(op)
		s.operands = s.operands[:0]
		return s.err == nil && r.work > 0
	}, s.inlineImage, func() { r.unknown = true })
	return s.err
}
