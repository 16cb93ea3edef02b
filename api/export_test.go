package api

import (
	"context"
	"runtime"
)

// MaxBody returns the maximum body size of an operation in the contract, in bytes.
func (s *Server) MaxBody(operation string) int64 {
	for i, name := range s.Routes() {
		if name == operation {
			return s.publishedRoutes()[i].maxBody()
		}
	}
	return 0
}

// AcquireAllLimits exhausts the concurrency limits for reading copies, verifications and bulk sends. It reports whether
// no request was using them.
func (s *Server) AcquireAllLimits() bool {
	h := s.handlers
	_, copies := h.signings.pages.readingCopies.TryAcquire(maxConcurrentReadingCopies)
	_, verifications := h.verification.verifications.TryAcquire(int64(runtime.NumCPU()))
	_, rows := h.bulk.limit.all.TryAcquire(maxBulkBody)
	return copies && verifications && rows
}

// AcquireBodyMemory acquires all memory for bodies. It waits if necessary, because a request that has just completed
// may not have released its memory yet.
func (s *Server) AcquireBodyMemory(ctx context.Context) (release func(), err error) {
	m := s.bodyMemory
	small, err := m.small.Acquire(ctx, smallBodiesMemory, 0)
	if err != nil {
		return nil, err
	}
	large, err := m.large.Acquire(ctx, largeBodiesMemory, 0)
	if err != nil {
		small()
		return nil, err
	}
	return func() {
		small()
		large()
	}, nil
}
