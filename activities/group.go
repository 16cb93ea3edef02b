package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

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
	var mails errgroup.Group
	mails.SetLimit(inviteAtOnce)
	errs := make([]error, len(in.SignerIDs))
	for i, id := range in.SignerIDs {
		mails.Go(func() error {
			if errs[i] = begin.Err(); errs[i] == nil {
				errs[i] = a.invite(ctx, temporal.InviteInput{EnvelopeInput: in.EnvelopeInput, SignerID: id}, e, v)
			}
			return nil
		})
	}
	_ = mails.Wait() // each has an error of its own
	var again []uuid.UUID
	for i, err := range errs {
		if err != nil {
			level := slog.LevelWarn
			if failure, ok := errors.AsType[*sdktemporal.ApplicationError](err); ok && failure.Type() == errTypeRenewalSends {
				level = slog.LevelDebug
			}
			slog.Log(ctx, level, "signer not invited yet", "envelope", in.EnvelopeID, "signer", in.SignerIDs[i], "error", err)
			again = append(again, in.SignerIDs[i])
		}
	}
	return again, nil
}
