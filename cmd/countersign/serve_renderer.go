package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"countersign/seal/appearance"
)

type rendererCommand struct {
	Cache   string `help:"Folder of the compiled module." type:"path" required:""`
	Compile bool   `help:"Compile the module into the folder and exit."`
}

// Run renders pages for the service in a separate process, so that a malicious file can crash only that process.
func (r rendererCommand) Run(ctx context.Context) error {
	e, err := appearance.NewEngine(ctx, appearance.EngineOptions{CacheDir: r.Cache})
	if err != nil {
		return err
	}
	if r.Compile {
		return e.Close(ctx)
	}
	os.Exit(appearance.Serve(ctx, e, os.Stdin, os.Stdout))
	return nil
}

// pageRenderer renders pages after its module has been compiled.
type pageRenderer struct {
	*appearance.Renderer

	command []string
	dir     string
	remove  bool // delete dir when closing, because no other process uses it
	log     *slog.Logger

	compiled atomic.Bool
	compiler singleflight.Group
	open     context.Context //nolint:containedctx // compiling continues after the request that started it, and ends when the renderer is closed
	shut     context.CancelFunc
}

// newRenderer returns a renderer that runs rendererCommand in child processes. The compiled module is cached in the
// data directory or, if there is none, in a temporary directory used only by this process.
func newRenderer(dataDir string, log *slog.Logger) (*pageRenderer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the executable that renders pages: %w", err)
	}
	r := &pageRenderer{dir: filepath.Join(dataDir, "renderer"), log: log}
	if st, statErr := os.Stat(dataDir); statErr != nil || !st.IsDir() || appearance.PrepareCache(r.dir) != nil {
		if r.dir, err = os.MkdirTemp("", "countersign-renderer-"); err != nil {
			return nil, fmt.Errorf("create a folder for the renderer: %w", err)
		}
		r.remove = true
	}
	r.open, r.shut = context.WithCancel(context.Background())
	r.command = []string{self, "render-pages", "--cache", r.dir}
	r.Renderer = appearance.NewRenderer(r.command...)
	r.Before(r.compile)
	return r, nil
}

// compile waits until the module is compiled. The first call compiles it. If this fails, each child process compiles
// the module itself, which takes several seconds per page.
func (r *pageRenderer) compile(ctx context.Context) error {
	if r.compiled.Load() {
		return nil
	}
	done := r.compiler.DoChan("", func() (any, error) {
		if err := r.compileModule(r.open); err != nil {
			r.log.WarnContext(r.open, "could not compile the renderer module; rendering will be slow", "error", err)
		}
		r.compiled.Store(true)
		return nil, nil //nolint:nilnil // only completion matters
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-done:
		return nil
	}
}

func (r *pageRenderer) compileModule(ctx context.Context) error {
	if appearance.IsCompiled(r.dir) {
		return nil
	}
	cmd := exec.CommandContext(ctx, r.command[0], append(r.command[1:], "--compile")...) //nolint:gosec // the service's own program
	cmd.Env = []string{}
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("compile the renderer: %w: %s", err, out)
	}
	return nil
}

func (r *pageRenderer) close() error {
	r.shut()
	r.Close()
	if r.remove {
		return os.RemoveAll(r.dir)
	}
	return nil
}
