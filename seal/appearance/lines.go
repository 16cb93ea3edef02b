package appearance

import (
	"math"
	"slices"
)

// Lines contains the straight lines and images of a page, in points from the upper left corner of the displayed page.
type Lines struct {
	Page   int     `json:"page"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	// Horizontal contains lines at a constant y, and Vertical contains lines at a constant x. A thin filled rectangle
	// counts as a line, and a dashed line counts as one line.
	Horizontal []Line `json:"horizontal"`
	Vertical   []Line `json:"vertical"`
	// Images contains the bounding boxes of images.
	Images []Box `json:"images"`
	// Truncated reports whether the page draws more lines than a form would contain. In that case its lines are
	// omitted.
	Truncated bool `json:"truncated,omitempty"`
}

// Line is a horizontal or vertical line.
type Line struct {
	At   float64 `json:"at"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Box is an axis-aligned box.
type Box struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
	W float64 `json:"w"`
	H float64 `json:"h"`
}

const (
	// maxSegments limits the total number of path segments and page objects that are read.
	maxSegments = 20_000
	// maxDepth is the maximum nesting depth of form XObjects.
	maxDepth = 8
	// maxImages is the maximum number of listed images.
	maxImages = 1000

	thickest   = 2.5 // points; a thinner filled rectangle is a line
	slack      = 0.5 // points by which a line may be slanted
	dashGap    = 3   // maximum gap in points between the dashes of one line
	lineWidth  = 0.8 // maximum distance in points between parallel segments of one line
	shortest   = 5   // points
	palest     = 0xF4
	pathObject = 2
	imageObj   = 3
	formObject = 5
	moveTo     = 2
	lineTo     = 0
)

// Lines returns the lines and images drawn by a page, excluding its annotations.
func (d *Document) Lines(number int) (*Lines, error) {
	page, closePage, err := d.page(number)
	if err != nil {
		return nil, err
	}
	defer closePage()
	t := textReader{d: d, scratch: uint32(d.call("malloc", 64))} //nolint:gosec // a 32-bit address
	t.width, t.height = d.size(page, number)
	if t.scratch == 0 {
		return nil, d.fault(ErrMemory)
	}
	t.display(page)
	r := &lineReader{textReader: t, left: maxSegments}
	r.objects(int32(d.call("FPDFPage_CountObjects", page)), func(i uint64) uint64 { return d.call("FPDFPage_GetObject", page, i) }, t.matrix, 0) //nolint:gosec // an int
	out := &Lines{Page: number, Width: round(t.width), Height: round(t.height), Horizontal: []Line{}, Vertical: []Line{}, Images: r.images, Truncated: r.left <= 0}
	if out.Images == nil {
		out.Images = []Box{}
	}
	if !out.Truncated {
		out.Horizontal, out.Vertical = joined(r.horizontal), joined(r.vertical)
	}
	return out, d.fault(nil)
}

type lineReader struct {
	textReader

	left                 int // remaining number of segments and objects
	horizontal, vertical []Line
	images               []Box
}

type point struct{ x, y float64 }

type matrix = [6]float64

// product returns the matrix that applies n, then m.
func product(m, n matrix) matrix {
	return matrix{
		float64(m[0]*n[0]) + float64(m[2]*n[1]), float64(m[1]*n[0]) + float64(m[3]*n[1]),
		float64(m[0]*n[2]) + float64(m[2]*n[3]), float64(m[1]*n[2]) + float64(m[3]*n[3]),
		float64(m[0]*n[4]) + float64(m[2]*n[5]) + m[4], float64(m[1]*n[4]) + float64(m[3]*n[5]) + m[5],
	}
}

func apply(m matrix, x, y float64) point {
	return point{float64(m[0]*x) + float64(m[2]*y) + m[4], float64(m[1]*x) + float64(m[3]*y) + m[5]}
}

