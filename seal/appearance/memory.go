package appearance

import (
	"errors"
	"syscall"
)

// ErrMemory reports that rendering required more memory than the profile allows.
var ErrMemory = errors.New("appearance: rendering takes too much memory")

// linearMemory is the memory of one instance. Its address range is reserved up front and never moves, and the operating
// system provides memory pages on first use.
//
// After a failed allocation, PDFium continues and renders a blank page. A failure to grow the memory is therefore
// recorded, so that rendering returns an error.
type linearMemory struct {
	limit   uint64 // bytes
	mapping []byte
	failed  bool
}

// reserve reserves the memory up to the limit.
func (m *linearMemory) reserve() error {
	b, err := syscall.Mmap(-1, 0, int(m.limit), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE) //nolint:gosec // the profile's limit
	if err != nil {
		return errors.Join(ErrMemory, err)
	}
	useHugePages(b)
	m.mapping = b
	return nil
}

// Reallocate implements experimental.LinearMemory.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.mapping)) {
		m.failed = true
		return nil
	}
	return m.mapping[:size]
}

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() {
	if m.mapping != nil {
		_ = syscall.Munmap(m.mapping)
		m.mapping = nil
	}
}
