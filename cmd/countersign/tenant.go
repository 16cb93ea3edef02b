package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/google/uuid"

	"countersign/config"
	"countersign/models"
	"countersign/store"
	"countersign/store/blob"
)

// database names the database that a command works on.
type database struct {
	DataDir string `help:"Data directory of a service run by 'dev'; without it the settings name the database." type:"path"`
}

func (d database) config() (config.Config, error) {
	if d.DataDir == "" {
		return production("DATABASE_URL", "MASTER_KEY")
	}
	if err := prepareDataDir(d.DataDir); err != nil {
		return config.Config{}, err
	}
	return devConfig(d.DataDir, config.Default().Listen)
}

// with runs fn on the store, which is brought up to date before. The service may
// be running.
func (d database) with(ctx context.Context, fn func(*store.Store) error) (err error) {
	cfg, err := d.config()
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
	return fn(s)
}

// withApp is with for an app, which is named by its client id or its own.
func (d database) withApp(ctx context.Context, id uuid.UUID, fn func(*store.Store, *models.App) error) error {
	return d.with(ctx, func(s *store.Store) error {
		app, err := s.AppOf(ctx, id)
		if err != nil {
			return err
		}
		return fn(s, app)
	})
}

// withFiles runs fn on the store, which must be up to date, and on the files. The
// service may be running.
func (d database) withFiles(ctx context.Context, fn func(*store.Store, *blob.Encrypted) error) (err error) {
	cfg, err := d.config()
	if err != nil {
		return err
	}
	if err := cfg.Require("BLOB_URL"); err != nil {
		return err
	}
	s, v, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Migrated(ctx); err != nil {
		return err
	}
	blobs, err := openBlobs(ctx, cfg, v)
	if err != nil {
		return err
	}
	return fn(s, blobs)
}

type tenantCommand struct {
	Set  tenantSet  `cmd:"" help:"Change settings; those that are not named stay."`
	Show tenantShow `cmd:"" help:"Show settings as JSON."`
}

type tenantOf struct {
	database

	App    uuid.UUID `help:"Client id of the app." required:""`
	Tenant string    `help:"Tenant; without it the app's own settings, for all of its tenants."`
}

type tenantSet struct {
	tenantOf

	Expiry    *int    `help:"Days until an envelope expires that names no deadline."`
	Reminders *int    `help:"Hours between reminders; 0: none."`
	Retention *int    `help:"Days that sealed files are kept; 0: for ever."`
	Origin    *string `help:"top-left or bottom-left: where y is counted from in requests that do not say."`
	Sender    *string `help:"Sender's name in mails."`
	Language  *string `help:"Language of mails and text messages, such as en or de."`
	ReplyTo   *string `help:"E-mail address that answers to the mails go to."`
	Notify    *string `help:"E-mail address that is told of declines, failed invitations and sealing that is stuck."`
}

// Run changes the settings.
func (t tenantSet) Run(ctx context.Context) error {
	return t.withApp(ctx, t.App, func(s *store.Store, app *models.App) error {
		own, _, err := s.Settings(ctx, app.ID, t.Tenant)
		if err != nil {
			return err
		}
		change := models.Settings{
			AppID: app.ID, TenantID: t.Tenant, DefaultExpiryDays: t.Expiry, ReminderIntervalHours: t.Reminders, RetentionDays: t.Retention,
			SenderName: t.Sender, Language: t.Language, ReplyTo: t.ReplyTo, NotifyEmail: t.Notify,
		}
		if t.Origin != nil {
			origin := models.Origin(*t.Origin)
			change.FieldOrigin = &origin
		}
		return s.SaveSettings(ctx, change.Over(own))
	})
}

type tenantShow struct{ tenantOf }

// Run shows the settings.
func (t tenantShow) Run(ctx context.Context) error {
	return t.withApp(ctx, t.App, func(s *store.Store, app *models.App) error {
		own, effective, err := s.Settings(ctx, app.ID, t.Tenant)
		if err != nil {
			return err
		}
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]models.Settings{"own": own, "withTheApps": effective})
	})
}
