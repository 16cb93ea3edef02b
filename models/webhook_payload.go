package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// WebhookPayload is the body of a webhook request. It contains both the nested and the flat form of the original API's
// body.
type WebhookPayload struct {
	Event       EventName   `json:"event"`
	ID          uuid.UUID   `json:"id"` // ID of the event, which consumers use for deduplication
	CreatedAt   time.Time   `json:"createdAt"`
	Data        WebhookData `json:"data"`
	EnvelopeID  uuid.UUID   `json:"envelopeId"`
	CompletedAt *time.Time  `json:"completedAt"`
	DocumentURL string      `json:"documentUrl"`
}

// WebhookData is the state of the envelope immediately after the event.
type WebhookData struct {
	EnvelopeID        uuid.UUID       `json:"envelopeId"`
	TenantID          string          `json:"tenantId"`
	Subject           *string         `json:"subject"`
	Status            Status          `json:"status"`
	SentAt            *time.Time      `json:"sentAt"`
	ExpiresAt         *time.Time      `json:"expiresAt"`
	CompletedAt       *time.Time      `json:"completedAt"`
	VoidedAt          *time.Time      `json:"voidedAt"`
	DocumentHashFinal *string         `json:"documentHashFinal"`
	DocumentURL       string          `json:"documentUrl"`
	Signers           []WebhookSigner `json:"signers"`
	// ExternalID and Metadata are present if the sender set them.
	ExternalID *string           `json:"externalId,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	// Signer is the signer that the event concerns, for signer events and envelope.declined.
	Signer *WebhookSigner `json:"signer,omitempty"`
	// Reason is the reason why the envelope was voided or declined.
	Reason *string `json:"reason,omitempty"`
	// Values contains the values of the fields by name, for endpoints that include values.
	Values *NamedValues `json:"values,omitempty"`
}

// WebhookSigner describes a signer in a webhook body.
type WebhookSigner struct {
	ID           uuid.UUID    `json:"id"`
	Name         string       `json:"name"`
	Email        string       `json:"email"`
	Status       SignerStatus `json:"status"`
	RoutingOrder int          `json:"routingOrder"`
	SignedAt     *time.Time   `json:"signedAt"`
	// Kind is present if the recipient is not an ordinary signer.
	Kind RecipientKind `json:"kind,omitempty"`
}

// IsWebhookEvent reports whether the event is sent to webhooks.
func (n EventName) IsWebhookEvent() bool { return slices.Contains(WebhookEvents, n) }

// WebhookPayload returns the webhook body for ev. It contains data.values unless values is nil. baseURL is the address
// of the service.
func (e *Envelope) WebhookPayload(ev *Event, baseURL string, values *NamedValues) ([]byte, error) {
	kind := DocumentOriginal
	if e.Status == StatusCompleted {
		kind = DocumentSealed
	}
	url := fmt.Sprintf("%s/v1/envelopes/%s/document?kind=%s", baseURL, e.ID, kind)
	d := WebhookData{
		EnvelopeID: e.ID, TenantID: e.TenantID, Subject: e.Subject, Status: e.Status.Public(), SentAt: e.SentAt, ExpiresAt: e.ExpiresAt,
		CompletedAt: e.CompletedAt, VoidedAt: e.VoidedAt, DocumentHashFinal: e.HashFinal, DocumentURL: url, Signers: []WebhookSigner{},
		ExternalID: e.ExternalID, Metadata: e.Metadata, Values: values,
	}
	for _, s := range e.Signers {
		n := WebhookSigner{ID: s.ID, Name: s.Name, Email: s.Email, Status: s.Status, RoutingOrder: s.RoutingOrder, SignedAt: s.SignedAt, Kind: s.DisplayKind()}
		d.Signers = append(d.Signers, n)
		if s.ID == ev.SignerID {
			d.Signer = &n
		}
	}
	if r, ok := ev.Detail["reason"].(string); ok {
		d.Reason = &r
	}
	return marshalPayload(ev.Name, WebhookPayload{
		Event: ev.Name, ID: ev.ID, CreatedAt: ev.Timestamp, Data: d, EnvelopeID: e.ID, CompletedAt: e.CompletedAt, DocumentURL: url,
	})
}

// PingPayload returns the webhook body that tests an endpoint.
func PingPayload(id, webhook uuid.UUID, at time.Time) ([]byte, error) {
	return marshalPayload(EventPing, map[string]any{
		"event": EventPing, "id": id, "createdAt": at, "data": map[string]any{"webhookId": webhook},
	})
}

// BulkCompletedPayload returns the webhook body that reports the completion of a bulk send.
func BulkCompletedPayload(id, bulk uuid.UUID, counts BulkCounts, at time.Time) ([]byte, error) {
	return marshalPayload(EventBulkCompleted, map[string]any{
		"event": EventBulkCompleted, "id": id, "createdAt": at, "data": map[string]any{"bulkSendId": bulk, "counts": counts},
	})
}

func marshalPayload(name EventName, payload any) ([]byte, error) {
	b, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("encode webhook body of %s: %w", name, err)
	}
	return b, nil
}
