package kit

import (
	"context"
	"runtime"
	"strings"
	"sync"
)

// CanceledIn is a context that reports its cancellation to only one function. It records the functions that check it,
// so that a test can simulate a cancellation in each of them.
type CanceledIn struct {
	context.Context //nolint:containedctx // this type is a context

	Function string // without its package path
	mu       sync.Mutex
	checks   map[string]bool
}

// Err returns context.Canceled if Function is the caller, and the error of the underlying context otherwise.
func (c *CanceledIn) Err() error {
	pc, _, _, _ := runtime.Caller(1)
	name := runtime.FuncForPC(pc).Name()
	name = name[strings.LastIndexByte(name, '/')+1:]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.checks == nil {
		c.checks = make(map[string]bool)
	}
	c.checks[name] = true
	if name == c.Function {
		return context.Canceled
	}
	return c.Context.Err()
}

// Checked returns the functions that checked the context.
func (c *CanceledIn) Checked() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checks
}
