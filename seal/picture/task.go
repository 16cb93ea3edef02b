package picture

import (
	"bytes"
	"context"
	"errors"
	"image/color"
	"image/png"
	"io"

	"countersign/seal/refusal"
	"countersign/seal/sandbox"
)

// MaxBytes limits the file of a signature, in bytes.
const MaxBytes = maxPNGBytes

// Memory returns an upper estimate, in bytes, of the memory that Checker.Check uses for a picture with this header.
func Memory(b []byte) int64 {
	const encoding = 1 << 20
	cfg, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil || cfg.Width > maxPNGSide || cfg.Height > maxPNGSide || pixelWeight(cfg.ColorModel)*cfg.Width*cfg.Height > maxPNGPixels {
		return encoding // rejected without decoding
	}
	pixels := int64(cfg.Width) * int64(cfg.Height)
	perPixel := int64(8) // as decoded, and as NRGBA
	if wide(cfg.ColorModel) {
		perPixel = 12
	}
	return pixels*perPixel + min(pixels, keptPixels)*5 + encoding
}

// pixelWeight returns how many pixels one of a color model counts for, by its memory.
func pixelWeight(m color.Model) int {
	if wide(m) {
		return 2
	}
	return 1
}

// wide reports whether a color model has 16 bits a sample.
func wide(m color.Model) bool {
	return m == color.NRGBA64Model || m == color.RGBA64Model || m == color.Gray16Model
}

// The tasks of decoding pictures in a separate process.
const (
	taskPhoto = 'p'
	taskLogo  = 'l'
	taskPage  = 'g'
)

// Tasks returns the tasks of a process for pictures.
func Tasks() map[byte]sandbox.Task {
	return map[byte]sandbox.Task{taskPhoto: pictureTask(Photo), taskLogo: pictureTask(Logo), taskPage: pictureTask(Page)}
}

// decodedPicture is the response: the picture, in base64 during transmission.
type decodedPicture struct {
	sandbox.Answer

	Picture []byte `json:"picture,omitempty"`
}

func pictureTask(decode func([]byte) ([]byte, error)) sandbox.Task {
	return func(_ context.Context, file io.ReaderAt, size int64, _ sandbox.Bounds) any {
		var a decodedPicture
		b := make([]byte, size)
		_, err := file.ReadAt(b, 0)
		if err == nil || errors.Is(err, io.EOF) {
			a.Picture, err = decode(b)
		}
		a.Set(err)
		return a
	}
}

// maxPictureAnswer limits the response of a process, in bytes.
const maxPictureAnswer = 32 << 20

// PhotoIn is Photo in a process of pool. A nil pool is this process.
func PhotoIn(ctx context.Context, pool *sandbox.Pool, b sandbox.Bounds, file io.ReaderAt, size int64) ([]byte, error) {
	return pictureIn(ctx, pool, b, taskPhoto, file, size)
}

// PageIn is Page in a process of pool. A nil pool is this process.
func PageIn(ctx context.Context, pool *sandbox.Pool, b sandbox.Bounds, file io.ReaderAt, size int64) ([]byte, error) {
	return pictureIn(ctx, pool, b, taskPage, file, size)
}

// LogoIn is Logo in a process of pool. A nil pool is this process.
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
	if _, refused := errors.AsType[*refusal.Error](err); refused {
		return nil, refusal.New(refusal.PictureTooLarge, "The picture requires too much time or memory to decode. Use a smaller picture.")
	}
	if err != nil {
		return nil, err
	}
	return a.Picture, a.Err()
}
