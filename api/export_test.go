package api

import (
	"context"
	"runtime"
)

// MaxBody returns the largest body of a route that the contract names, in bytes.
func (s *Server) MaxBody(operation string) int64 {
	for i, name := range s.Routes() {
		if name == operation {
			return s.publishedRoutes()[i].maxBody()
		}
	}
	return 0
}

// TakeAllTurns acquires the concurrency limits of reading copies, verifications and bulk sends, and reports whether
// they were free.
func (s *Server) TakeAllTurns() bool {
	h := s.handlers
	_, copies := h.signings.pages.readingCopies.TryAcquire(maxConcurrentReadingCopies)
	_, verifications := h.verification.verifications.TryAcquire(int64(runtime.NumCPU()))
	_, rows := h.bulk.limit.all.TryAcquire(maxBulkBody)
	return copies && verifications && rows
}

// TakeBodyMemory acquires the memory of bodies until it is released. A completed request may still hold some.
func (s *Server) TakeBodyMemory(ctx context.Context) (release func(), err error) {
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
