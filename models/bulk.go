package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Limits of a bulk send.
const (
	MaxBulkRows      = 10_000
	MaxBulkName      = 200   // characters
	MaxBulkPerMinute = 6_000 // rows
)

// BulkStatus is the state of a bulk send.
type BulkStatus string

// The states of a bulk send: queued until its first row is sent.
const (
	BulkQueued    BulkStatus = "queued"
	BulkRunning   BulkStatus = "running"
	BulkPaused    BulkStatus = "paused"
	BulkCompleted BulkStatus = "completed"
	BulkCancelled BulkStatus = "cancelled"
)

// BulkAction is an action on a bulk send.
type BulkAction string

// The actions. BulkStart and BulkFinish are the workflow's own.
const (
	BulkStart  BulkAction = "start"
	BulkPause  BulkAction = "pause"
	BulkResume BulkAction = "resume"
	BulkCancel BulkAction = "cancel"
	BulkRetry  BulkAction = "retry"
	BulkFinish BulkAction = "finish"
)

// bulkTransitions maps each state and action to the next state. Actions that are absent are rejected. Repeating an
// action changes nothing.
var bulkTransitions = map[BulkStatus]map[BulkAction]BulkStatus{
	BulkQueued: {
		BulkStart: BulkRunning, BulkPause: BulkPaused, BulkResume: BulkQueued, BulkCancel: BulkCancelled,
		BulkRetry: BulkQueued, BulkFinish: BulkCompleted,
	},
	BulkRunning: {
		BulkStart: BulkRunning, BulkPause: BulkPaused, BulkResume: BulkRunning, BulkCancel: BulkCancelled,
		BulkRetry: BulkRunning, BulkFinish: BulkCompleted,
	},
	BulkPaused:    {BulkPause: BulkPaused, BulkResume: BulkRunning, BulkCancel: BulkCancelled, BulkRetry: BulkPaused},
	BulkCompleted: {BulkRetry: BulkRunning},
	BulkCancelled: {BulkCancel: BulkCancelled},
}

// Next returns the state after the action, or an error if s does not permit it.
func (s BulkStatus) Next(action BulkAction) (BulkStatus, error) {
	if to, ok := bulkTransitions[s][action]; ok {
		return to, nil
	}
	return s, Refuse(KindConflict, "bulk_send_"+string(s), "The bulk send is %s, which does not allow this operation.", s)
}

// Ended reports whether no row will be sent unless failed ones are retried.
func (s BulkStatus) Ended() bool { return s == BulkCompleted || s == BulkCancelled }

// BulkRowStatus is the state of a row of a bulk send.
type BulkRowStatus string

// The states of a row.
const (
	BulkRowPending   BulkRowStatus = "pending"
	BulkRowSent      BulkRowStatus = "sent"
	BulkRowFailed    BulkRowStatus = "failed"
	BulkRowCancelled BulkRowStatus = "cancelled"
)

// BulkRowStatuses lists every state of a row.
var BulkRowStatuses = []BulkRowStatus{BulkRowPending, BulkRowSent, BulkRowFailed, BulkRowCancelled}

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
	PerMinute       int    // rows; 0: no limit
	Total           int    // rows
	Actor           string // of the request, see ActionContext
	CreatedBy       string // of the envelopes
	CreatedAt       time.Time
	CompletedAt     *time.Time // of the newest completion or cancellation
}

// TableName is the table of bulk sends.
func (BulkSend) TableName() string { return "bulk_sends" }

// Apply applies an action to the bulk send and reports whether the state has changed.
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

// Check records the problems of the bulk send itself.
func (b *BulkSend) Check(p Problems) {
	CheckText(p, "tenantId", b.TenantID, 1, 255)
	CheckText(p, "name", b.Name, 0, MaxBulkName)
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
	// Data is the content of the row's envelope, as JSON; empty after it was sent or canceled.
	Data string
	// EnvelopeID is the envelope that the row was sent as; nil before.
	EnvelopeID *uuid.UUID
	// ErrorCode and Error are the error of a failed row, as a request for one envelope would have returned it.
	ErrorCode, Error string
	SettledAt        *time.Time // when it was sent, failed or was cancelled
	// ReservedIn is the usage period that holds the envelope's reservation; "": nothing is reserved.
	ReservedIn string
}

// TableName is the table of the rows of bulk sends.
func (BulkRow) TableName() string { return "bulk_send_rows" }

// BulkRowData is the data that a row adds to the template of its envelope.
type BulkRowData struct {
	Signers   []SignerInput
	Values    map[string]string `json:",omitempty"`
	Variables map[string]string `json:",omitempty"`
	// DefaultExpiryDays is the tenant's setting at acceptance of the bulk send, for a template without its own.
	DefaultExpiryDays *int `json:",omitempty"`
}

// SetData stores the content of the row's envelope.
func (r *BulkRow) SetData(d BulkRowData) error {
	b, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("write row %d: %w", r.Row, err)
	}
	r.Data = string(b)
	return nil
}

// Envelope creates the envelope of a row from the template's version and sends it, without storing it.
func (b *BulkSend) Envelope(act ActionContext, of *LoadedTemplate, r *BulkRow, maxDocuments int) (*Envelope, error) {
	var d BulkRowData
	if err := json.Unmarshal([]byte(r.Data), &d); err != nil {
		return nil, fmt.Errorf("read row %d: %w", r.Row, err)
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

// BulkCounts are the numbers of rows in each state.
type BulkCounts struct {
	Pending   int `json:"pending"`
	Sent      int `json:"sent"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// Add adds rows of a state.
func (c *BulkCounts) Add(s BulkRowStatus, n int) {
	switch s {
	case BulkRowPending:
		c.Pending += n
	case BulkRowSent:
		c.Sent += n
	case BulkRowFailed:
		c.Failed += n
	case BulkRowCancelled:
		c.Cancelled += n
	}
}

// BulkFairnessKey returns the fairness key of an app's bulk sends, which take turns with the app's other work.
func BulkFairnessKey(app uuid.UUID) uuid.UUID { return uuid.NewSHA1(app, []byte("bulk")) }
