// Package sandbox examines untrusted files in separate processes.
package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"countersign/seal/rejection"
)

// Pool examines files in separate processes, so that a malicious file can crash only its own process. A process
// examines one file at a time. Idle processes are retained briefly, because starting a process takes longer than
// examining a typical file.
//
// The process receives each file on standard input, as one byte with the task, the size in eight bytes (big-endian),
// and the content. For a large file, it receives only the requested parts. The response is one line of JSON.
type Pool struct {
	command   []string
	retention Retention

	mu   sync.Mutex
	idle []*validator
	shut bool
}

// Retention configures how long idle processes are retained.
type Retention struct {
	Idle  int           // maximum number of idle processes
	Time  time.Duration // maximum idle time of a process
	Files int           // maximum number of files per process
	Size  int64         // file size in bytes; a process exits after a larger file, because it might not release the memory
}

var defaultRetention = Retention{Idle: 2, Time: 10 * time.Second, Files: 100, Size: 1 << 20}

const maxFile = 100 << 20 // maximum file size in bytes

// answerBuffer is the size of the buffer for responses, in bytes. It equals the capacity of a pipe.
const answerBuffer = 64 << 10

// Default limits for a process and one file.
const (
	defaultMemory = 512 << 20
	defaultCPU    = 20 * time.Second
)

// Task processes a file within the limits of the process. The result is sent as JSON.
type Task func(ctx context.Context, file io.ReaderAt, size int64, b Bounds) (answer any)

// inParts marks a task that receives only the requested parts of its file.
const inParts = 0x80

// InParts returns the variant of a task that receives only the requested parts of the file.
func InParts(task byte) byte { return task | inParts }

// New returns a pool whose processes run the given command, which must call Serve. The command is the full path of the
// program, followed by its arguments.
func New(command ...string) *Pool { return NewWithRetention(defaultRetention, command...) }

// NewWithRetention is like New, but specifies how long idle processes are retained.
func NewWithRetention(retention Retention, command ...string) *Pool {
	return &Pool{command: command, retention: retention}
}

// Close ends the idle processes.
func (v *Pool) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = true
	for _, p := range v.idle {
		p.end()
	}
	v.idle = nil
}

// Run examines one file and decodes the response into answer. The response is one line. The last argument is its
// maximum length, in bytes.
func (v *Pool) Run(ctx context.Context, b Bounds, task byte, r io.ReaderAt, size int64, answer any, most int) error {
	p, err := v.acquire(ctx, b)
	if err != nil {
		return err
	}
	known := p.files > 0
	line, err := p.exchange(ctx, task, r, size, most)
	if errors.Is(err, errValidatorEnded) && known && ctx.Err() == nil { // possibly not caused by this file
		if p, err = v.start(ctx, p.bounds); err != nil {
			return err
		}
		line, err = p.exchange(ctx, task, r, size, most)
	}
	switch {
	case ctx.Err() != nil: // not caused by the file, because its CPU time is limited separately
		return ctx.Err()
	case errors.Is(err, errValidatorTime):
		return rejection.TooLong()
	case errors.Is(err, errValidatorEnded): // caused by the file, through excessive memory or unbounded recursion
		return rejection.New(rejection.PDFTooComplex, "The PDF is too complex: processing it required too much memory.")
	case err != nil:
		return err
	}
	v.release(p, size)
	if err := json.Unmarshal(line, answer); err != nil {
		return fmt.Errorf("seal: response of the validator: %w", err)
	}
	return nil
}

// acquire returns an idle process, or starts one.
func (v *Pool) acquire(ctx context.Context, b Bounds) (*validator, error) {
	v.mu.Lock()
	for i := len(v.idle) - 1; i >= 0; i-- {
		if p := v.idle[i]; p.bounds == b {
			v.idle = slices.Delete(v.idle, i, i+1)
			v.mu.Unlock()
			p.expiry.Stop()
			return p, nil
		}
	}
	v.mu.Unlock()
	return v.start(ctx, b)
}

// release retains a process for the next file, or ends it.
func (v *Pool) release(p *validator, size int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p.files++
	if v.shut || len(v.idle) >= v.retention.Idle || p.files >= v.retention.Files || size > v.retention.Size {
		p.end()
		return
	}
	v.idle = append(v.idle, p)
	p.expiry = time.AfterFunc(v.retention.Time, func() { v.expire(p) })
}

func (v *Pool) expire(p *validator) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := slices.Index(v.idle, p); i >= 0 {
		v.idle = slices.Delete(v.idle, i, i+1)
		p.end()
	}
}

// validator is a sandboxed process.
type validator struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	bounds Bounds
	files  int
	expiry *time.Timer // expiry timer while idle
}

// Bounds contains the limits for a process and one file.
type Bounds struct {
	Memory int64         // in bytes
	CPU    time.Duration // across all CPUs
}

// Environment variables that contain the limits of a process.
const (
	validatorMemory = "COUNTERSIGN_ADMIT_MEMORY"
	validatorCPU    = "COUNTERSIGN_ADMIT_CPU"
)

// Exit codes of a process that has exceeded its limits.
const (
	exitMemory = 3
	exitCPU    = 4
)

func (v *Pool) start(ctx context.Context, b Bounds) (*validator, error) {
	// The process does not inherit the cancellation of ctx, because it outlives the file.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), v.command[0], v.command[1:]...) //nolint:gosec // the service's own program, from its configuration
	cmd.Env = []string{validatorMemory + "=" + strconv.FormatInt(b.Memory, 10), validatorCPU + "=" + b.CPU.String(), "GOTRACEBACK=none"}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("seal: starting the validator: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("seal: starting the validator: %w", err)
	}
	return &validator{cmd: cmd, in: in, out: bufio.NewReaderSize(out, answerBuffer), bounds: b}, nil
}

