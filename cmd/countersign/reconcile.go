package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"countersign/models"
	"countersign/operate/reconcile"
	"countersign/temporal"
)

type reconcileCommand struct {
	DryRun bool `help:"Only count."`
	JSON   bool `help:"Print JSON." name:"json"`
}

// Run has the workflows started that the database says there should be and
// Temporal does not run. The API or a worker must run to start them.
func (r reconcileCommand) Run(ctx context.Context) (err error) {
	cfg, err := productionConfig("DATABASE_URL", "MASTER_KEY")
	if err != nil {
		return err
	}
	s, _, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
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
	if r.JSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]reconcile.Count{
			"envelopes": found[models.OutboxStart], "retentions": found[models.OutboxRetention], "timestamps": found[models.OutboxTimestamp], "deliveries": found[models.OutboxDeliver],
		})
	}
	verb := "started"
	if r.DryRun {
		verb = "without a workflow"
	}
	for _, k := range []struct {
		name string
		kind models.OutboxKind
	}{{"envelopes", models.OutboxStart}, {"retentions", models.OutboxRetention}, {"timestamps", models.OutboxTimestamp}, {"deliveries", models.OutboxDeliver}} {
		//nolint:forbidigo // this is what the command is for
		if _, err := fmt.Printf("%-11s %d unfinished, %d %s\n", k.name, found[k.kind].Unfinished, found[k.kind].Started, verb); err != nil {
			return err
		}
	}
	return nil
}
