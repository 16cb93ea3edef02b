package api

import (
	"context"

	"github.com/google/uuid"

	"countersign/seal/verify"
)

// compareWithRecord holds a document that is sealed here against what the database
// says of its envelope. Of others nothing is looked up: what they name is their word.
func (s *Server) compareWithRecord(ctx context.Context, r *verify.Report) error {
	if r.Verdict != verify.VerdictValid && r.Verdict != verify.VerdictAltered {
		return nil
	}
	envelope, err1 := uuid.Parse(r.EnvelopeID)
	document, err2 := uuid.Parse(r.DocumentID)
	if err1 != nil || err2 != nil {
		r.CompareRecorded(nil)
		return nil
	}
	rec, err := s.Store.SealRecord(ctx, envelope, document, r.Events)
	if isNotFound(err) {
		r.CompareRecorded(nil)
		return nil
	}
	if err != nil {
		return err
	}
	r.CompareRecorded(&verify.Recorded{OriginalSHA256: rec.OriginalSHA256, SealedSHA256: rec.SealedSHA256, ChainHead: rec.ChainHead})
	return nil
}
