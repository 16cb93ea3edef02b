package main

import (
	"context"
	"time"

	"github.com/google/uuid"

	"countersign/cli/devdir"
	"countersign/cli/terminal"
	"countersign/models"
	"countersign/store"
)

type appCommand struct {
	Create appCreate `cmd:"" help:"Create an app and print its client id and secret."`
	Update appUpdate `cmd:"" help:"Change an app; omitted settings are kept."`
	Secret appSecret `cmd:"" help:"Create a new secret for an app; earlier secrets stay valid for a limited time."`
}

type appCreate struct {
	database

	Name    string   `help:"Name, as signers see it." required:""`
	Plan    string   `help:"enterprise (no limit), or for resellers: free or pro." enum:"free,pro,enterprise" default:"enterprise"`
	Tenant  []string `help:"Tenant that the app may act for; may be repeated. Without it: all."`
	Contact string   `help:"Email address of the app's operators, notified when a webhook endpoint is disabled."`
	JSON    bool     `help:"Print JSON." name:"json"`
}

// Run creates the app. It can run while the service is running.
func (a appCreate) Run(ctx context.Context) error {
	return a.with(ctx, func(s *store.Store) error {
		app, secret, err := s.CreateApp(ctx, a.Name, models.Plan(a.Plan), a.Tenant)
		if err != nil {
			return err
		}
		if a.Contact != "" {
			if _, err := s.UpdateApp(ctx, app.ID, store.AppChange{Contact: &a.Contact}); err != nil {
				return err
			}
		}
		return show(devdir.Credentials{ClientID: app.ClientID.String(), ClientSecret: secret}, a.JSON)
	})
}

func show(c devdir.Credentials, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(c)
	}
	return terminal.Printf("client id      %s\nclient secret  %s\n\nThe secret is not shown again.", c.ClientID, c.ClientSecret)
}

type appUpdate struct {
	database

	App        uuid.UUID `help:"Client id of the app." required:""`
	Name       *string   `help:"Name, as signers see it."`
	Contact    *string   `help:"Email address of the app's operators."`
	Plan       *string   `help:"free, pro or enterprise."`
	Tenant     []string  `help:"Tenant that the app may act for; may be repeated."`
	AllTenants bool      `help:"Let the app act for all tenants."`
}

// Run updates the app.
func (a appUpdate) Run(ctx context.Context) error {
	return a.withApp(ctx, a.App, func(s *store.Store, app *models.App) error {
		c := store.AppChange{Name: a.Name, Contact: a.Contact}
		if a.Plan != nil {
			plan := models.Plan(*a.Plan)
			c.Plan = &plan
		}
		if len(a.Tenant) > 0 || a.AllTenants {
			c.Tenants = &a.Tenant
		}
		_, err := s.UpdateApp(ctx, app.ID, c)
		return err
	})
}

type appSecret struct {
	database

	App     uuid.UUID     `help:"Client id of the app." required:""`
	Overlap time.Duration `help:"How long earlier secrets stay valid." default:"168h"`
	JSON    bool          `help:"Print JSON." name:"json"`
}

// Run creates a client secret.
func (a appSecret) Run(ctx context.Context) error {
	return a.withApp(ctx, a.App, func(s *store.Store, app *models.App) error {
		secret, err := s.AddSecret(ctx, app.ID, a.Overlap)
		if err != nil {
			return err
		}
		return show(devdir.Credentials{ClientID: app.ClientID.String(), ClientSecret: secret}, a.JSON)
	})
}
