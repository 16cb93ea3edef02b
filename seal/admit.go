package seal

import (
	"context"
	"io"
	"time"
)

// Limits bound what Admit accepts and what it may cost.
type Limits struct {
	MaxBytes   int64
	MaxPages   int
	MaxObjects int
	Timeout    time.Duration
	MaxMemory  int64 // bytes that examining one file may take
}

// DefaultLimits returns 25 MiB, 5,000 pages, 300,000 objects, 20 s, 512 MiB.
func DefaultLimits() Limits {
	return Limits{MaxBytes: 25 << 20, MaxPages: 5000, MaxObjects: 300_000, Timeout: 20 * time.Second, MaxMemory: 512 << 20}
}

// Info is what Admit learnt about a PDF.
type Info struct {
	Pages []PageSize
	// Signed tells that the PDF carries a signature already. It will not be
	// drawn on: it is embedded in a fresh audit PDF, which is sealed.
	Signed bool
}

// PageSize is a page's size in points as a reader shows it: CropBox within
// MediaBox, Rotate and UserUnit applied.
type PageSize struct{ Width, Height float64 }

// Admit examines an uploaded PDF. The error is a *Refusal when the file is at fault.
func Admit(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (Info, error) {
	return Info{}, errNotBuilt
}