func (r *lineReader) objects(count int32, get func(uint64) uint64, m matrix, depth int) {
	for i := uint64(0); i < uint64(max(0, count)) && r.left > 0 && r.d.err == nil; i++ {
		r.left--
		object := get(i)
		if object == 0 || r.d.call("FPDFPageObj_GetMatrix", object, uint64(r.scratch)) == 0 {
			continue
		}
		own := product(m, matrix{r.float(0), r.float(1), r.float(2), r.float(3), r.float(4), r.float(5)})
		switch r.d.call("FPDFPageObj_GetType", object) {
		case pathObject:
			r.path(object, own)
		case imageObj:
			if len(r.images) < maxImages {
				b := around([]point{apply(own, 0, 0), apply(own, 1, 0), apply(own, 0, 1), apply(own, 1, 1)})
				r.images = append(r.images, Box{round(b.X), round(b.Y), round(b.W), round(b.H)})
			}
		case formObject:
			if depth < maxDepth {
				r.objects(int32(r.d.call("FPDFFormObj_CountObjects", object)), func(i uint64) uint64 { return r.d.call("FPDFFormObj_GetObject", object, i) }, own, depth+1) //nolint:gosec // an int
			}
		}
	}
}

// part is a subpath without curves.
type part struct {
	points []point
	closed bool
}

func (r *lineReader) path(object uint64, m matrix) {
	at := uint64(r.scratch)
	if r.d.call("FPDFPath_GetDrawMode", object, at, at+4) == 0 {
		return
	}
	fill, _ := r.d.module.Memory().ReadUint32Le(r.scratch)
	stroke, _ := r.d.module.Memory().ReadUint32Le(r.scratch + 4)
	stroked := stroke != 0 && !r.pale("FPDFPageObj_GetStrokeColor", object)
	filled := !stroked && fill != 0 && !r.pale("FPDFPageObj_GetFillColor", object)
	if !stroked && !filled {
		return
	}
	parts := r.straightParts(object, m)
	if stroked {
		for _, p := range parts {
			for i := 1; i < len(p.points); i++ {
				r.addSegment(p.points[i-1], p.points[i])
			}
			if p.closed {
				r.addSegment(p.points[len(p.points)-1], p.points[0])
			}
		}
		return
	}
	r.fill(parts)
}

// pale reports whether a color is barely visible.
func (r *lineReader) pale(function string, object uint64) bool {
	at := uint64(r.scratch)
	if r.d.call(function, object, at, at+4, at+8, at+12) == 0 {
		return false
	}
	for i := range uint32(3) {
		if v, _ := r.d.module.Memory().ReadUint32Le(r.scratch + 4*i); v < palest {
			return false
		}
	}
	return true
}

func (r *lineReader) straightParts(object uint64, m matrix) (out []part) {
	var now part
	curved := false
	end := func() {
		if !curved && len(now.points) > 1 {
			out = append(out, now)
		}
		now, curved = part{}, false
	}
	count := int32(r.d.call("FPDFPath_CountSegments", object)) //nolint:gosec // an int
	for i := uint64(0); i < uint64(max(0, count)) && r.d.err == nil; i++ {
		if r.left--; r.left <= 0 {
			return nil
		}
		segment := r.d.call("FPDFPath_GetPathSegment", object, i)
		kind := r.d.call("FPDFPathSegment_GetType", segment)
		if kind == moveTo {
			end()
		}
		if kind != moveTo && kind != lineTo {
			curved = true
		}
		at := uint64(r.scratch)
		if r.d.call("FPDFPathSegment_GetPoint", segment, at, at+4) != 0 {
			now.points = append(now.points, apply(m, r.float(0), r.float(1)))
		}
		now.closed = now.closed || r.d.call("FPDFPathSegment_GetClose", segment) != 0
	}
	end()
	return out
}

