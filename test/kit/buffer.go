package kit

import (
	"bytes"
	"strings"
	"sync"
)

// Buffer collects the output of several writers. For example, a test can read the log of a process while the process
// runs.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns the content so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// CountLines returns the number of lines that contain all of the given strings.
func (b *Buffer) CountLines(texts ...string) (n int) {
lines:
	for line := range strings.Lines(b.String()) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		n++
	}
	return n
}
