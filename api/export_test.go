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

// TakeAllTurns takes the concurrency limits of reading copies, verifications and bulk sends, and reports whether they were
// free.
func (s *Server) TakeAllTurns() bool {
	h := s.handlers
	return h.signings.readingCopies.TryAcquire(maxConcurrentReadingCopies) && h.verification.verifications.TryAcquire(int64(runtime.NumCPU())) &&
		h.bulk.places.all.TryAcquire(maxBulkBody)
}

// TakeBodyMemory takes the memory of bodies until it is released. A request that was answered may still have some.
func (s *Server) TakeBodyMemory(ctx context.Context) (release func(), err error) {
	m := s.bodyMemory
	if err := m.small.Acquire(ctx, smallBodiesMemory); err != nil {
		return nil, err
	}
	if err := m.large.Acquire(ctx, largeBodiesMemory); err != nil {
		return nil, err
	}
	return func() {
		m.small.Release(smallBodiesMemory)
		m.large.Release(largeBodiesMemory)
	}, nil
}
