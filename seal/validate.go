package seal

import (
	"context"
	"io"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/validate"
)

// pdfcpuConfig is made once: it is global in pdfcpu, which must not look for
// files in the user's home.
//
//nolint:gochecknoglobals // immutable
var pdfcpuConfig = sync.OnceValue(func() model.Configuration {
	model.ConfigPath = "disable"
	return *model.NewDefaultConfiguration()
})

// validateWithPDFCPU checks a PDF against the standard. It must not optimize:
// that took 1.8 GB for a file of 398 KB.
func validateWithPDFCPU(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = invalid("the validator could not cope with it")
		}
	}()
	conf := pdfcpuConfig()
	conf.Optimize, conf.OptimizeBeforeWriting = false, false
	conf.ValidationMode = model.ValidationRelaxed
	conf.Offline = true
	conf.Limits.MaxStreamBytes = size
	conf.Limits.MaxDecodeBytes = lim.MaxMemory / 8
	conf.Limits.MaxObjectCount = 4 * lim.MaxObjects
	conf.Limits.MaxXRefEntries = 4 * lim.MaxObjects
	c, err := pdfcpu.ReadWithContext(ctx, io.NewSectionReader(r, 0, size), &conf)
	if err == nil {
		// Many programs write newer features under an old version number; all
		// readers accept that.
		if v := model.V17; c.HeaderVersion == nil || *c.HeaderVersion < v {
			c.HeaderVersion = &v
		}
		err = validate.XRefTable(c)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return invalid(err.Error())
	}
	return nil
}

func invalid(reason string) *Refusal {
	return &Refusal{PDFNeedsRepair, "The PDF does not follow the standard: " + safeText(reason)}
}

// validateHere runs the validator in this process. When time is up it is left
// to end by itself.
func validateHere(ctx context.Context, r io.ReaderAt, size int64, lim Limits) error {
	done := make(chan error, 1)
	go func() { done <- validateWithPDFCPU(ctx, r, size, lim) }()
	select {
	case err := <-done:
		return refusalOf(err)
	case <-ctx.Done():
		return refusalOf(ctx.Err())
	}
}
