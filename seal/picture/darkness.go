package picture

import "image"

// Darkness is the distribution of a picture's darkness. For each corner of a grid of cells, it contains the sum over
// the area above and to the left of the corner. A black pixel counts as 255.
type Darkness struct {
	columns, rows int
	cell          int // side of a cell, in pixels
	sums          []int64
}

// darknessOf returns the darkness of a picture on a white background.
func darknessOf(img *image.NRGBA) Darkness {
	const most = 256 // maximum number of cells per side
	w, h := img.Rect.Dx(), img.Rect.Dy()
	d := Darkness{cell: (max(w, h) + most - 1) / most}
	d.columns, d.rows = (w+d.cell-1)/d.cell, (h+d.cell-1)/d.cell
	d.sums = make([]int64, (d.columns+1)*(d.rows+1))
	for y := range h {
		row := img.Pix[y*img.Stride:]
		at := (y/d.cell + 1) * (d.columns + 1)
		for x := range w {
			p := row[4*x : 4*x+4 : 4*x+4]
			light := (30*int64(p[0]) + 59*int64(p[1]) + 11*int64(p[2])) / 100
			d.sums[at+x/d.cell+1] += (255 - light) * int64(p[3]) / 255
		}
	}
	for i := 1; i <= d.rows; i++ {
		for j := 1; j <= d.columns; j++ {
			at := i*(d.columns+1) + j
			d.sums[at] += d.sums[at-1] + d.sums[at-d.columns-1] - d.sums[at-d.columns-2]
		}
	}
	return d
}

// max returns the average darkness, from 0 to 1, of the darkest square with the given side length in pixels. If the
// picture is smaller, it is treated as one such square.
func (d *Darkness) max(side float64) float64 {
	n := max(1, int(side/float64(d.cell)+0.5))
	w, h := min(n, d.columns), min(n, d.rows)
	best := int64(0)
	sum := func(row, column int) int64 { return d.sums[row*(d.columns+1)+column] }
	for i := h; i <= d.rows; i++ {
		for j := w; j <= d.columns; j++ {
			best = max(best, sum(i, j)-sum(i-h, j)-sum(i, j-w)+sum(i-h, j-w))
		}
	}
	return float64(best) / 255 / float64(n*n*d.cell*d.cell)
}

const (
	// letterSide is the side length, in points, of a square about the size of a few letters of text.
	letterSide = 10
	// mostDark is the maximum average darkness of a letterSide square at which black letters beneath it remain legible.
	mostDark = 0.5
)

// Opacity returns the opacity at which to draw a picture. The argument pixel is the size of a pixel in points.
func (d *Darkness) Opacity(pixel float64) float64 {
	return min(1, mostDark/max(d.max(letterSide/pixel), mostDark))
}
