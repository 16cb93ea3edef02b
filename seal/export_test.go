package seal

// FitText returns the number of lines into which a string is broken in a box, their font size, and the width of the
// widest line in points.
func FitText(s string, w, h, wanted float64) (lines int, size, width float64, err error) {
	l, size, err := fitText(library().Wrap, s, w, h, wanted)
	for _, line := range l {
		width = max(width, line.Width*size/1000)
	}
	return len(l), size, width, err
}
