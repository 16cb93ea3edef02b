package admission

import (
	"context"
	"io"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/validate"

	"countersign/seal/refusal"
	"countersign/seal/sandbox"
	"countersign/seal/verify"
)

// pdfcpuConfig is created once: it is global in pdfcpu, which must not search the user's home for files.
//
//nolint:gochecknoglobals // immutable
var pdfcpuConfig = sync.OnceValue(func() model.Configuration {
	model.ConfigPath = "disable"
	return *model.NewDefaultConfiguration()
})

// boundedConfig is for one file of a size. pdfcpu must not optimize it: that took 1.8 GB for a file of 398 KB.
func boundedConfig(size int64, lim Limits) *model.Configuration {
	conf := pdfcpuConfig()
	conf.Optimize, conf.OptimizeBeforeWriting, conf.Offline = false, false, true
	conf.Limits.MaxStreamBytes, conf.Limits.MaxDecodeBytes = size, lim.MaxMemory/8
	conf.Limits.MaxObjectCount, conf.Limits.MaxXRefEntries = 4*lim.MaxObjects, 4*lim.MaxObjects
	return &conf
}

// validateWithPDFCPU checks a PDF against the standard.
func validateWithPDFCPU(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = invalid("the validator could not cope with it")
		}
	}()
	conf := boundedConfig(size, lim)
	conf.ValidationMode = model.ValidationRelaxed
	c, err := pdfcpu.ReadWithContext(ctx, io.NewSectionReader(r, 0, size), conf)
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

func invalid(reason string) *refusal.Error {
	return refusal.New(refusal.PDFNeedsRepair, "The PDF does not follow the standard: "+safeText(reason))
}

// validateHere runs the validator in this process. After the time limit the validator continues in the background
// until it ends.
func validateHere(ctx context.Context, r io.ReaderAt, size int64, lim Limits) error {
	done := make(chan error, 1)
	go func() { done <- validateWithPDFCPU(ctx, r, size, lim) }()
	select {
	case err := <-done:
		return RefusalOf(err)
	case <-ctx.Done():
		return RefusalOf(ctx.Err())
	}
}

// taskValidate names the task of validating an upload.
const taskValidate = 'v'

// maxAnswer bounds what the validator answers, in bytes.
const maxAnswer = 64 << 10

// validateIn runs the validator in a separate process.
func validateIn(ctx context.Context, pool *sandbox.Pool, r io.ReaderAt, size int64, lim Limits) error {
	var a sandbox.Answer
	if err := pool.Run(ctx, sandbox.Bounds{Memory: lim.MaxMemory, CPU: lim.Timeout}, taskValidate, r, size, &a, maxAnswer); err != nil {
		return err
	}
	return a.Err()
}

// validateTask is the part of it that is done there.
func validateTask(ctx context.Context, r io.ReaderAt, size int64, bounds sandbox.Bounds) any {
	lim := DefaultLimits()
	lim.MaxMemory, lim.Timeout = bounds.Memory, bounds.CPU
	var a sandbox.Answer
	a.Set(validateWithPDFCPU(ctx, r, size, lim))
	return a
}

// Tasks are what the processes of a sandbox do: they validate uploads and examine
// sealed documents.
func Tasks() map[byte]sandbox.Task {
	return map[byte]sandbox.Task{taskValidate: validateTask, taskDecrypt: decryptTask, verify.TaskExamine: verify.ExamineTask}
}
