package prepare_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/test/kit"
)

// BenchmarkLarge measures how long it takes to find tags on 4,000 pages, and to find a string that occurs on each page.
// It reports the CPU time of both searches and of pdftotext, and the memory obtained from the operating system.
func BenchmarkLarge(b *testing.B) {
	file := kit.TaggedPages(4000, 10)
	name := filepath.Join(b.TempDir(), "large.pdf")
	require.NoError(b, os.WriteFile(name, file, 0o600))
	spent := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var tags, anchors, poppler time.Duration
	for b.Loop() {
		before := spent()
		found, err := prepare.FindTags(b.Context(), open(b, file))
		require.NoError(b, err)
		require.Len(b, found, 400)
		tags += spent() - before
		before = spent()
		anchor := prepare.Anchor{Text: "of page 3999: the parties", Match: prepare.First}
		places, err := prepare.Resolve(b.Context(), open(b, file), []prepare.AnchoredField{{Anchor: anchor, W: 100, H: 20}})
		require.NoError(b, err)
		require.Len(b, places[0], 1)
		require.Equal(b, 4000, places[0][0].Page)
		anchors += spent() - before
		cmd := exec.CommandContext(b.Context(), "pdftotext", name, os.DevNull)
		require.NoError(b, cmd.Run())
		poppler += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(tags.Milliseconds())/float64(b.N), "tags-ms")
	b.ReportMetric(float64(anchors.Milliseconds())/float64(b.N), "anchors-ms")
	b.ReportMetric(float64(poppler.Milliseconds())/float64(b.N), "pdftotext-ms")
	b.ReportMetric(float64(tags+anchors)/float64(poppler), "both/pdftotext")
	b.ReportMetric(float64(m.Sys-m.HeapReleased)/1e6, "MB")
	b.ReportMetric(float64(len(file))/1e6, "file-MB")
	b.ReportMetric(0, "ns/op")
}
