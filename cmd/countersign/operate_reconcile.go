package main

import (
	"context"

	"countersign/cli/terminal"
	"countersign/internal/vault"
	"countersign/operate/reconcile"
	"countersign/store"
	"countersign/temporal"
)

type reconcileCommand struct {
	DryRun bool `help:"Count missing workflows without starting them."`
	JSON   bool `help:"Print JSON." name:"json"`
}

// Run starts the workflows that should be running according to the database but are not. The schedule "reconcile" does
// the same every few minutes. The API or a worker must be running, because their dispatcher starts the workflows.
func (r reconcileCommand) Run(ctx context.Context) error {
	cfg, err := productionConfig("DATABASE_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	return withStore(ctx, cfg, func(s *store.Store, _ *vault.Vault) error {
		if err := checkReady(ctx, s); err != nil {
			return err
		}
		c, err := temporal.Dial(cfg, logger(cfg, false), temporal.Observer{})
		if err != nil {
			return err
		}
		defer c.Close()
		found, err := (&reconcile.Reconciler{Store: s, Client: c, DryRun: r.DryRun}).Run(ctx)
		if err != nil {
			return err
		}
		return r.print(found)
	})
}

func (r reconcileCommand) print(found reconcile.Counts) error {
	if r.JSON {
		return terminal.PrintJSON(found)
	}
	verb := "started"
	if r.DryRun {
		verb = "without a workflow"
	}
	for _, work := range reconcile.Order {
		if err := terminal.Printf("%-11s %d unfinished, %d %s", work, found[work].Unfinished, found[work].Missing, verb); err != nil {
			return err
		}
	}
	return nil
}