func (r *lineReader) addSegment(a, b point) {
	switch {
	case math.Abs(a.y-b.y) < slack:
		r.horizontal = append(r.horizontal, Line{(a.y + b.y) / 2, min(a.x, b.x), max(a.x, b.x)})
	case math.Abs(a.x-b.x) < slack:
		r.vertical = append(r.vertical, Line{(a.x + b.x) / 2, min(a.y, b.y), max(a.y, b.y)})
	}
}

// maxFilled is the maximum number of subpaths in a filled path. It is limited because every subpath is compared with
// all others.
const maxFilled = 200

// fill adds lines that are drawn as thin filled rectangles, and frames that are drawn as one rectangle inside another.
func (r *lineReader) fill(parts []part) {
	if len(parts) > maxFilled {
		return
	}
	boxes := make([]Box, len(parts))
	for i, p := range parts {
		boxes[i] = around(p.points)
	}
	for i, b := range boxes {
		inner := -1
		if isRectangle(parts[i].points) {
			inner = slices.IndexFunc(boxes, func(o Box) bool { return framed(b, o) })
		}
		switch {
		case inner >= 0 && isRectangle(parts[inner].points):
			o := boxes[inner]
			x0, y0, x1, y1 := (b.X+o.X)/2, (b.Y+o.Y)/2, (b.X+b.W+o.X+o.W)/2, (b.Y+b.H+o.Y+o.H)/2
			r.addSegment(point{x0, y0}, point{x1, y0})
			r.addSegment(point{x1, y0}, point{x1, y1})
			r.addSegment(point{x0, y1}, point{x1, y1})
			r.addSegment(point{x0, y0}, point{x0, y1})
		case b.H <= thickest && b.H < b.W:
			r.addSegment(point{b.X, b.Y + b.H/2}, point{b.X + b.W, b.Y + b.H/2})
		case b.W <= thickest && b.W < b.H:
			r.addSegment(point{b.X + b.W/2, b.Y}, point{b.X + b.W/2, b.Y + b.H})
		}
	}
}

// around returns the bounding box of points.
func around(points []point) Box {
	x0, y0, x1, y1 := points[0].x, points[0].y, points[0].x, points[0].y
	for _, p := range points[1:] {
		x0, y0, x1, y1 = min(x0, p.x), min(y0, p.y), max(x1, p.x), max(y1, p.y)
	}
	return Box{x0, y0, x1 - x0, y1 - y0}
}

func isRectangle(points []point) bool {
	if len(points) < 4 || len(points) > 5 {
		return false
	}
	for i, p := range points {
		q := points[(i+1)%len(points)]
		if math.Abs(p.x-q.x) >= slack && math.Abs(p.y-q.y) >= slack {
			return false
		}
	}
	return true
}

// framed reports whether the second box is inset from the first by at most the width of a line on each side.
func framed(a, b Box) bool {
	for _, d := range []float64{b.X - a.X, b.Y - a.Y, a.X + a.W - b.X - b.W, a.Y + a.H - b.Y - b.H} {
		if d <= 0 || d > thickest {
			return false
		}
	}
	return true
}

// joined merges segments of the same line, and drops lines that are too short.
func joined(lines []Line) []Line {
	slices.SortFunc(lines, func(a, b Line) int {
		if a.At != b.At {
			return sign(a.At - b.At)
		}
		return sign(a.From - b.From)
	})
	var all []*Line
	var open []*Line // lines near the current line
	for _, l := range lines {
		open = slices.DeleteFunc(open, func(o *Line) bool { return o.At <= l.At-lineWidth })
		i := slices.IndexFunc(open, func(o *Line) bool { return l.From <= o.To+dashGap && l.To >= o.From-dashGap })
		if i >= 0 {
			open[i].From, open[i].To = min(open[i].From, l.From), max(open[i].To, l.To)
			continue
		}
		made := l
		all, open = append(all, &made), append(open, &made)
	}
	out := []Line{}
	for _, l := range all {
		if l.To-l.From >= shortest {
			out = append(out, Line{round(l.At), round(l.From), round(l.To)})
		}
	}
	return out
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}
