package main

import (
	"context"

	"countersign/internal/vault"
	"countersign/models"
	"countersign/operate/reconcile"
	"countersign/store"
	"countersign/temporal"
)

type reconcileCommand struct {
	DryRun bool `help:"Only count."`
	JSON   bool `help:"Print JSON." name:"json"`
}

// Run has the workflows started that the database says there should be and
// Temporal does not run. The API or a worker must run to start them.
func (r reconcileCommand) Run(ctx context.Context) error {
	cfg, err := productionConfig("DATABASE_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	return withStore(ctx, cfg, func(s *store.Store, _ *vault.Vault) error {
		if err := s.Migrated(ctx); err != nil {
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

func (r reconcileCommand) print(found map[models.OutboxKind]reconcile.Count) error {
	counts := make(map[string]reconcile.Count)
	for _, k := range reconcile.Kinds {
		counts[k.Name] = found[k.Kind]
	}
	if r.JSON {
		return printJSON(counts)
	}
	verb := "started"
	if r.DryRun {
		verb = "without a workflow"
	}
	for _, k := range reconcile.Kinds {
		if err := say("%-11s %d unfinished, %d %s", k.Name, found[k.Kind].Unfinished, found[k.Kind].Started, verb); err != nil {
			return err
		}
	}
	return nil
}
