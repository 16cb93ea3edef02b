package seal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"time"

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
	const most = 200
	reason = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, reason)
	return &Refusal{PDFNeedsRepair, fmt.Sprintf("The PDF does not follow the standard (%.*s). "+
		"Opening it in a PDF program and saving it anew may help.", most, reason)}
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

// The validator's answer, as JSON on its standard output.
type validatorAnswer struct {
	Refusal *Refusal `json:"refusal,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// validatorMemory names the environment variable with the validator's memory bound.
const validatorMemory = "COUNTERSIGN_ADMIT_MEMORY"

// validateIsolated runs the validator in a process of its own.
func validateIsolated(ctx context.Context, r io.ReaderAt, size int64, lim Limits) error {
	cmd := exec.CommandContext(ctx, lim.Validator[0], lim.Validator[1:]...) //nolint:gosec // the service's own program, from its configuration
	cmd.Stdin = io.NewSectionReader(r, 0, size)
	cmd.Env = []string{validatorMemory + "=" + strconv.FormatInt(lim.MaxMemory, 10), "GOTRACEBACK=none"}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return refusalOf(ctx.Err())
	}
	var answer validatorAnswer
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) { // it died of the file: too much memory, or a stack without end
			return &Refusal{PDFTooComplex, "The PDF is too complex: examining it took too much memory."}
		}
		return fmt.Errorf("seal: starting the validator: %w", err)
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return fmt.Errorf("seal: answer of the validator: %w", err)
	}
	if answer.Refusal != nil {
		return answer.Refusal
	}
	if answer.Error != "" {
		return fmt.Errorf("seal: validator: %s", answer.Error)
	}
	return nil
}

// RunValidator is the other side of Limits.Validator: it validates the PDF on in,
// writes the answer to out and returns the exit status. It ends the process
// when memory runs over the bound that its environment gives.
func RunValidator(ctx context.Context, in io.Reader, out io.Writer) int {
	lim := DefaultLimits()
	if n, err := strconv.ParseInt(os.Getenv(validatorMemory), 10, 64); err == nil && n > 0 {
		lim.MaxMemory = n
	}
	debug.SetMaxStack(int(lim.MaxMemory / 4))
	debug.SetMemoryLimit(lim.MaxMemory / 4 * 3)
	go exitAbove(lim.MaxMemory)
	runtime.Gosched()
	var answer validatorAnswer
	b, err := io.ReadAll(io.LimitReader(in, lim.MaxBytes*4))
	if err == nil {
		err = validateWithPDFCPU(ctx, bytes.NewReader(b), int64(len(b)), lim)
	}
	if err != nil && !errors.As(err, &answer.Refusal) {
		answer.Error = "the file could not be read"
	}
	if json.NewEncoder(out).Encode(answer) != nil {
		return 1
	}
	return 0
}

// exitAbove ends the process once the heap and stacks hold more than limit bytes.
func exitAbove(limit int64) {
	const exitMemory = 3
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for ticks := time.Tick(5 * time.Millisecond); ; <-ticks {
		metrics.Read(samples)
		if used := samples[0].Value.Uint64() - samples[1].Value.Uint64(); used > uint64(limit) { //nolint:gosec // positive
			os.Exit(exitMemory)
		}
	}
}
