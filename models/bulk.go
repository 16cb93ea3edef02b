package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Limits for a bulk send.
const (
	MaxBulkRows      = 10_000
	maxBulkName      = 200   // characters
	MaxBulkPerMinute = 6_000 // rows
)

// BulkStatus is the status of a bulk send.
type BulkStatus string

// The statuses of a bulk send. A bulk send is queued until its first batch begins.
const (
	BulkQueued    BulkStatus = "queued"
	BulkRunning   BulkStatus = "running"
	BulkPaused    BulkStatus = "paused"
	BulkCompleted BulkStatus = "completed"
	BulkCanceled  BulkStatus = "cancelled"
)

// BulkAction is an action on a bulk send.
type BulkAction string

// The actions on a bulk send. Only the workflow uses BulkStart and BulkFinish.
const (
	BulkStart  BulkAction = "start"
	BulkPause  BulkAction = "pause"
	BulkResume BulkAction = "resume"
	BulkCancel BulkAction = "cancel"
	BulkRetry  BulkAction = "retry"
	BulkFinish BulkAction = "finish"
)

// bulkTransitions maps each status and action to the next status. Actions that are not listed are rejected. Repeating
// an action has no effect.
var bulkTransitions = map[BulkStatus]map[BulkAction]BulkStatus{
	BulkQueued: {
		BulkStart: BulkRunning, BulkPause: BulkPaused, BulkResume: BulkQueued, BulkCancel: BulkCanceled,
		BulkRetry: BulkQueued, BulkFinish: BulkCompleted,
	},
	BulkRunning: {
		BulkStart: BulkRunning, BulkPause: BulkPaused, BulkResume: BulkRunning, BulkCancel: BulkCanceled,
		BulkRetry: BulkRunning, BulkFinish: BulkCompleted,
	},
	BulkPaused:    {BulkPause: BulkPaused, BulkResume: BulkRunning, BulkCancel: BulkCanceled, BulkRetry: BulkPaused},
	BulkCompleted: {BulkRetry: BulkRunning},
	BulkCanceled:  {BulkCancel: BulkCanceled},
}

// Next returns the status after the action, or an error if s does not permit the action.
func (s BulkStatus) Next(action BulkAction) (BulkStatus, error) {
	if to, ok := bulkTransitions[s][action]; ok {
		return to, nil
	}
	return s, Reject(KindConflict, "bulk_send_"+string(s), "The bulk send is %s, which does not allow this operation.", s)
}

// Ended reports whether the bulk send has ended. No more rows will be sent unless failed rows are retried.
func (s BulkStatus) Ended() bool { return s == BulkCompleted || s == BulkCanceled }

// BulkRowStatus is the status of a row of a bulk send.
type BulkRowStatus string

// The statuses of a row.
const (
	BulkRowPending  BulkRowStatus = "pending"
	BulkRowSent     BulkRowStatus = "sent"
	BulkRowFailed   BulkRowStatus = "failed"
	BulkRowCanceled BulkRowStatus = "cancelled"
)

// BulkRowStatuses lists the statuses of a row.
var BulkRowStatuses = []BulkRowStatus{BulkRowPending, BulkRowSent, BulkRowFailed, BulkRowCanceled}

// Valid reports whether s is one of BulkRowStatuses.
func (s BulkRowStatus) Valid() bool { return slices.Contains(BulkRowStatuses, s) }

// BulkSend is a request to send many envelopes from one version of a template.
type BulkSend struct {
	ID              uuid.UUID `gorm:"primaryKey"`
	AppID           uuid.UUID
	TenantID        string
	TemplateID      uuid.UUID
	TemplateVersion int // fixed when the bulk send is accepted
	Name            string
	Status          BulkStatus
	PerMinute       int    // maximum rows per minute; 0 for no limit
	Total           int    // number of rows
	Actor           string // actor of the request, see ActionContext
	CreatedBy       string // creator of the envelopes
	CreatedAt       time.Time
	CompletedAt     *time.Time // time of the latest completion or cancellation
}

// TableName returns the name of the database table.
func (BulkSend) TableName() string { return "bulk_sends" }

