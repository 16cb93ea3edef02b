package api

import (
	"context"

	"github.com/google/uuid"

	"countersign/internal/limit"
	"countersign/seal/trust"
	"countersign/store"
)

// verifyHandler verifies sealed documents.
type verifyHandler struct {
	subject[verifyStore]

	trust         trust.Policy // in addition to the trust in this installation's own certificates and keys
	verifications *limit.Limit // limits concurrent verifications
	renderer      PageRenderer
}

type verifyStore interface {
	SealRecord(ctx context.Context, envelope, document uuid.UUID, event int) (*store.SealRecord, error)
	Trust(ctx context.Context) (trust.Policy, error)
}
