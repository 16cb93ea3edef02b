package api

import (
	"context"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

type bulkHandler struct {
	subject[bulkStore]

	templates *templateHandler
	settings  *settingsHandler
	limit     *bulkLimit // concurrency limit of requests with rows
}

type bulkStore interface {
	BulkRows(ctx context.Context, id uuid.UUID, status models.BulkRowStatus, after, limit int) ([]*models.BulkRow, error)
	BulkSend(ctx context.Context, app, id uuid.UUID) (*store.BulkSendWithCounts, error)
	BulkSends(ctx context.Context, app uuid.UUID, tenant string, after uuid.UUID, limit int) ([]*store.BulkSendWithCounts, error)
	ChangeBulkSend(ctx context.Context, app, id uuid.UUID, action models.BulkAction, check func(*models.BulkSend) error) (*store.BulkSendWithCounts, error)
	CreateBulkSend(ctx context.Context, b *models.BulkSend, rows []*models.BulkRow) error
	PlanLimits(plan models.Plan) models.PlanLimits
	ExternalIDsInUse(ctx context.Context, app uuid.UUID, tenant string, ids []string) (map[string]bool, error)
	Template(ctx context.Context, app, id uuid.UUID, version int) (*models.LoadedTemplate, error)
}
