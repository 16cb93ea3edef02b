package api

import (
	"context"

	"github.com/google/uuid"

	"countersign/internal/limit"
	"countersign/seal/trust"
	"countersign/store"
)

// verifyHandler judges sealed documents.
type verifyHandler struct {
	subject[verifyStore]

	trust         trust.Policy // beside this installation's own certificates and keys
	verifications *limit.Limit // how many documents are verified at a time
	renderer      PageRenderer
}

// verifyStore is what verifyHandler needs of the store.
type verifyStore interface {
	SealRecord(ctx context.Context, envelope, document uuid.UUID, event int) (*store.SealRecord, error)
	Trust(ctx context.Context) (trust.Policy, error)
}
