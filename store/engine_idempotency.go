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

// IdempotencyRepository stores idempotency keys with the responses to their requests.
type IdempotencyRepository struct{ *engine }

// IdempotentRequest is a request that may be repeated: who sent it where, under which key.
type IdempotentRequest struct {
	Scope, Method, Path, Key string
	Fingerprint              []byte // of the body
}

// StoredResponse is the response to a request.
type StoredResponse struct {
	Status int // 0: not answered yet
	Header http.Header
	Body   []byte
}

// idempotencyKey is a request that was taken, and its answer. Header and body are
// encrypted: answers hold credentials.
type idempotencyKey struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	Scope       string
	Method      string
	Path        string
	Key         string
	Fingerprint []byte
	Committed   bool // the request took effect
	Status      int
	Header      string // encrypted JSON; "{}": not answered yet
	Body        []byte
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// inFlightTimeout is how long a request may go unanswered before its process is taken
// for dead and a repeat takes its place. Should it be alive after all, it can
// commit nothing more.
const inFlightTimeout = 30 * time.Second

const labelIdempotency = "idempotency"

// Refusals of a repeated request.
var (
	errKeyReused = models.Refuse(models.KindUnprocessable, "idempotency_key_reused",
		"This Idempotency-Key was used for another request.")
	errInFlight = &models.Error{
		Kind: models.KindConflict, Code: "idempotency_in_flight", RetryAfter: time.Second,
		Message: "The first request with this Idempotency-Key is still being processed.",
	}
	errInterrupted = models.Refuse(models.KindConflict, "idempotency_interrupted",
		"The first request with this Idempotency-Key succeeded, but its response was lost. Check the resource instead of sending the request again.")
)

// ClaimKey takes a request for the length of keep. It returns the id under
// which it was taken, and the answer if it was given or stored before. A
// request that is worked on, was cut off after it took effect without a
// response, or differs is refused.
func (s *IdempotencyRepository) ClaimKey(ctx context.Context, r IdempotentRequest, keep time.Duration) (uuid.UUID, *StoredResponse, error) {
	var id uuid.UUID
	var answer *StoredResponse
	err := s.tx(ctx, func(tx *gorm.DB) error {
		now := s.now()
		row := idempotencyKey{
			ID: s.newID(), Scope: r.Scope, Method: r.Method, Path: r.Path, Key: r.Key, Fingerprint: r.Fingerprint, Header: "{}",
			CreatedAt: now, ExpiresAt: now.Add(keep),
		}
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 1 {
			id = row.ID
			return nil
		}
		old, err := take[idempotencyKey](s.locked(tx), "scope = ? AND method = ? AND path = ? AND key = ?", r.Scope, r.Method, r.Path, r.Key)
		if errors.Is(err, models.ErrNotFound) {
			return errInFlight // given back a moment ago: the next try takes it
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
		case now.Sub(old.CreatedAt).Abs() < inFlightTimeout: // a clock set back makes nothing wait
			return errInFlight
		case old.Committed:
			return errInterrupted
		}
		// It has run out, or its process died before it did anything.
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

// StoreResponse stores the answer to a request that was taken.
func (s *IdempotencyRepository) StoreResponse(ctx context.Context, id uuid.UUID, a StoredResponse) error {
	row := idempotencyKey{}
	if err := s.encryptResponse(&row, a); err != nil {
		return err
	}
	err := s.db.WithContext(ctx).Model(&idempotencyKey{}).Where("id = ?", id).Select("Status", "Header", "Body").Updates(&row).Error
	return wrap(err, "store response")
}

// ReleaseKey forgets a request that was taken, so that it can be sent again. One
// that took effect is not forgotten, unless anyway says that doing it again is meant.
func (s *IdempotencyRepository) ReleaseKey(ctx context.Context, id uuid.UUID, anyway bool) error {
	return wrap(s.db.WithContext(ctx).Delete(&idempotencyKey{}, "id = ? AND (NOT committed OR ?)", id, anyway).Error, "release idempotency key")
}

// MaxStoredResponse is the greatest body, in bytes, that is stored for repeats. Envelopes with every field are smaller.
const MaxStoredResponse = 8 << 20

// commitKey adds to a transaction that its request took effect, with the response to a repeat unless that is nil or too long.
// The transaction of a request whose place a repeat has taken fails.
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
