package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/seal"
	"countersign/seal/admission"
)

// TestSample checks the seal's own test files, versions of these files written by other programs, and damaged copies of
// all of them.
func TestSample(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seeds, err := filepath.Glob("../testdata/*.pdf")
	require.NoError(t, err)
	made, err := filepath.Glob("../testdata/corpus/*.pdf")
	require.NoError(t, err)
	seeds = append(seeds, made...)
	require.Greater(t, len(seeds), 10)
	for i, seed := range seeds {
		b, err := os.ReadFile(seed)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(seed)), b, 0o600))
		if i%4 != 0 {
			continue
		}
		out := func(name string) string { return filepath.Join(dir, fmt.Sprintf("%s-%d.pdf", name, i)) }
		for _, args := range [][]string{
			{"qpdf", "--linearize", seed, out("linear")},
			{"qpdf", "--object-streams=generate", seed, out("streams")},
			{"mutool", "clean", "-gg", "-z", seed, out("mupdf")},
			{"pdftocairo", "-pdf", seed, out("cairo")},
		} {
			msg, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
			require.NoError(t, err, "%s", msg)
		}
	}
	names, err := find([]string{dir}, 1<<20)
	require.NoError(t, err)
	c, err := newChecker()
	require.NoError(t, err)
	defer c.close()
	tally := newTally()
	c.each(t.Context(), 2, inputs(names, 15, 1), tally)
	require.Empty(t, tally.failures)
	var out bytes.Buffer
	tally.print(&out)
	t.Log(out.String())
	require.Equal(t, len(names)+15, tally.counts["files"])
	require.Equal(t, len(names), tally.counts["as it is: admitted"])
	for _, what := range []string{"sealed", "verified by countersign", "verified by pdfsig", "verified by mutool", "verified by qpdf", "verified by openssl", "same pixels in poppler", "same pixels in mupdf"} {
		require.Equal(t, len(names), tally.counts["as it is: "+what], what)
	}
}

// TestCompare checks that a pixel outside the fields is counted if it differs by more than the rounding tolerance.
func TestCompare(t *testing.T) {
	t.Parallel()
	blank := func() picture { return picture{100, 100, make([]byte, 100*100*3)} }
	info := admission.Info{Pages: []admission.PageSize{{Width: 200, Height: 200}}}
	job := seal.Job{Values: []seal.Value{{Page: 1, X: 20, Y: 40, W: 40, H: 20}}}
	for _, tt := range []struct{ x, y, outside, inside int }{
		{0, 0, 1, 0},
		{20, 25, 0, 1}, // in the field
		{40, 25, 1, 0}, // next to it
		{50, 97, 0, 0}, // the line at the foot
		{50, 85, 1, 0}, // above that
		{99, 50, 1, 0},
	} {
		changed := blank()
		changed.rgb[3*(tt.y*100+tt.x)] = rounding
		outside, inside := compare(blank(), changed, 1, job, info)
		require.Equal(t, [2]int{}, [2]int{outside, inside}, "%v", tt)
		changed.rgb[3*(tt.y*100+tt.x)]++
		outside, inside = compare(blank(), changed, 1, job, info)
		require.Equal(t, [2]int{tt.outside, tt.inside}, [2]int{outside, inside}, "%v", tt)
	}
	_, err := find([]string{filepath.Join(t.TempDir(), "none")}, 1)
	require.Error(t, err)
	require.Equal(t, []string{"a", "c"}, sampleEvenly([]string{"a", "b", "c", "d"}, 2))
}
