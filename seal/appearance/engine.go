package appearance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	_ "unsafe" // for go:linkname

	_ "github.com/klippa-app/go-pdfium/webassembly" // contains the module
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"countersign/seal/fonts"
)

// module is PDFium compiled to WebAssembly. go-pdfium embeds it in an internal package, and its public API does not
// report failed allocations. The module is therefore linked by name. NewEngine checks its hash.
//
//go:linkname module github.com/klippa-app/go-pdfium/internal/pdfium_wasm.Module
var module []byte

// Engine is the compiled renderer. It is safe for concurrent use, but a Document is not.
type Engine struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	config   wazero.ModuleConfig
	limit    uint64
}

// EngineOptions configures how the module is compiled. It does not affect the rendering.
type EngineOptions struct {
	// CacheDir is the directory for the compiled module. It contains executable code, so no other user may have write
	// access. If it is empty, the module is compiled for this engine only, which takes seconds.
	CacheDir string
	// Interpret executes the module without compiling it.
	Interpret bool
	// Memory overrides the memory limit of the profile, in bytes. It is intended for tests.
	Memory uint64
}

// NewEngine compiles the renderer for the current profile.
func NewEngine(ctx context.Context, opt EngineOptions) (_ *Engine, err error) {
	sum := sha256.Sum256(module)
	profile := Current()
	if hex.EncodeToString(sum[:]) != profile.Module {
		return nil, errors.New("appearance: the WebAssembly module does not match the profile")
	}
	cfg := wazero.NewRuntimeConfig()
	if opt.Interpret {
		cfg = wazero.NewRuntimeConfigInterpreter()
	}
	cfg = cfg.WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling)
	if opt.CacheDir != "" {
		cache, err := openCache(opt.CacheDir)
		if err != nil {
			return nil, err
		}
		cfg = cfg.WithCompilationCache(cache)
	}
	e := &Engine{runtime: wazero.NewRuntimeWithConfig(ctx, cfg), limit: profile.Memory}
	if opt.Memory > 0 {
		e.limit = opt.Memory
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("appearance: start the renderer: %w", err), e.runtime.Close(ctx))
		}
	}()
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, e.runtime); err != nil {
		return nil, err
	}
	if e.compiled, err = e.runtime.CompileModule(ctx, module); err != nil {
		return nil, err
	}
	if err := e.exportHost(ctx); err != nil {
		return nil, err
	}
	// Clocks and randomness use wazero's deterministic defaults.
	e.config = wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").WithStdout(io.Discard).WithStderr(io.Discard).
		WithFSConfig(wazero.NewFSConfig().WithFSMount(fonts.Tree(fontFolder), "/"))
	return e, nil
}

// fontFolder is the directory in which PDFium searches for fonts.
const fontFolder = "usr/share/fonts"

// Close closes the engine and its documents.
func (e *Engine) Close(ctx context.Context) error { return e.runtime.Close(ctx) }

// PrepareCache creates a directory for compiled modules. Only the current user has access to it, because it contains
// executable code.
func PrepareCache(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.Chmod(dir, 0o700) //nolint:gosec // a directory; fails if another user owns it
	}
	if err != nil {
		return fmt.Errorf("appearance: compilation cache: %w", err)
	}
	return nil
}

// IsCompiled reports whether a directory contains the compiled module.
func IsCompiled(dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	return err == nil && len(files) > 0
}

func openCache(dir string) (wazero.CompilationCache, error) {
	if err := PrepareCache(dir); err != nil {
		return nil, err
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("appearance: compilation cache: %w", err)
	}
	return cache, nil
}

// exportHost provides the functions that the module imports from its host. Only the functions for reading and saving
// the document have an effect. There are no timers, clocks, dialogs or navigation.
func (e *Engine) exportHost(ctx context.Context) error {
	b := e.runtime.NewHostModuleBuilder("env")
	for _, f := range e.compiled.ImportedFunctions() {
		from, name, _ := f.Import()
		if from != "env" {
			continue
		}
		call := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { clear(stack) })
		switch name {
		case "FPDF_FILEACCESS_CB":
			call = readDocument
		case "FPDF_FILEWRITE_CB":
			call = writeDocument
		}
		b.NewFunctionBuilder().WithGoModuleFunction(call, f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// documentKey is the context key of a document's source.
type documentKey struct{}

// source contains a document's file and the output to which it is saved.
type source struct {
	file io.ReaderAt
	err  error // error of reading the file
	out  output
}

// readDocument implements m_GetBlock of FPDF_FILEACCESS. Its arguments are parameter, position, buffer and size.
func readDocument(ctx context.Context, m api.Module, stack []uint64) {
	at, buffer, size := uint32(stack[1]), uint32(stack[2]), uint32(stack[3]) //nolint:gosec // 32-bit arguments
	stack[0] = 0
	s, ok := ctx.Value(documentKey{}).(*source)
	b, in := m.Memory().Read(buffer, size)
	if !ok || !in {
		return
	}
	if n, err := s.file.ReadAt(b, int64(at)); n < len(b) {
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
		return
	}
	stack[0] = 1
}

// writeDocument implements WriteBlock of FPDF_FILEWRITE. Its arguments are this, data and size.
func writeDocument(ctx context.Context, m api.Module, stack []uint64) {
	data, size := uint32(stack[1]), uint32(stack[2]) //nolint:gosec // 32-bit arguments
	stack[0] = 0
	s, ok := ctx.Value(documentKey{}).(*source)
	b, in := m.Memory().Read(data, size)
	if ok && in && s.out.write(b) {
		stack[0] = 1
	}
}
