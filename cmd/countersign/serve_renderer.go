package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"countersign/seal/appearance"
	"countersign/seal/sandbox"
)

type rendererCommand struct {
	Cache   string `help:"Folder of the compiled module." type:"path" required:""`
	Compile bool   `help:"Compile the module into the folder, at low priority, and end."`
}

// Run renders pages for the service, in a process of its own: a hostile file can end this process, and nothing else.
func (r rendererCommand) Run(ctx context.Context) error {
	if r.Compile {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) // it only costs time
	}
	e, err := appearance.NewEngine(ctx, appearance.EngineOptions{CacheDir: r.Cache})
	if err != nil {
		return err
	}
	if r.Compile {
		return e.Close(ctx)
	}
	debug.FreeOSMemory() // compiling needs much more memory than rendering
	os.Exit(sandbox.Serve(ctx, os.Stdin, os.Stdout, appearance.Tasks(e)))
	return nil
}

// pageRenderer is the renderer with the folder of its compiled module.
type pageRenderer struct {
	*appearance.Renderer

	command []string
	dir     string
	remove  bool // the directory belongs to this process only
}

// newRenderer runs rendererCommand in processes of this program. The compiled module is cached in the data directory
// or, without one, in a temporary directory for this process only.
func newRenderer(dataDir string) (*pageRenderer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that renders pages: %w", err)
	}
	r := &pageRenderer{dir: filepath.Join(dataDir, "renderer")}
	if st, statErr := os.Stat(dataDir); statErr != nil || !st.IsDir() || appearance.PrepareCache(r.dir) != nil {
		if r.dir, err = os.MkdirTemp("", "countersign-renderer-"); err != nil {
			return nil, fmt.Errorf("make a folder for the renderer: %w", err)
		}
		r.remove = true
	}
	r.command = []string{self, "render-pages", "--cache", r.dir}
	r.Renderer = appearance.NewRenderer(r.command...)
	return r, nil
}

// compile compiles the module, unless it is cached. It runs at low priority, so that it delays nobody.
func (r *pageRenderer) compile(ctx context.Context) error {
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
	r.Close()
	if r.remove {
		return os.RemoveAll(r.dir)
	}
	return nil
}

// compileRenderer prepares the renderer in the background. Until then, each page takes seconds.
func (a *app) compileRenderer(ctx context.Context) {
	if err := a.renderer.compile(ctx); err != nil {
		a.log.WarnContext(ctx, "the renderer is not compiled: pages are shown late", "error", err)
	}
}