// Apply applies an action to the bulk send, and reports whether its status has changed.
func (b *BulkSend) Apply(action BulkAction, at time.Time) (changed bool, err error) {
	to, err := b.Status.Next(action)
	if err != nil {
		return false, err
	}
	changed = to != b.Status
	b.Status = to
	switch {
	case changed && to.Ended():
		b.CompletedAt = &at
	case !to.Ended():
		b.CompletedAt = nil
	}
	return changed, nil
}

// Check adds the problems with the bulk send itself to p.
func (b *BulkSend) Check(p Problems) {
	CheckText(p, "tenantId", b.TenantID, 1, 255)
	CheckText(p, "name", b.Name, 0, maxBulkName)
	if b.PerMinute < 0 || b.PerMinute > MaxBulkPerMinute {
		p.Add("perMinute", "must be between 1 and %d", MaxBulkPerMinute)
	}
}

// BulkRow is one envelope of a bulk send.
type BulkRow struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	BulkSendID uuid.UUID
	Row        int `gorm:"column:position"` // from 1, in the order of the request
	ExternalID *string
	Status     BulkRowStatus
	// Data is the content of the row's envelope as JSON. It is empty once the row has been sent or canceled.
	Data string
	// EnvelopeID is the envelope sent for the row, or nil.
	EnvelopeID *uuid.UUID
	// ErrorCode and Error describe the error of a failed row, as in the response to a request for a single envelope.
	ErrorCode, Error string
	SettledAt        *time.Time // time at which the row was sent, failed or was canceled
	// ReservedIn is the usage period in which capacity for the envelope is reserved, or "" if none is reserved.
	ReservedIn string
}

// TableName returns the name of the database table.
func (BulkRow) TableName() string { return "bulk_send_rows" }

// BulkRowData is the data that a row adds to the template to create its envelope.
type BulkRowData struct {
	Signers   []SignerInput
	Values    map[string]string `json:",omitempty"`
	Variables map[string]string `json:",omitempty"`
	// DefaultExpiryDays is the tenant's setting at the time the bulk send was accepted. It applies if the template does
	// not specify a deadline.
	DefaultExpiryDays *int `json:",omitempty"`
}

// SetData sets the content of the row's envelope.
func (r *BulkRow) SetData(d BulkRowData) error {
	b, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode data of row %d: %w", r.Row, err)
	}
	r.Data = string(b)
	return nil
}

// Envelope creates a row's envelope from the template version and sends it. It does not store the envelope.
func (b *BulkSend) Envelope(act ActionContext, of *LoadedTemplate, r *BulkRow, maxDocuments int) (*Envelope, error) {
	var d BulkRowData
	if err := json.Unmarshal([]byte(r.Data), &d); err != nil {
		return nil, fmt.Errorf("decode data of row %d: %w", r.Row, err)
	}
	e, err := of.NewEnvelope(act, TemplateUse{
		Envelope: Envelope{TenantID: b.TenantID, CreatedBy: b.CreatedBy, ExternalID: r.ExternalID}, DefaultExpiryDays: d.DefaultExpiryDays,
		Signers: d.Signers, Values: d.Values, Variables: d.Variables,
	}, maxDocuments)
	if err != nil {
		return nil, err
	}
	if err := e.Send(act, nil); err != nil {
		return nil, err
	}
	return e, nil
}

// BulkCounts contains the number of rows with each status.
type BulkCounts struct {
	Pending  int `json:"pending"`
	Sent     int `json:"sent"`
	Failed   int `json:"failed"`
	Canceled int `json:"cancelled"`
}

// Add adds n to the number of rows with status s.
func (c *BulkCounts) Add(s BulkRowStatus, n int) {
	switch s {
	case BulkRowPending:
		c.Pending += n
	case BulkRowSent:
		c.Sent += n
	case BulkRowFailed:
		c.Failed += n
	case BulkRowCanceled:
		c.Canceled += n
	}
}

// BulkFairnessKey returns the fairness key of an app's bulk sends. It differs from the app's own key, so that bulk
// sends take turns with the app's other work.
func BulkFairnessKey(app uuid.UUID) uuid.UUID { return uuid.NewSHA1(app, []byte("bulk")) }
