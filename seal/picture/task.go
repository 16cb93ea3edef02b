package picture

import (
	"bytes"
	"context"
	"errors"
	"image/color"
	"image/png"
	"io"

	"countersign/seal/rejection"
	"countersign/seal/sandbox"
)

// MaxBytes is the maximum size of a signature's file, in bytes.
const MaxBytes = maxPNGBytes

// Memory returns an upper bound on the memory, in bytes, that Checker.Check uses for a picture with this header.
func Memory(b []byte) int64 {
	const encoding = 1 << 20
	cfg, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil || cfg.Width > maxPNGSide || cfg.Height > maxPNGSide || pixelWeight(cfg.ColorModel)*cfg.Width*cfg.Height > maxPNGPixels {
		return encoding // rejected without decoding
	}
	pixels := int64(cfg.Width) * int64(cfg.Height)
	perPixel := int64(8) // decoded image and its NRGBA copy
	if wide(cfg.ColorModel) {
		perPixel = 12
	}
	return pixels*perPixel + min(pixels, maxStoredPixels)*5 + encoding
}

// pixelWeight returns the factor by which pixels of a color model are weighted, according to their memory use.
func pixelWeight(m color.Model) int {
	if wide(m) {
		return 2
	}
	return 1
}

// wide reports whether a color model has 16 bits per sample.
func wide(m color.Model) bool {
	return m == color.NRGBA64Model || m == color.RGBA64Model || m == color.Gray16Model
}

// Tasks for decoding pictures in a separate process.
const (
	taskPhoto = 'p'
	taskLogo  = 'l'
	taskPage  = 'g'
)

// Tasks returns the tasks of a process that decodes pictures.
func Tasks() map[byte]sandbox.Task {
	return map[byte]sandbox.Task{taskPhoto: pictureTask(Photo), taskLogo: pictureTask(Logo), taskPage: pictureTask(Page)}
}

// decodedPicture is the response. The picture is transmitted in base64.
type decodedPicture struct {
	sandbox.Answer

	Picture []byte `json:"picture,omitempty"`
}

func pictureTask(decode func([]byte) ([]byte, error)) sandbox.Task {
	return func(_ context.Context, file io.ReaderAt, size int64, _ sandbox.Bounds) any {
		var a decodedPicture
		b := make([]byte, size)
		_, err := io.ReadFull(io.NewSectionReader(file, 0, size), b)
		if err == nil {
			a.Picture, err = decode(b)
		}
		a.Set(err)
		return a
	}
}

// maxPictureAnswer is the maximum size of a process's response, in bytes.
const maxPictureAnswer = 32 << 20

// PhotoIn runs Photo in a process of the pool. If pool is nil, it runs in this process.
func PhotoIn(ctx context.Context, pool *sandbox.Pool, b sandbox.Bounds, file io.ReaderAt, size int64) ([]byte, error) {
	return pictureIn(ctx, pool, b, taskPhoto, file, size)
}

// PageIn runs Page in a process of the pool. If pool is nil, it runs in this process.
func PageIn(ctx context.Context, pool *sandbox.Pool, b sandbox.Bounds, file io.ReaderAt, size int64) ([]byte, error) {
	return pictureIn(ctx, pool, b, taskPage, file, size)
}

// LogoIn runs Logo in a process of the pool. If pool is nil, it runs in this process.
func LogoIn(ctx context.Context, pool *sandbox.Pool, b sandbox.Bounds, file []byte) ([]byte, error) {
	return pictureIn(ctx, pool, b, taskLogo, bytes.NewReader(file), int64(len(file)))
}

func pictureIn(ctx context.Context, pool *sandbox.Pool, b sandbox.Bounds, task byte, file io.ReaderAt, size int64) ([]byte, error) {
	if pool == nil {
		a, _ := Tasks()[task](ctx, file, size, b).(decodedPicture)
		return a.Picture, a.Err()
	}
	var a decodedPicture
	err := pool.Run(ctx, b, task, file, size, &a, maxPictureAnswer)
	if _, rejected := errors.AsType[*rejection.Error](err); rejected {
		return nil, rejection.New(rejection.PictureTooLarge, "The picture requires too much time or memory to decode. Use a smaller picture.")
	}
	if err != nil {
		return nil, err
	}
	return a.Picture, a.Err()
}
