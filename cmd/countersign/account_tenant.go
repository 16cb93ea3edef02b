package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/google/uuid"

	"countersign/models"
	"countersign/store"
)

type tenantCommand struct {
	Set  tenantSet  `cmd:"" help:"Change settings; omitted settings are kept."`
	Show tenantShow `cmd:"" help:"Show settings as JSON."`
}

type tenantOf struct {
	database

	App    uuid.UUID `help:"Client id of the app." required:""`
	Tenant string    `help:"Tenant. Default: the app's own settings, which apply to all of its tenants."`
}

type tenantSet struct {
	tenantOf

	Expiry    *int    `help:"Default deadline of envelopes, in days."`
	Reminders *int    `help:"Hours between reminders; 0 disables them."`
	Retention *int    `help:"Days that sealed files are kept; 0 keeps them forever."`
	Origin    *string `help:"top-left or bottom-left: default origin of y in requests."`
	Sender    *string `help:"Sender's name in emails."`
	Language  *string `help:"Language of emails and text messages, such as en or de."`
	ReplyTo   *string `help:"Reply-to address of emails."`
	Notify    *string `help:"Email address for alerts: declines, failed invitations and sealing problems."`
}

// Run updates the settings of a tenant.
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
		return s.SaveSettings(ctx, change.WithDefaults(own))
	})
}

type tenantShow struct{ tenantOf }

// Run prints the settings of a tenant.
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
