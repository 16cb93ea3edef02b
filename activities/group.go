package activities

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"countersign/temporal"
)

const (
	// inviteBegin is how long InviteGroup begins mails. One that was begun is not cut off:
	// it would arrive twice.
	inviteBegin = 4 * time.Second
	// inviteAtOnce is how many mails of a group are sent at the same time.
	inviteAtOnce = 4
)

// GroupInput names those of an envelope who are invited at the same time.
type GroupInput struct {
	temporal.EnvelopeInput

	SignerIDs []uuid.UUID `json:"signerIds"`
}

// InviteGroup tries once to invite each of a group, and returns those who have to be
// tried again, each by an Invite of its own: one whom the mail server does not take yet
// holds up nobody else.
func (a *Activities) InviteGroup(ctx context.Context, in GroupInput) ([]uuid.UUID, error) {
	begin, cancel := context.WithTimeout(ctx, inviteBegin)
	defer cancel()
	e, v, err := a.loadEnvelope(ctx, in.EnvelopeInput)
	if err != nil {
		return nil, err
	}
	var (
		wg    sync.WaitGroup
		slots = make(chan struct{}, inviteAtOnce)
		errs  = make([]error, len(in.SignerIDs))
	)
	for i, id := range in.SignerIDs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if errs[i] = begin.Err(); errs[i] != nil {
				return
			}
			errs[i] = a.invite(ctx, SignerInput{EnvelopeInput: in.EnvelopeInput, SignerID: id}, e, v)
		})
	}
	wg.Wait()
	var again []uuid.UUID
	for i, err := range errs {
		if err != nil {
			level := slog.LevelWarn
			if awaitsRenewal(err) {
				level = slog.LevelDebug
			}
			slog.Log(ctx, level, "signer not invited yet", "envelope", in.EnvelopeID, "signer", in.SignerIDs[i], "error", err)
			again = append(again, in.SignerIDs[i])
		}
	}
	return again, nil
}
