package api

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/seal/appearance"
	"countersign/seal/manifest"
)

// TestRenderShown_OfAnotherFileOrRenderer_IsNotCompared checks that a page is rendered only if the file and the
// appearance profile match the record.
func TestRenderShown_OfAnotherFileOrRenderer_IsNotCompared(t *testing.T) {
	t.Parallel()
	known := appearance.Current()
	profile := manifest.Profile{Number: known.Number, Module: known.Module, Fonts: known.Fonts}
	f, err := os.Create(filepath.Join(t.TempDir(), "sealed.pdf"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	for name, change := range map[string]func(*manifest.Profile){
		"number": func(p *manifest.Profile) { p.Number++ }, "module": func(p *manifest.Profile) { p.Module = "x" }, "fonts": func(p *manifest.Profile) { p.Fonts = "x" },
	} {
		other := profile
		change(&other)
		_, err := new(verifyHandler).renderOriginalPage(t.Context(), &upload{file: f}, &manifest.Appearance{Profile: other}, 1, 1)
		require.ErrorIs(t, err, errOtherProfile, name)
	}
	_, err = new(verifyHandler).renderOriginalPage(t.Context(), &upload{file: f}, &manifest.Appearance{Profile: profile, SHA256: "00"}, 1, 1)
	require.ErrorIs(t, err, errDiffers)
}

func TestExamineSealed_WithoutTime_IsTooComplex(t *testing.T) {
	t.Parallel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	file := []byte("%PDF-1.7 no document")
	s := &verifyHandler{}
	s.shared = &shared{}
	_, err := s.examineSealed(late, bytes.NewReader(file), int64(len(file)))
	require.Equal(t, "file_too_complex", codeOf(t, err))
	found, err := s.examineSealed(t.Context(), bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	require.NotNil(t, found)
}
