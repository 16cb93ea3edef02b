package pdf

import "math"

// maxSubpaths is the maximum number of subpaths in a path. Further subpaths are ignored.
const maxSubpaths = 100_000

// subpath is a part of a path. Its last point is connected to its first.
type subpath [][2]float64

// construct executes a path construction operator (8.5.2).
func (s *stream) construct(op string) {
	if s.reader.work--; s.reader.work < 0 {
		return
	}
	add := func(x, y float64) {
		px, py := s.g.ctm.Apply(x, y)
		last := len(s.path) - 1
		s.path[last] = append(s.path[last], [2]float64{px, py})
	}
	want := 2
	switch op {
	case "re", "v", "y":
		want = 4
	case "c":
		want = 6
	}
	n, ok := s.numbers(want)
	if !ok {
		s.reader.unknown = true
		return
	}
	s.curved = s.curved || op == "c" || op == "v" || op == "y"
	if len(s.path) > maxSubpaths {
		return
	}
	if op == "re" {
		s.path = append(s.path, nil)
		add(n[0], n[1])
		add(n[0]+n[2], n[1])
		add(n[0]+n[2], n[1]+n[3])
		add(n[0], n[1]+n[3])
		return
	}
	if op == "m" || len(s.path) == 0 {
		s.path = append(s.path, nil)
	}
	for i := 0; i < want; i += 2 { // control points of curves are treated as corners
		add(n[i], n[i+1])
	}
}

// bounds returns the bounding box of the path, and reports whether the path is exactly that box.
func (s *stream) bounds() (b Box, exact bool) {
	b = Box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, sub := range s.path {
		for _, p := range sub {
			b = Box{min(b.X0, p[0]), min(b.Y0, p[1]), max(b.X1, p[0]), max(b.Y1, p[1])}
		}
	}
	if len(s.path) != 1 {
		return b, false
	}
	for _, p := range s.path[0] {
		if p[0] != b.X0 && p[0] != b.X1 || p[1] != b.Y0 && p[1] != b.Y1 {
			return b, false
		}
	}
	return b, len(s.path[0]) >= 4
}

func (s *stream) fill(evenOdd bool) {
	segments := 0
	for _, sub := range s.path {
		segments += len(sub)
	}
	if s.reader.work -= segments * len(s.reader.points) / 4; s.reader.work < 0 || segments == 0 {
		return
	}
	b, exact := s.bounds()
	s.filled(b, exact)
	s.reader.paint(&s.g, func(x, y float64) bool {
		if x < b.X0 || x > b.X1 || y < b.Y0 || y > b.Y1 {
			return false
		}
		if exact {
			return true
		}
		n := winding(s.path, x, y)
		return n != 0 && (!evenOdd || n%2 != 0)
	})
}

// winding returns the winding number of a path around a point.
func winding(path []subpath, x, y float64) int {
	n := 0
	for _, sub := range path {
		for i, p := range sub {
			q := sub[(i+1)%len(sub)]
			if (p[1] > y) == (q[1] > y) || x >= (q[0]-p[0])*(y-p[1])/(q[1]-p[1])+p[0] {
				continue
			}
			if q[1] > p[1] {
				n++
			} else {
				n--
			}
		}
	}
	return n
}

// filled records a filled path by the bounding boxes of its subpaths. White paint does not occupy space, and can free
// the space that it covers.
func (s *stream) filled(b Box, exact bool) {
	r := s.reader
	if s.g.light >= whiteThreshold {
		if exact && s.g.exact && b.contains(r.foot) && s.g.clip.contains(r.foot) {
			r.taken = false
		}
		return
	}
	for _, sub := range s.path {
		r.marks(&s.g, boundsOf(sub, 0))
	}
}

func boundsOf(points [][2]float64, around float64) Box {
	b := Box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, p := range points {
		b = Box{min(b.X0, p[0]-around), min(b.Y0, p[1]-around), max(b.X1, p[0]+around), max(b.Y1, p[1]+around)}
	}
	return b
}

// stroked records a stroked path by the bounding boxes of its segments, or of its subpaths if the path has curves.
func (s *stream) stroked() {
	around := s.g.lineWidth * s.g.ctm.scale() / 2
	for _, sub := range s.path {
		if s.reader.work -= len(sub); s.curved || len(sub) < 2 {
			s.reader.marks(&s.g, boundsOf(sub, around))
			continue
		}
		for i := range sub {
			s.reader.marks(&s.g, boundsOf([][2]float64{sub[i], sub[(i+1)%len(sub)]}, around))
		}
	}
}

// scale returns an upper bound on the factor by which m can lengthen a line.
func (m Matrix) scale() float64 { return math.Hypot(math.Hypot(m[0], m[1]), math.Hypot(m[2], m[3])) }

// endPath strokes the path if requested, applies a requested clip (8.5.4), and starts a new path.
func (s *stream) endPath(stroke bool) {
	if stroke {
		s.stroked()
	}
	if s.clipping {
		b, exact := s.bounds()
		c := &s.g.clip
		*c = Box{max(c.X0, b.X0), max(c.Y0, b.Y0), min(c.X1, b.X1), min(c.Y1, b.Y1)}
		s.g.exact = s.g.exact && exact
		s.clipping = false
	}
	s.path, s.curved = s.path[:0], false
}
