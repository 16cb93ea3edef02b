package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/appearance"
	"countersign/seal/rejection"
)

// renderArgument is the argument that starts this program as a rendering process. The directory of the compiled module
// follows it.
const renderArgument = "render-pages"

// serveRenderer renders pages on behalf of another process of this program.
func serveRenderer(cache string) int {
	ctx := context.Background()
	e, err := appearance.NewEngine(ctx, appearance.EngineOptions{CacheDir: cache})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return appearance.Serve(ctx, e, os.Stdin, os.Stdout)
}

// newRenderer returns a renderer that runs processes of this program. It compiles the module unless it is already
// compiled.
func newRenderer(ctx context.Context) (*appearance.Renderer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "countersign", "renderer")
	e, err := appearance.NewEngine(ctx, appearance.EngineOptions{CacheDir: dir})
	if err != nil {
		return nil, err
	}
	return appearance.NewRenderer(self, renderArgument, dir), e.Close(ctx)
}

// renderedPages is the maximum number of pages that admitAll renders per file.
const renderedPages = 30

// renderAll renders the first pages of an admitted file. It stops at the first error and returns the number of rendered
// pages.
func renderAll(ctx context.Context, renderer *appearance.Renderer, b []byte, pages int) (n int, err error) {
	for n < min(pages, renderedPages) {
		if _, err := renderer.Page(ctx, bytes.NewReader(b), int64(len(b)), n+1, 2); err != nil {
			return n, fmt.Errorf("page %d: %w", n+1, err)
		}
		n++
	}
	return n, nil
}

// admitAll admits files as uploads with the default options, renders their pages, and prints the rejected files and a
// summary.
func admitAll(ctx context.Context, names []string) int {
	renderer, err := newRenderer(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer renderer.Close()
	lim := admission.DefaultLimits()
	lim.Renderer = renderer
	counts := make(map[string]int)
	rejected, failed, rendered := 0, 0, 0
	for _, name := range names {
		if ctx.Err() != nil {
			return 1
		}
		b, err := os.ReadFile(name) //nolint:gosec // named by the caller
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		start := time.Now()
		info, p, err := admission.AdmitUpload(ctx, admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b)}, lim, prepare.Options{})
		took := time.Since(start).Round(time.Millisecond)
		r, ok := errors.AsType[*rejection.Error](err)
		switch {
		case ok:
			rejected++
			counts["rejected: "+r.Code]++
			fmt.Printf("rejected  %s  %s  %s  %s\n", filepath.Base(name), took, r.Code, r.Message)
		case err != nil:
			failed++
			fmt.Printf("FAILED  %s  %v\n", filepath.Base(name), err)
		case p != nil && len(p.Rewritten) > 0:
			c := p.Changes[0]
			counts["admitted: "+c.Kind]++
			fmt.Printf("%s  %s  %s  %s\n", c.Kind, filepath.Base(name), took, strings.TrimSpace(c.Detail))
		default:
			counts["admitted"]++
		}
		if err != nil {
			continue
		}
		if p != nil && len(p.Rewritten) > 0 {
			b = p.Rewritten
		}
		if p != nil {
			b = append(b, p.Appended...)
		}
		n, err := renderAll(ctx, renderer, b, len(info.Pages))
		if rendered += n; err != nil {
			counts["admitted, but not rendered"]++
			fmt.Printf("not rendered  %s  %v\n", filepath.Base(name), err)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("%6d  %s\n", counts[k], k)
	}
	fmt.Printf("%d pages rendered, at most %d of a file\n", rendered, renderedPages)
	fmt.Printf("%d of %d refused (%.2f %%)\n", rejected, len(names), 100*float64(rejected)/float64(max(1, len(names))))
	if failed > 0 {
		return 1
	}
	return 0
}
