package appearance

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"countersign/seal/rejection"
	"countersign/seal/sandbox"
)

// These limits apply to a process that renders one page, in addition to the memory of the instance.
const (
	goMemory = 112 << 20
	// pageTime is the maximum CPU time for one page.
	pageTime = 20 * time.Second
)

// retention returns the settings for retaining idle processes. Retaining them saves time, because loading the compiled
// module takes as long as rendering several pages. A file cannot affect later files, because its instance is released
// together with its memory.
func retention() sandbox.Retention {
	return sandbox.Retention{Idle: runtime.NumCPU(), Time: 20 * time.Second, Files: 500, Size: maxFile}
}

// maxAnswer is the maximum size of a process's response, in bytes, which is enough for a picture of MaxPixels in
// base64.
const maxAnswer = 32 << 20

// Renderer renders pages in separate processes. At most one process per CPU core is active at a time.
type Renderer struct {
	processes *sandbox.Pool
	running   *semaphore.Weighted
	bounds    sandbox.Bounds
	prepare   func(ctx context.Context) error
}

// NewRenderer returns a renderer whose processes run the given command, which must call Serve. The command is the full
// path of the program, followed by its arguments.
func NewRenderer(command ...string) *Renderer {
	return &Renderer{
		processes: sandbox.NewWithRetention(retention(), command...), running: semaphore.NewWeighted(int64(runtime.NumCPU())),
		bounds: sandbox.Bounds{Memory: goMemory, CPU: pageTime},
	}
}

// ErrNotReady reports that a task's deadline passed while the task waited for the renderer to be prepared. The task can
// be retried.
var ErrNotReady = errors.New("the renderer is being prepared")

// Before sets a function that is called before each task, for example to wait until the module is compiled. Before must
// be called before the first task.
func (r *Renderer) Before(prepare func(ctx context.Context) error) { r.prepare = prepare }

// Close ends the idle processes.
func (r *Renderer) Close() { r.processes.Close() }

// run runs a task in a process, after waiting if the concurrency limit is reached.
func (r *Renderer) run(ctx context.Context, bounds sandbox.Bounds, task byte, file io.ReaderAt, size int64, answer any, most int) error {
	if size > maxFile {
		return rejection.New(rejection.PDFTooLarge, "The PDF is too large to display.")
	}
	if r.prepare != nil {
		if err := r.prepare(ctx); errors.Is(err, context.DeadlineExceeded) {
			return ErrNotReady
		} else if err != nil {
			return err
		}
	}
	if err := r.running.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.running.Release(1)
	return r.processes.Run(ctx, bounds, sandbox.InParts(task), file, size, answer, most)
}

func (r *Renderer) onPage(ctx context.Context, task byte, file io.ReaderAt, size int64, page int, level Level, answer any) error {
	return r.run(ctx, r.bounds, task, newRequest(file, page, level), size+requestSize, answer, maxAnswer)
}

func pageResult[T any](ctx context.Context, r *Renderer, task byte, file io.ReaderAt, size int64, page int, level Level) (*T, error) {
	var a pageAnswer[T]
	if err := r.onPage(ctx, task, file, size, page, level, &a); err != nil {
		return nil, err
	}
	if a.NoPage {
		return nil, ErrNoPage
	}
	return a.Result, a.Err()
}

// Page renders a page by its number, starting at 1. It returns ErrNoPage if the page does not exist, and a
// rejection.Error if it cannot be rendered within the limits.
func (r *Renderer) Page(ctx context.Context, file io.ReaderAt, size int64, page int, level Level) (*Encoded, error) {
	return pageResult[Encoded](ctx, r, taskPicture, file, size, page, level)
}

// Text returns the text of a page by its number, starting at 1. It returns the same errors as Page.
func (r *Renderer) Text(ctx context.Context, file io.ReaderAt, size int64, page int) (*Text, error) {
	return pageResult[Text](ctx, r, taskText, file, size, page, 1)
}

// Lines returns the lines and images of a page by its number, starting at 1. It returns the same errors as Page.
func (r *Renderer) Lines(ctx context.Context, file io.ReaderAt, size int64, page int) (*Lines, error) {
	return pageResult[Lines](ctx, r, taskLines, file, size, page, 1)
}

// Inspect returns the sizes of a document's pages as interpreted by PDFium. If text is true, it also returns the first
// missing glyphs.
func (r *Renderer) Inspect(ctx context.Context, file io.ReaderAt, size int64, text bool) (*Inspection, error) {
	var all *Inspection
	for page := 1; ; page += inspectedPages {
		var level Level
		if text {
			level = 1
		}
		var a inspectAnswer
		err := r.onPage(ctx, taskInspect, file, size, page, level, &a)
		if err == nil {
			err = a.Err()
		}
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = &a.Inspection
		}
		if len(a.Glyphs) > 0 || !text || page+inspectedPages > len(all.Pages) {
			all.Glyphs = a.Glyphs
			return all, nil
		}
	}
}

// These limits apply to a process that saves or compares documents, in addition to the memory of the instance.
const (
	saveMemory = 4 * maxCopy
	saveTime   = 60 * time.Second
)

// Save returns the document as saved by PDFium, which is a new, unencrypted file with a single revision.
func (r *Renderer) Save(ctx context.Context, file io.ReaderAt, size int64) ([]byte, error) {
	var a saveAnswer
	if err := r.run(ctx, sandbox.Bounds{Memory: saveMemory, CPU: saveTime}, taskSave, newRequest(file, 1, 1), size+requestSize, &a, maxCopy/3*4+1024); err != nil {
		return nil, err
	}
	return a.PDF, a.Err()
}

// SameAppearance reports whether two documents have the same number of pages and the same appearance of each page.
func (r *Renderer) SameAppearance(ctx context.Context, a io.ReaderAt, sizeA int64, b io.ReaderAt, sizeB int64) (bool, error) {
	return allSame(func(from int) (bool, int, error) {
		var answer compareAnswer
		p := newPair(a, sizeA, b, from)
		if err := r.run(ctx, sandbox.Bounds{Memory: goMemory, CPU: saveTime}, taskCompare, p, int64(len(p.head))+sizeA+sizeB, &answer, maxAnswer); err != nil {
			return false, 0, err
		}
		return answer.Same, answer.Pages, answer.Err()
	})
}
