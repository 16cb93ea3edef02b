package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"countersign/config"
	"countersign/models"
)

type appCommand struct {
	Create appCreate `cmd:"" help:"Create an app and print its client id and secret."`
}

type appCreate struct {
	DataDir string   `help:"Data directory of a service run by 'dev'; without it the settings name the database." type:"path"`
	Name    string   `help:"Name, as signers see it." required:""`
	Plan    string   `help:"free, pro or enterprise." enum:"free,pro,enterprise" default:"free"`
	Tenant  []string `help:"Tenant that the app may act for; may be repeated. Without it: all."`
	JSON    bool     `help:"Print JSON." name:"json"`
}

// credentials is what an app logs in with.
type credentials struct {
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
}

// Run creates the app. The service may be running.
func (a appCreate) Run(ctx context.Context) (err error) {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	s, _, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Migrate(ctx); err != nil {
		return err
	}
	app, secret, err := s.CreateApp(ctx, a.Name, models.Plan(a.Plan), a.Tenant)
	if err != nil {
		return err
	}
	c := credentials{ClientID: app.ID.String(), ClientSecret: secret}
	if a.JSON {
		return json.NewEncoder(os.Stdout).Encode(c)
	}
	_, err = fmt.Printf("client id      %s\nclient secret  %s\n\nThe secret is not shown again.\n", c.ClientID, c.ClientSecret) //nolint:forbidigo // this is what the command is for
	return err
}

func (a appCreate) config() (config.Config, error) {
	if a.DataDir == "" {
		return production("DATABASE_URL", "MASTER_KEY")
	}
	if err := prepareDataDir(a.DataDir); err != nil {
		return config.Config{}, err
	}
	return devConfig(a.DataDir, config.Default().Listen)
}