// end ends the process and releases its resources.
func (p *validator) end() {
	_ = p.in.Close() // ends the process
	go func() { _ = p.cmd.Wait() }()
}

// Errors about a process that ended without a response or exceeded its CPU time.
var (
	errValidatorEnded = errors.New("seal: the validator has exited")
	errValidatorTime  = errors.New("seal: the validator took too long")
)

// exchange sends one file to the process and reads the response. If it returns an error, the process has ended.
func (p *validator) exchange(ctx context.Context, task byte, r io.ReaderAt, size int64, most int) (line []byte, err error) {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer func() {
		if !stop() && err == nil {
			err = errValidatorEnded // the process is being killed
		}
		if err != nil {
			_ = p.cmd.Process.Kill()
			_ = p.in.Close()
			_ = p.cmd.Wait()
			if errors.Is(err, errValidatorEnded) && p.cmd.ProcessState.ExitCode() == exitCPU {
				err = errValidatorTime
			}
		}
	}()
	head := binary.BigEndian.AppendUint64([]byte{task}, uint64(size)) //nolint:gosec // a size
	file := &dataSource{r: io.NewSectionReader(r, 0, size)}
	if task&inParts != 0 {
		if _, err = p.in.Write(head); err == nil {
			err = serveRanges(p.out, p.in, file, r, size)
		}
	} else {
		_, err = io.Copy(p.in, io.MultiReader(bytes.NewReader(head), file))
	}
	if err != nil {
		if file.err != nil {
			return nil, file.err
		}
		return nil, errValidatorEnded
	}
	if line, err = bufio.NewReaderSize(io.LimitReader(p.out, int64(most)), answerBuffer).ReadBytes('\n'); err != nil {
		return nil, errValidatorEnded
	}
	return line, nil
}

// dataSource records errors of reading the file, to distinguish them from errors of writing to the process.
type dataSource struct {
	r   io.Reader
	err error
}

func (s *dataSource) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Answer is the result of a task. Tasks with additional results embed it.
type Answer struct {
	Rejection *rejection.Error `json:"refusal,omitempty"`
	Error     string           `json:"error,omitempty"`
}

// Err returns the error of the task.
func (a *Answer) Err() error {
	if a.Rejection != nil {
		return a.Rejection
	}
	if a.Error != "" {
		return fmt.Errorf("seal: validator: %s", a.Error)
	}
	return nil
}

// Set records an error. An error that is not a rejection of the file is reported as a read failure.
func (a *Answer) Set(err error) {
	if err != nil && !errors.As(err, &a.Rejection) {
		a.Error = "the file could not be read"
	}
}

// Serve implements the process of a Pool. It examines the files in its input, and writes a response for each to its
// output. At the end of the input, it returns the exit status. It exits the process when a file exceeds the memory or
// CPU time limit that the environment specifies.
func Serve(ctx context.Context, in io.Reader, out io.Writer, tasks map[byte]Task) int {
	b := Bounds{defaultMemory, defaultCPU}
	if n, err := strconv.ParseInt(os.Getenv(validatorMemory), 10, 64); err == nil && n > 0 {
		b.Memory = n
	}
	if d, err := time.ParseDuration(os.Getenv(validatorCPU)); err == nil && d > 0 {
		b.CPU = d
	}
	debug.SetMaxStack(int(b.Memory / 4))
	debug.SetMemoryLimit(b.Memory / 4 * 3)
	spent := &resourceMeter{bounds: b}
	spent.before.Store(int64(cpuTime())) // time used during startup
	go spent.watch()
	runtime.Gosched()
	for {
		var head [9]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0
		}
		size := binary.BigEndian.Uint64(head[1:])
		task := tasks[head[0]&^inParts]
		if task == nil {
			return 1
		}
		var file io.ReaderAt
		if head[0]&inParts != 0 {
			file = &ranges{in: in, out: out, size: int64(size), blocks: make(map[int64][]byte)} //nolint:gosec // the size as received
		} else {
			if size > maxFile {
				return 1
			}
			content := make([]byte, size)
			if _, err := io.ReadFull(in, content); err != nil {
				return 1
			}
			file = bytes.NewReader(content)
		}
		answer := task(ctx, file, int64(size), b) //nolint:gosec // the size as received
		spent.check()
		spent.before.Store(int64(cpuTime()))
		if json.NewEncoder(out).Encode(answer) != nil {
			return 1
		}
	}
}

// resourceMeter measures the resource usage of this process.
type resourceMeter struct {
	bounds Bounds
	before atomic.Int64 // CPU time used before the current file, in nanoseconds
}

// watch exits the process as soon as it exceeds its limits.
func (s *resourceMeter) watch() {
	for ticks := time.Tick(5 * time.Millisecond); ; <-ticks {
		s.check()
	}
}

// check exits the process if its memory, or its CPU time for this file, exceeds the limits.
func (s *resourceMeter) check() {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	if used := samples[0].Value.Uint64() - samples[1].Value.Uint64(); used > uint64(s.bounds.Memory) { //nolint:gosec // positive
		os.Exit(exitMemory)
	}
	if cpuTime()-time.Duration(s.before.Load()) > s.bounds.CPU {
		os.Exit(exitCPU)
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
