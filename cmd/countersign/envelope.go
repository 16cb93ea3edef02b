package main

import (
	"context"
	"time"

	"github.com/google/uuid"

	"countersign/cli/terminal"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

type envelopeCommand struct {
	Stuck     envelopeStuck   `cmd:"" help:"List fully signed envelopes whose documents cannot be sealed."`
	Due       envelopeDue     `cmd:"" help:"List open envelopes that expire soon or should have expired, by deadline."`
	VoidStuck envelopeVoid    `cmd:"" name:"void-stuck" help:"Void an envelope that cannot be sealed. Signers and webhooks receive the reason."`
	Archive   envelopeArchive `cmd:"" help:"Move the audit events and values of an ended envelope to an archive in the file store now."`
	Restore   envelopeRestore `cmd:"" help:"Restore an archived envelope to the database."`
}

// storedEnvelope contains the arguments shared by commands for a single envelope in the database.
type storedEnvelope struct {
	database

	ID uuid.UUID `arg:"" help:"Id of the envelope."`
}

// maxStuck is the maximum number of envelopes that the command lists.
const maxStuck = 1000

type envelopeStuck struct {
	database

	JSON bool `help:"Print JSON, one line for each envelope." name:"json"`
}

// Run prints the envelopes that cannot be sealed.
func (v envelopeStuck) Run(ctx context.Context) error {
	return v.with(ctx, func(s *store.Store) error {
		list, err := s.UnsealedEnvelopes(ctx, maxStuck)
		if err != nil {
			return err
		}
		for _, e := range list {
			since := e.SealingProblemAt.UTC()
			if v.JSON {
				err = terminal.PrintJSON(map[string]any{"envelopeId": e.ID, "appId": e.AppID, "problem": e.SealingProblem, "since": since})
			} else {
				err = terminal.Printf("%s  since %s  %s: %s", e.ID, since.Format(time.RFC3339), e.SealingProblem, e.SealingProblem.Message())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// maxDue is the maximum number of envelopes that the command lists.
const maxDue = 1000

type envelopeDue struct {
	database

	Within time.Duration `help:"Include deadlines within this time, such as 24h." default:"24h"`
	JSON   bool          `help:"Print JSON, one line for each envelope." name:"json"`
}

// Run prints the envelopes whose deadlines are near.
func (v envelopeDue) Run(ctx context.Context) error {
	return v.with(ctx, func(s *store.Store) error {
		list, err := s.DueEnvelopes(ctx, now().Add(v.Within), maxDue)
		if err != nil {
			return err
		}
		for _, e := range list {
			deadline := e.ExpiresAt.UTC()
			if v.JSON {
				err = terminal.PrintJSON(map[string]any{"envelopeId": e.ID, "appId": e.AppID, "tenantId": e.TenantID, "expiresAt": deadline})
			} else {
				err = terminal.Printf("%s  expires %s  tenant %s", e.ID, deadline.Format(time.RFC3339), e.TenantID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type envelopeVoid struct {
	storedEnvelope

	Reason string `help:"Reason, recorded in the audit trail and sent to signers and webhooks." required:""`
}

// Run voids the envelope. It can run while the service is running. If the envelope is sealed at the same time, only one
// of the two actions succeeds.
func (v envelopeVoid) Run(ctx context.Context) error {
	return v.with(ctx, func(s *store.Store) error {
		ref, err := s.FindEnvelope(ctx, v.ID)
		if err != nil {
			return err
		}
		act := models.ActionContext{At: now().Truncate(time.Microsecond), Actor: models.ActorSystem, NewID: newID}
		if _, err := s.Change(ctx, ref.AppID, ref.ID, func(e *models.Envelope) error { return e.VoidStuck(act, v.Reason) }); err != nil {
			return err
		}
		return terminal.Printf("%s was voided", v.ID)
	})
}

type envelopeArchive struct{ storedEnvelope }

// Run archives the envelope. It can run while the service is running.
func (v envelopeArchive) Run(ctx context.Context) error {
	return v.withFiles(ctx, func(s *store.Store, _ *blob.Encrypted) error {
		ref, err := s.FindEnvelope(ctx, v.ID)
		if err != nil {
			return err
		}
		if err := s.Archive(ctx, ref); err != nil {
			return err
		}
		return terminal.Printf("%s was archived", v.ID)
	})
}

type envelopeRestore struct{ storedEnvelope }

// Run restores the envelope from its archive. It can run while the service is running. The service archives the
// envelope again when archiving is due.
func (v envelopeRestore) Run(ctx context.Context) error {
	return v.withFiles(ctx, func(s *store.Store, _ *blob.Encrypted) error {
		if _, err := s.FindEnvelope(ctx, v.ID); err != nil {
			return err
		}
		if err := s.Restore(ctx, v.ID); err != nil {
			return err
		}
		return terminal.Printf("%s was restored to the database", v.ID)
	})
}
