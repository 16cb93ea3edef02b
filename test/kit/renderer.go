package kit

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"countersign/seal/appearance"
)

// Renderer is a renderer that runs in this process.
type Renderer struct{}

// engine returns the rendering engine. It is compiled once and cached between test runs.
var engine = sync.OnceValues(func() (*appearance.Engine, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return appearance.NewEngine(context.Background(), appearance.EngineOptions{CacheDir: filepath.Join(dir, "countersign", "renderer")})
})

func open(ctx context.Context, file io.ReaderAt, size int64) (*appearance.Document, error) {
	e, err := engine()
	if err != nil {
		return nil, err
	}
	return e.Open(ctx, file, size)
}

// Page renders a page.
func (Renderer) Page(ctx context.Context, file io.ReaderAt, size int64, page int, level appearance.Level) (p *appearance.Encoded, err error) {
	d, err := open(ctx, file, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Encoded(page, level)
}

// Lines returns the lines of a page.
func (Renderer) Lines(ctx context.Context, file io.ReaderAt, size int64, page int) (l *appearance.Lines, err error) {
	d, err := open(ctx, file, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Lines(page)
}

// Text returns the text of a page.
func (Renderer) Text(ctx context.Context, file io.ReaderAt, size int64, page int) (t *appearance.Text, err error) {
	d, err := open(ctx, file, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Text(page)
}

// Inspect returns the properties of a document's pages.
func (Renderer) Inspect(ctx context.Context, file io.ReaderAt, size int64, text bool) (in *appearance.Inspection, err error) {
	d, err := open(ctx, file, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	found, err := d.Inspect(1, text)
	return &found, err
}

// Save rewrites a document.
func (Renderer) Save(ctx context.Context, file io.ReaderAt, size int64) (b []byte, err error) {
	d, err := open(ctx, file, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Save()
}

// SameAppearance reports whether two documents have the same appearance.
func (Renderer) SameAppearance(ctx context.Context, a io.ReaderAt, sizeA int64, b io.ReaderAt, sizeB int64) (bool, error) {
	e, err := engine()
	if err != nil {
		return false, err
	}
	return e.SameAppearance(ctx, a, sizeA, b, sizeB)
}
