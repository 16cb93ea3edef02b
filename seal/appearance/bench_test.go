package appearance_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
)

// processorTime returns the CPU time used by this process or by its terminated child processes.
func processorTime(b *testing.B, who int) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(who, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// noisyScan returns a US Letter page scanned in color at 300 dpi, with noisy paper and gray lines.
func noisyScan() []byte {
	const w, h = 2550, 3300
	random := rand.New(rand.NewPCG(1, 1))
	data := make([]byte, w*h*3)
	for i := range data {
		ground := 235
		if y := i / 3 / w; y%60 < 8 {
			ground = 90
		}
		data[i] = byte(ground + random.IntN(16))
	}
	return pdf("q 612 0 0 792 0 0 cm /I Do Q", letter+"/Resources<</XObject<</I 5 0 R>>>>",
		stream(fmt.Sprintf("/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8/ColorSpace/DeviceRGB", w, h), string(data)))
}

// BenchmarkPage measures the CPU time for rendering and encoding a page, and the memory of the instance.
func BenchmarkPage(b *testing.B) {
	for name, file := range map[string][]byte{"text": textPage(), "scan": noisyScan()} {
		for _, level := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%s/level%d", name, level), func(b *testing.B) {
				e, err := engine()
				require.NoError(b, err)
				before, size := processorTime(b, syscall.RUSAGE_SELF), 0
				for b.Loop() {
					d, err := e.Open(b.Context(), bytes.NewReader(file), int64(len(file)))
					require.NoError(b, err)
					p, err := d.Encoded(1, appearance.Level(level))
					require.NoError(b, err)
					size = len(p.Content)
					require.NoError(b, d.Close())
				}
				b.ReportMetric(float64((processorTime(b, syscall.RUSAGE_SELF)-before).Milliseconds())/float64(b.N), "cpu-ms/page")
				b.ReportMetric(float64(size), "bytes/picture")
			})
		}
	}
}

// BenchmarkProcess measures the peak memory of a process that renders a large scan at the highest level.
func BenchmarkProcess(b *testing.B) {
	r := newRenderer(b)
	file := scanPage(4000)
	for b.Loop() {
		_, err := r.Page(b.Context(), bytes.NewReader(file), int64(len(file)), 1, 4)
		require.NoError(b, err)
	}
	r.Close()
	var u syscall.Rusage
	require.Eventually(b, func() bool {
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
		return u.Maxrss > 0
	}, 10*time.Second, 10*time.Millisecond)
	b.ReportMetric(float64(u.Maxrss)/1024, "MB/process")
}
