package store

import (
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

// Request is a request that may be repeated: who sent it where, under which key.
type Request struct {
	Scope, Method, Path, Key string
	Fingerprint              []byte // of the body
}

// Answer is what was answered to a request.
type Answer struct {
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
	Committed   bool // what it asked for was done
	Status      int
	Header      string // encrypted JSON; "{}": not answered yet
	Body        []byte
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// inFlight is how long a request may go unanswered before its process is taken
// for dead and a repeat takes its place. Should it be alive after all, it can
// commit nothing more.
const inFlight = 30 * time.Second

const labelIdempotency = "idempotency"

// Refusals of a repeated request.
var (
	errKeyReused = models.Refuse(models.KindUnprocessable, "idempotency_key_reused",
		"This Idempotency-Key was used for another request.")
	errInFlight = &models.Error{
		Kind: models.KindConflict, Code: "idempotency_in_flight", RetryAfter: time.Second,
		Message: "The first request with this Idempotency-Key is still being worked on.",
	}
	errInterrupted = models.Refuse(models.KindConflict, "idempotency_interrupted",
		"The first request with this Idempotency-Key took effect, but its answer was lost. Look at the resource; do not send it again.")
)

// TakeRequest takes a request for the length of keep. It returns the id under
// which it was taken, and the answer if it was given or promised before. A
// request that is worked on, was cut off after it took effect without a
// promise, or differs is refused.
func (s *Store) TakeRequest(ctx context.Context, r Request, keep time.Duration) (uuid.UUID, *Answer, error) {
	id, answer, err := uuid.Nil, (*Answer)(nil), error(nil)
	err = s.tx(ctx, func(tx *gorm.DB) error {
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
		var old idempotencyKey
		err = s.locked(tx).Take(&old, "scope = ? AND method = ? AND path = ? AND key = ?", r.Scope, r.Method, r.Path, r.Key).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return errInFlight // given back a moment ago: the next try takes it
		}
		if err != nil {
			return err
		}
		same := string(old.Fingerprint) == string(r.Fingerprint)
		switch {
		case !now.Before(old.ExpiresAt):
		case !same:
			return errKeyReused
		case old.Status != 0:
			id = old.ID
			answer, err = s.openAnswer(&old)
			return err
		case now.Sub(old.CreatedAt).Abs() < inFlight: // a clock set back makes nothing wait
			return errInFlight
		case old.Committed:
			return errInterrupted
		}
		// It has run out, or its process died before it did anything.
		id = row.ID
		return tx.Model(&old).Select("*").Updates(&row).Error
	})
	if err != nil {
		return uuid.Nil, nil, fmt.Errorf("take request: %w", err)
	}
	return id, answer, nil
}

func (s *Store) encryptAnswer(row *idempotencyKey, a Answer) error {
	header, err := json.Marshal(a.Header)
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	row.Status = a.Status
	row.Header = base64.StdEncoding.EncodeToString(s.vault.Seal(header, labelIdempotency+" header"))
	row.Body = s.vault.Seal(a.Body, labelIdempotency)
	return nil
}

func (s *Store) openAnswer(row *idempotencyKey) (*Answer, error) {
	a := &Answer{Status: row.Status}
	sealed, err := base64.StdEncoding.DecodeString(row.Header)
	if err != nil {
		return nil, fmt.Errorf("kept answer: %w", err)
	}
	header, err := s.vault.Open(sealed, labelIdempotency+" header")
	if err == nil {
		err = json.Unmarshal(header, &a.Header)
	}
	if err == nil {
		a.Body, err = s.vault.Open(row.Body, labelIdempotency)
	}
	if err != nil {
		return nil, fmt.Errorf("kept answer: %w", err)
	}
	return a, nil
}

// KeepAnswer stores the answer to a request that was taken.
func (s *Store) KeepAnswer(ctx context.Context, id uuid.UUID, a Answer) error {
	row := idempotencyKey{}
	if err := s.encryptAnswer(&row, a); err != nil {
		return err
	}
	err := s.db.WithContext(ctx).Model(&idempotencyKey{}).Where("id = ?", id).Select("Status", "Header", "Body").Updates(&row).Error
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	return nil
}

// GiveBack forgets a request that was taken, so that it can be sent again. One
// that took effect is not forgotten, unless anyway says that doing it again is meant.
func (s *Store) GiveBack(ctx context.Context, id uuid.UUID, anyway bool) error {
	if err := s.db.WithContext(ctx).Delete(&idempotencyKey{}, "id = ? AND (NOT committed OR ?)", id, anyway).Error; err != nil {
		return fmt.Errorf("give back request: %w", err)
	}
	return nil
}

type requestKey struct{}

type request struct {
	id      uuid.UUID
	promise func(made any) (*Answer, error)
}

type madeKey struct{}

// making says what the transactions under ctx make, for the answer that is
// promised: it is complete when they are about to commit.
func making(ctx context.Context, made any) context.Context {
	return context.WithValue(ctx, madeKey{}, made)
}

// WithRequest makes the transactions under ctx note that the request took
// effect, so that it is not done again should its answer be lost. promise, which
// may be nil, is called at the end of each with what it made, where that is no
// part of an envelope: what it gives is the answer that a repeat will get, until
// KeepAnswer stores another.
func WithRequest(ctx context.Context, id uuid.UUID, promise func(made any) (*Answer, error)) context.Context {
	return context.WithValue(ctx, requestKey{}, request{id, promise})
}

// WithoutRequest makes the transactions under ctx no part of what the request
// asked for: it is answered with a refusal, and can be sent again.
func WithoutRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, nil)
}

// noteRequest runs inside every transaction. One whose request was taken over by
// a repeat is undone.
func (s *Store) noteRequest(t *transaction) error {
	r, ok := t.ctx.Value(requestKey{}).(request)
	if !ok {
		return nil
	}
	row := idempotencyKey{Committed: true}
	columns := []column{{"committed", &row.Committed}}
	if r.promise != nil {
		a, err := r.promise(t.ctx.Value(madeKey{}))
		if err != nil {
			return err
		}
		if a != nil {
			if err := s.encryptAnswer(&row, *a); err != nil {
				return err
			}
			columns = append(columns, column{"status", &row.Status}, column{"header", &row.Header}, column{"body", &row.Body})
		}
	}
	t.update("idempotency_keys", []column{{"id", &r.id}}, columns)
	return nil
}
