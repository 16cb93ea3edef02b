package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"countersign/models"
)

// Snapshot is an envelope as it was at one moment, with what a change of it needs.
type Snapshot struct {
	*models.Envelope

	webhooks []*models.Webhook
	at       time.Time // when it was asked for
}

// snapshotAge is how old a snapshot may be that is changed. A request whose body
// took longer to arrive is decided on what is there then, endpoints included.
const snapshotAge = time.Second

// Snapshot loads an app's envelope for ChangeSnapshot, without locking it.
func (s *EnvelopeRepository) Snapshot(ctx context.Context, app, id uuid.UUID) (*Snapshot, error) {
	at := s.now()
	l, err := s.loadEnvelope(ctx, app, id, loadOptions{webhooks: true})
	if err != nil {
		return nil, err
	}
	return &Snapshot{l.envelopes[0], l.webhooks, at}, nil
}

// ChangeSnapshot is Change for who has read the envelope already: fn runs on the
// snapshot, and what it changed is saved if the envelope still has the snapshot's
// version, which every change raises. Otherwise nothing is saved, and fn runs once
// more, in Change. The snapshot must not be used afterwards.
//
// What fn refuses is refused as of the moment of the snapshot. One older than
// snapshotAge, or of an archived envelope, is not used.
func (s *EnvelopeRepository) ChangeSnapshot(ctx context.Context, snapshot *Snapshot, fn func(*models.Envelope) error) (*models.Envelope, error) {
	e := snapshot.Envelope
	app, id := e.AppID, e.ID
	if e.Archived || s.now().Sub(snapshot.at).Abs() > snapshotAge {
		return s.Change(ctx, app, id, fn)
	}
	err := s.transact(ctx, readWrite, func(t *transaction) error {
		t.result = e
		return s.changeLoaded(t, e, snapshot.webhooks, fn)
	})
	if errors.Is(err, errLostUpdate) {
		return s.Change(ctx, app, id, fn)
	}
	if err != nil {
		return nil, fmt.Errorf("change envelope %s: %w", id, err)
	}
	s.committed(e)
	return e, nil
}
