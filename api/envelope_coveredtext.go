package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/pdf"
	"countersign/prepare"
)

// placementKey identifies an area on a page of a file.
type placementKey struct {
	sha256   string
	position prepare.Position
}

// coverCache caches whether an area covers text, so that repeated requests for a draft do not read the files again.
type coverCache struct {
	mu    sync.Mutex
	known map[placementKey]bool
}

const (
	// maxCovers is the maximum number of cached areas.
	maxCovers = 10_000
	// maxCoverFields is the maximum number of fields that are checked in one draft.
	maxCoverFields = 200
	// coverTimeout is the time limit for finding covered text during one request.
	coverTimeout = 2 * time.Second
)

func (c *coverCache) get(k placementKey) (covers, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	covers, known = c.known[k]
	return covers, known
}

func (c *coverCache) put(k placementKey, covers bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCovers {
		c.known = make(map[placementKey]bool)
	}
	c.known[k] = covers
}

// coveringFields returns the fields of a draft whose images would cover text in the original. It omits the fields of a
// file that cannot be read in time. It reads files, so it must not be called in a transaction.
func (s *envelopeHandler) coveringFields(ctx context.Context, e *models.Envelope) map[uuid.UUID]bool {
	if e.Status != models.StatusDraft {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, coverTimeout)
	defer cancel()
	covering := make(map[uuid.UUID]bool)
	asked := make(map[*models.Document]map[prepare.Position]bool)
	keys := make(map[uuid.UUID]placementKey)
	for _, f := range e.Fields {
		d := e.Document(f.DocumentID)
		if d == nil || !f.Type.Image() || len(keys) >= maxCoverFields {
			continue
		}
		k := placementKey{d.Presented().SHA256, prepare.Position{Page: f.Page, X: f.X, Y: f.Y, W: f.W, H: f.H}}
		keys[f.ID] = k
		if _, known := s.covers.get(k); !known {
			if asked[d] == nil {
				asked[d] = make(map[prepare.Position]bool)
			}
			asked[d][k.position] = true
		}
	}
	for d, places := range asked {
		if err := s.findCoveredText(ctx, e, d, places); err != nil {
			s.log.WarnContext(ctx, "could not determine which fields cover text", "document", d.ID, "error", err)
		}
	}
	for id, k := range keys {
		covering[id], _ = s.covers.get(k)
	}
	return covering
}

// findCoveredText determines which areas in a document cover text, subject to the concurrency limit of examinations.
func (s *envelopeHandler) findCoveredText(ctx context.Context, e *models.Envelope, d *models.Document, wanted map[prepare.Position]bool) error {
	content, err := s.openFile(ctx, e, d.Presented())
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // opened only for reading
	done, err := s.admissions.Acquire(ctx, 1, 0)
	if err != nil {
		return err
	}
	defer done()
	places := make([]prepare.Position, 0, len(wanted))
	for p := range wanted {
		places = append(places, p)
	}
	f, err := pdf.Open(content, content.Size(), pdf.DefaultLimits())
	covered := make([]bool, len(places))
	if err == nil {
		covered, err = prepare.Covered(ctx, f, places)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	for i, p := range places { // also store the result after a failure, so that the file is not read repeatedly
		s.covers.put(placementKey{d.Presented().SHA256, p}, err == nil && covered[i])
	}
	return err
}
