package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"countersign/models"
)

// IdempotencyRepository stores idempotency keys and the responses to their requests.
type IdempotencyRepository struct{ *engine }

// IdempotentRequest identifies a request that may be retried, by its sender, target and key.
type IdempotentRequest struct {
	Scope, Method, Path, Key string
	Fingerprint              []byte // hash of the body
}

// StoredResponse is the stored response to a request.
type StoredResponse struct {
	Status int // 0 if there is no response yet
	Header http.Header
	Body   []byte
}

// idempotencyKey is a claimed request and its response. The header and body are encrypted, because responses can
// contain credentials.
type idempotencyKey struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	Scope       string
	Method      string
	Path        string
	Key         string
	Fingerprint []byte
	Committed   bool // whether the request took effect
	Status      int
	Header      string // encrypted JSON; "{}" if there is no response yet
	Body        []byte
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// inFlightTimeout is the time after which a request without a response is considered abandoned. A retry then replaces
// the request, which can no longer commit.
const inFlightTimeout = 30 * time.Second

const labelIdempotency = "idempotency"

// Errors for a retried request.
var (
	errKeyReused = models.Reject(models.KindUnprocessable, "idempotency_key_reused",
		"This Idempotency-Key was used for another request.")
	errInFlight = &models.Error{
		Kind: models.KindConflict, Code: "idempotency_in_flight", RetryAfter: time.Second,
		Message: "The first request with this Idempotency-Key is still being processed.",
	}
	errInterrupted = models.Reject(models.KindConflict, "idempotency_interrupted",
		"The first request with this Idempotency-Key succeeded, but its response was lost. Check the resource instead of sending the request again.")
)

// ClaimKey claims a request, and stores its key for the given retention period. It returns the ID of the claim, and the
// stored response if there is one. It returns an error if the first request with the key is still in progress, had
// different content, or was committed without a stored response.
func (s *IdempotencyRepository) ClaimKey(ctx context.Context, r IdempotentRequest, retention time.Duration) (uuid.UUID, *StoredResponse, error) {
	var id uuid.UUID
	var answer *StoredResponse
	err := s.tx(ctx, func(tx *gorm.DB) error {
		now := s.now()
		row := idempotencyKey{
			ID: s.newID(), Scope: r.Scope, Method: r.Method, Path: r.Path, Key: r.Key, Fingerprint: r.Fingerprint, Header: "{}",
			CreatedAt: now, ExpiresAt: now.Add(retention),
		}
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 1 {
			id = row.ID
			return nil
		}
		old, err := one[idempotencyKey](s.locked(tx), "scope = ? AND method = ? AND path = ? AND key = ?", r.Scope, r.Method, r.Path, r.Key)
		if errors.Is(err, models.ErrNotFound) {
			return errInFlight // just released; the next attempt will claim it
		}
		if err != nil {
			return err
		}
		switch {
		case !now.Before(old.ExpiresAt):
		case !bytes.Equal(old.Fingerprint, r.Fingerprint):
			return errKeyReused
		case old.Status != 0:
			id = old.ID
			answer, err = s.decryptResponse(old)
			return err
		case now.Sub(old.CreatedAt).Abs() < inFlightTimeout: // Abs, because the clock may have been set back
			return errInFlight
		case old.Committed:
			return errInterrupted
		}
		// The key has expired, or the process died before the request took effect.
		id = row.ID
		return tx.Model(old).Select("*").Updates(&row).Error
	})
	return id, answer, wrap(err, "claim idempotency key")
}

func (s *engine) encryptResponse(row *idempotencyKey, a StoredResponse) error {
	header, err := json.Marshal(a.Header)
	if err != nil {
		return fmt.Errorf("store response: %w", err)
	}
	row.Status = a.Status
	row.Header = base64.StdEncoding.EncodeToString(s.vault.Encrypt(header, labelIdempotency+" header"))
	row.Body = s.vault.Encrypt(a.Body, labelIdempotency)
	return nil
}

func (s *IdempotencyRepository) decryptResponse(row *idempotencyKey) (*StoredResponse, error) {
	a := &StoredResponse{Status: row.Status}
	header, err := base64.StdEncoding.DecodeString(row.Header)
	if err == nil {
		header, err = s.vault.Decrypt(header, labelIdempotency+" header")
	}
	if err == nil {
		err = json.Unmarshal(header, &a.Header)
	}
	if err == nil {
		a.Body, err = s.vault.Decrypt(row.Body, labelIdempotency)
	}
	return a, wrap(err, "stored response")
}

// StoreResponse stores the response to a claimed request.
func (s *IdempotencyRepository) StoreResponse(ctx context.Context, id uuid.UUID, a StoredResponse) error {
	row := idempotencyKey{}
	if err := s.encryptResponse(&row, a); err != nil {
		return err
	}
	err := s.db.WithContext(ctx).Model(&idempotencyKey{}).Where("id = ?", id).Select("Status", "Header", "Body").Updates(&row).Error
	return wrap(err, "store response")
}

// ReleaseKey deletes a claimed request, so that it can be sent again. If force is set, it also deletes a committed
// request, which can then be executed twice.
func (s *IdempotencyRepository) ReleaseKey(ctx context.Context, id uuid.UUID, force bool) error {
	return wrap(s.db.WithContext(ctx).Delete(&idempotencyKey{}, "id = ? AND (NOT committed OR ?)", id, force).Error, "release idempotency key")
}

// MaxStoredResponse is the maximum size of a stored response body, in bytes. An envelope with the maximum number of
// fields is smaller than this limit.
const MaxStoredResponse = 8 << 20

// commitKey records, in the request's transaction, that the request was committed. It also stores the response unless
// the response is nil or too long. The transaction fails if a retry has replaced the request.
func (s *engine) commitKey(t *transaction, key uuid.UUID, response *StoredResponse) error {
	if key == uuid.Nil {
		return nil
	}
	row := idempotencyKey{Committed: true}
	columns := []column{{"committed", &row.Committed}}
	if response != nil && len(response.Body) <= MaxStoredResponse {
		if err := s.encryptResponse(&row, *response); err != nil {
			return err
		}
		columns = append(columns, column{"status", &row.Status}, column{"header", &row.Header}, column{"body", &row.Body})
	}
	t.update("idempotency_keys", []column{{"id", &key}}, columns)
	return nil
}
