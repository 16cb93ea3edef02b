package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	sdktemporal "go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"countersign/temporal"
)

// mailsAtOnce is the number of emails for one envelope that are sent concurrently.
const mailsAtOnce = 4

// InviteInput identifies recipients of an envelope who are invited at the same time.
type InviteInput struct {
	temporal.EnvelopeInput

	SignerIDs []uuid.UUID `json:"signers"`
	// LinkID is the renewed link to send. It is nil for the invitation of a routing group, which sends each signer's
	// current link.
	LinkID *uuid.UUID `json:"linkId,omitempty"`
	// Reminder identifies the request for a reminder, which is sent instead of an invitation. It is nil for an
	// invitation.
	Reminder *uuid.UUID `json:"reminder,omitempty"`
}

// ErrTypeRejected is the error type that Invite returns if the mail server permanently rejected some addresses, and all
// other recipients were reached. The error's message contains the server's response and no addresses.
const ErrTypeRejected = "Rejected"

// Invite invites the given recipients. It returns an error, so that it is retried, until all of them have been reached.
// A retry skips the emails that were already sent. An unreachable address does not delay the other recipients.
func (a *Activities) Invite(ctx context.Context, in InviteInput) error {
	e, v, release, err := a.loadForMail(ctx, in.EnvelopeInput)
	if err != nil {
		return err
	}
	defer release()
	var mu sync.Mutex
	var answers []string
	rejected := func(answer string) {
		mu.Lock()
		defer mu.Unlock()
		answers = append(answers, answer)
	}
	var mails errgroup.Group
	mails.SetLimit(mailsAtOnce)
	failed := make([]error, len(in.SignerIDs))
	for i, id := range in.SignerIDs {
		mails.Go(func() error {
			failed[i] = a.invite(ctx, temporal.InviteInput{EnvelopeInput: in.EnvelopeInput, SignerID: id, LinkID: in.LinkID, Reminder: in.Reminder}, e, v, rejected)
			return nil
		})
	}
	_ = mails.Wait() // the errors are in failed
	err = errors.Join(failed...)
	if len(failed) == 1 {
		err = failed[0]
	}
	if err == nil && len(answers) > 0 {
		return sdktemporal.NewApplicationErrorWithOptions(fmt.Sprintf("the mail server permanently rejected %d address(es): %s", len(answers), answers[0]),
			ErrTypeRejected, sdktemporal.ApplicationErrorOptions{NonRetryable: true, Category: sdktemporal.ApplicationErrorCategoryBenign})
	}
	return withRetryDelay(err)
}
