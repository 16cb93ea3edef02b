package sealing_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// readers contains functions that render a page with different PDF programs, at one pixel per point. If a program
// displays nothing, the error contains the reason.
var readers = map[string]func(ctx context.Context, file string, page int) (image.Image, error){
	"poppler": drawCommand(func(file, page, out string) []string {
		return []string{"pdftoppm", "-r", "72", "-cropbox", "-f", page, "-l", page, "-png", "-singlefile", file, strings.TrimSuffix(out, ".png")}
	}),
	"MuPDF": drawCommand(func(file, page, out string) []string {
		return []string{"mutool", "draw", "-q", "-r", "72", "-o", out, file, page}
	}),
	"pdf.js": drawPDFJS,
	"PDFium": drawPDFium,
}

func drawCommand(command func(file, page, out string) []string) func(context.Context, string, int) (image.Image, error) {
	return func(ctx context.Context, file string, page int) (image.Image, error) {
		dir, err := os.MkdirTemp(filepath.Dir(file), "drawn")
		if err != nil {
			return nil, err
		}
		out := filepath.Join(dir, "page.png")
		args := command(file, fmt.Sprint(page), out)
		// The programs report errors about broken content and render the rest.
		said, runErr := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
		img, err := readPNG(out)
		if err != nil {
			return nil, errors.Join(err, runErr, errors.New(string(said)))
		}
		return img, os.RemoveAll(dir)
	}
}

func readPNG(file string) (image.Image, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return png.Decode(bytes.NewReader(b))
}

// pdfjs is a process that renders pages one at a time.
type pdfjs struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

var startPDFJS = sync.OnceValues(func() (*pdfjs, error) {
	cmd := exec.CommandContext(context.Background(), "node", filepath.Join("testdata", "render.mjs"), filepath.Join("..", "clients", "node_modules", "pdfjs-dist"))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &pdfjs{in: in, out: bufio.NewReader(out), cmd: cmd}, cmd.Start()
})

func drawPDFJS(_ context.Context, file string, page int) (image.Image, error) {
	p, err := startPDFJS()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := file + ".pdfjs.png"
	if err := json.NewEncoder(p.in).Encode(map[string]any{"file": file, "page": page, "out": out}); err != nil {
		return nil, err
	}
	said, err := p.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	img, err := readPNG(out)
	if err != nil {
		return nil, errors.Join(err, errors.New(said))
	}
	return img, os.Remove(out)
}

// startPDFium starts a pool with one instance, which cannot access files of this machine.
var startPDFium = sync.OnceValues(func() (pdfium.Pool, error) {
	cacheDir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(cacheDir, "countersign", "wazero"))
	if err != nil {
		return nil, err
	}
	return webassembly.Init(webassembly.Config{
		MinIdle: 0, MaxIdle: 1, MaxTotal: 1, FSConfig: wazero.NewFSConfig().WithFSMount(fstest.MapFS{}, "/"),
		RuntimeConfig: wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).WithCompilationCache(cache),
	})
})

func drawPDFium(_ context.Context, file string, page int) (out image.Image, err error) {
	pool, err := startPDFium()
	if err != nil {
		return nil, err
	}
	inst, err := pool.GetInstance(2 * time.Minute)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, inst.Close()) }()
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	doc, err := inst.OpenDocument(&requests.OpenDocument{File: &b})
	if err != nil {
		return nil, err
	}
	loaded, err := inst.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: doc.Document, Index: page - 1})
	if err != nil {
		return nil, err
	}
	at := requests.Page{ByReference: &loaded.Page}
	width, err := inst.FPDF_GetPageWidth(&requests.FPDF_GetPageWidth{Page: at})
	if err != nil {
		return nil, err
	}
	height, err := inst.FPDF_GetPageHeight(&requests.FPDF_GetPageHeight{Page: at})
	if err != nil {
		return nil, err
	}
	w, h := int(width.Width+0.5), int(height.Height+0.5)
	bitmap, err := inst.FPDFBitmap_Create(&requests.FPDFBitmap_Create{Width: w, Height: h})
	if err != nil {
		return nil, err
	}
	if _, err := inst.FPDFBitmap_FillRect(&requests.FPDFBitmap_FillRect{Bitmap: bitmap.Bitmap, Width: w, Height: h, Color: 0xFFFFFFFF}); err != nil {
		return nil, err
	}
	if _, err := inst.FPDF_RenderPageBitmap(&requests.FPDF_RenderPageBitmap{Bitmap: bitmap.Bitmap, Page: at, SizeX: w, SizeY: h, Flags: enums.FPDF_RENDER_FLAG_ANNOT}); err != nil {
		return nil, err
	}
	pixels, err := inst.FPDFBitmap_GetBuffer(&requests.FPDFBitmap_GetBuffer{Bitmap: bitmap.Bitmap})
	if err != nil {
		return nil, err
	}
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := 0; i+3 < len(img.Pix); i += 4 {
		img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = pixels.Buffer[i+2], pixels.Buffer[i+1], pixels.Buffer[i], 255
	}
	return img, nil
}

// onWhite draws a picture on a white background.
func onWhite(img image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(out, out.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, out.Rect, img, img.Bounds().Min, draw.Over)
	return out
}

// allRenderings renders a page with four PDF programs. It omits programs that cannot render it.
func allRenderings(t testing.TB, file string, page int) map[string]*image.RGBA {
	t.Helper()
	out := map[string]*image.RGBA{}
	for name, draw := range readers {
		img, err := draw(t.Context(), file, page)
		if err != nil {
			continue
		}
		out[name] = onWhite(img)
	}
	return out
}
