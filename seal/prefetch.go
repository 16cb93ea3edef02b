package seal

import (
	"image/color"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/boombuler/barcode/qr"

	"countersign/seal/picture"
)

// prefetched contains pictures and the QR code, which are slow to prepare. A second goroutine prepares them in advance.
type prefetched struct {
	rasters map[string]func() (picture.Raster, error) // by hash of the PNG
	qr      func() ([][]bool, error)
}

func prefetch(job *Job, codes *qrCache) *prefetched {
	a := &prefetched{rasters: map[string]func() (picture.Raster, error){}}
	a.qr = sync.OnceValues(func() ([][]bool, error) { return codes.of(job.VerifyURL) })
	var order []func() (picture.Raster, error)
	for _, v := range job.Values {
		if len(v.PNG) == 0 {
			continue
		}
		key := string(sha256Of(v.PNG))
		if _, ok := a.rasters[key]; !ok {
			a.rasters[key] = sync.OnceValues(func() (picture.Raster, error) { return picture.RasterOf(v.PNG) })
			order = append(order, a.rasters[key])
		}
	}
	// Prepare only the first few pictures, so that memory use does not grow with their number. Start with the last one,
	// because the first one is needed immediately.
	const most = 8
	order = order[:min(len(order), most)]
	slices.Reverse(order)
	go func() {
		for _, prepare := range order {
			_, _ = prepare() // drawing reports the same error
		}
		if job.VerifyURL != "" {
			_, _ = a.qr()
		}
	}()
	return a
}

func (a *prefetched) raster(key string, png []byte) (picture.Raster, error) {
	prepare, ok := a.rasters[key]
	if !ok {
		return picture.RasterOf(png)
	}
	delete(a.rasters, key) // requested only once, so its memory can be released
	return prepare()
}

// qrCache caches the most recent QR code, because a deployment has only one verification page.
type qrCache struct {
	last atomic.Pointer[qrCode]
}

type qrCode struct {
	content string
	bits    [][]bool // rows from the top; true is dark
}

func (c *qrCache) of(content string) ([][]bool, error) {
	if last := c.last.Load(); last != nil && last.content == content {
		return last.bits, nil
	}
	code, err := qr.Encode(content, qr.M, qr.Auto)
	if err != nil {
		return nil, err
	}
	bits := make([][]bool, code.Bounds().Dy())
	for y := range bits {
		for x := range code.Bounds().Dx() {
			bits[y] = append(bits[y], code.At(x, y) == color.Black)
		}
	}
	c.last.Store(&qrCode{content, bits})
	return bits, nil
}
