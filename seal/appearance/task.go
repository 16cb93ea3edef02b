package appearance

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"runtime/debug"

	"countersign/seal/rejection"
	"countersign/seal/sandbox"
)

// Tasks of a rendering process.
const (
	taskPicture = 'P'
	taskText    = 'T'
	taskLines   = 'L'
	taskInspect = 'I'
	taskSave    = 'S'
	taskCompare = 'C'
)

// requestSize is the size of the header of a task's file. The header contains the page and the level, each as four
// big-endian bytes, and is followed by the PDF.
const requestSize = 8

// request is the file sent to a task, including its header.
type request struct {
	head [requestSize]byte
	file io.ReaderAt
}

func newRequest(file io.ReaderAt, page int, level Level) *request {
	r := &request{file: file}
	binary.BigEndian.PutUint32(r.head[:4], uint32(page))  //nolint:gosec // checked by the caller
	binary.BigEndian.PutUint32(r.head[4:], uint32(level)) //nolint:gosec // one of three levels
	return r
}

// ReadAt implements io.ReaderAt.
func (r *request) ReadAt(b []byte, off int64) (n int, err error) {
	if off < requestSize {
		n = copy(b, r.head[off:])
	}
	if n < len(b) {
		var m int
		m, err = r.file.ReadAt(b[n:], max(0, off-requestSize))
		n += m
	}
	return n, err
}

// Results of tasks.
type (
	pageAnswer[T any] struct {
		sandbox.Answer

		NoPage bool `json:"noPage,omitempty"`
		Result *T   `json:"result,omitempty"`
	}
	inspectAnswer struct {
		sandbox.Answer

		Inspection
	}
	saveAnswer struct {
		sandbox.Answer

		PDF []byte `json:"pdf,omitempty"`
	}
	compareAnswer struct {
		sandbox.Answer

		Same  bool `json:"same,omitempty"`
		Pages int  `json:"pages,omitempty"`
	}
)

// Encoded is a rendered picture, encoded for delivery.
type Encoded struct {
	// PixelWidth and PixelHeight are the dimensions of the picture.
	PixelWidth  int `json:"pixelWidth"`
	PixelHeight int `json:"pixelHeight"`
	// Width and Height are the size of the displayed page, in points.
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	// Hash is the hash of the pixels.
	Hash      []byte `json:"hash"`
	MediaType string `json:"mediaType"`
	Content   []byte `json:"content"`
}

// Serve is the main function of a rendering process. It runs the tasks in its input, writes their results, and returns
// the exit status at the end of the input.
func Serve(ctx context.Context, e *Engine, in io.Reader, out io.Writer) int {
	debug.FreeOSMemory() // compiling needs much more memory than rendering
	// Most of the heap is the compiled module, which each collection marks again. Fewer collections save 7 % of the CPU
	// time of a page of text. The sandbox limits the memory.
	debug.SetGCPercent(400)
	return sandbox.Serve(ctx, in, out, tasks(e))
}

// tasks returns the tasks of a rendering process that uses an engine.
func tasks(e *Engine) map[byte]sandbox.Task {
	return map[byte]sandbox.Task{
		taskPicture: pageTask(e, (*Document).Encoded),
		taskText:    pageTask(e, func(d *Document, page int, _ Level) (*Text, error) { return d.Text(page) }),
		taskLines:   pageTask(e, func(d *Document, page int, _ Level) (*Lines, error) { return d.Lines(page) }),
		taskInspect: func(ctx context.Context, file io.ReaderAt, size int64, _ sandbox.Bounds) any {
			var a inspectAnswer
			a.Set(toRejection(e.serve(ctx, file, size, func(d *Document, page int, text Level) (err error) {
				a.Inspection, err = d.Inspect(page, text != 0)
				return err
			})))
			return a
		},
		taskSave: func(ctx context.Context, file io.ReaderAt, size int64, _ sandbox.Bounds) any {
			var a saveAnswer
			a.Set(toRejection(e.serve(ctx, file, size, func(d *Document, _ int, _ Level) (err error) {
				a.PDF, err = d.Save()
				return err
			})))
			return a
		},
		taskCompare: func(ctx context.Context, file io.ReaderAt, size int64, _ sandbox.Bounds) any {
			var a compareAnswer
			head := (&pair{}).head
			_, err := file.ReadAt(head[:], 0)
			first, begin, from := int64(binary.BigEndian.Uint64(head[:])), int64(len(head)), int(binary.BigEndian.Uint32(head[8:])) //nolint:gosec // a size
			if err == nil {
				second := size - begin - first
				a.Same, a.Pages, err = e.samePages(ctx, io.NewSectionReader(file, begin, first), first, io.NewSectionReader(file, begin+first, second), second, from)
			}
			a.Set(toRejection(err))
			return a
		},
	}
}

func pageTask[T any](e *Engine, read func(d *Document, page int, level Level) (*T, error)) sandbox.Task {
	return func(ctx context.Context, file io.ReaderAt, size int64, _ sandbox.Bounds) any {
		var a pageAnswer[T]
		err := e.serve(ctx, file, size, func(d *Document, page int, level Level) (err error) {
			a.Result, err = read(d, page, level)
			return err
		})
		if a.NoPage = errors.Is(err, ErrNoPage); !a.NoPage {
			a.Set(toRejection(err))
		}
		return a
	}
}

// serve opens the PDF of a request, and calls its callback with the requested page and level.
func (e *Engine) serve(ctx context.Context, file io.ReaderAt, size int64, do func(d *Document, page int, level Level) error) (err error) {
	var head [requestSize]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return err
	}
	d, err := e.Open(ctx, io.NewSectionReader(file, requestSize, size-requestSize), size-requestSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(d, int(binary.BigEndian.Uint32(head[:4])), Level(binary.BigEndian.Uint32(head[4:])))
}

// Encoded renders a page and encodes it.
func (d *Document) Encoded(page int, level Level) (*Encoded, error) {
	p, err := d.Render(page, level)
	if err != nil {
		return nil, err
	}
	hash := p.Hash()
	content, mediaType, err := p.Encode()
	return &Encoded{
		PixelWidth: p.Image.Rect.Dx(), PixelHeight: p.Image.Rect.Dy(), Width: round(p.Width), Height: round(p.Height),
		Hash: hash[:], MediaType: mediaType, Content: content,
	}, err
}

// toRejection converts errors about exceeded limits and damaged files to rejections of the document.
func toRejection(err error) error {
	if _, ok := errors.AsType[*rejection.Error](err); ok || err == nil {
		return err
	}
	if errors.Is(err, ErrMemory) {
		return rejection.New(rejection.PDFTooComplex, "The page cannot be displayed: it requires too much memory.")
	}
	if errors.Is(err, errStopped) {
		return rejection.New(rejection.PageNotRendered, "The page cannot be displayed: the PDF is damaged.")
	}
	return err
}
