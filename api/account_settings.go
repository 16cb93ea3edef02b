package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"countersign/models"
)

type settingsView struct {
	DefaultExpiryDays     *int           `json:"defaultExpiryDays"`
	ReminderIntervalHours *int           `json:"reminderIntervalHours"`
	RetentionDays         *int           `json:"retentionDays"`
	FieldOrigin           *models.Origin `json:"fieldOrigin"`
	SenderName            *string        `json:"senderName"`
	Language              *string        `json:"language"`
	ReplyTo               *string        `json:"replyTo"`
	NotifyEmail           *string        `json:"notifyEmail"`
}

func viewSettings(v models.Settings) settingsView {
	return settingsView{v.DefaultExpiryDays, v.ReminderIntervalHours, v.RetentionDays, v.FieldOrigin, v.SenderName, v.Language, v.ReplyTo, v.NotifyEmail}
}

// settingsOf returns the tenant whose settings are requested. A request without a tenantId refers to the app's
// settings, which a client restricted to certain tenants must not access.
func settingsOf(c *gin.Context, app caller) (string, error) {
	tenant := c.Query("tenantId")
	return tenant, checkTenantQuery(models.Problems{}, app, tenant)
}

func (s *settingsHandler) getSettings(c *gin.Context, app caller) error {
	tenant, err := settingsOf(c, app)
	if err != nil {
		return err
	}
	return s.showSettings(c, app, tenant)
}

// showSettings responds with the tenant's own settings and the effective ones.
func (s *settingsHandler) showSettings(c *gin.Context, app caller, tenant string) error {
	own, effective, err := s.store.Settings(c.Request.Context(), app.ID, tenant)
	if err != nil {
		return err
	}
	effective = effective.WithDefaults(s.serviceDefaults(app))
	return respond(c, http.StatusOK, gin.H{"tenantId": tenant, "own": viewSettings(own), "effective": viewSettings(effective)})
}

// putSettings updates a tenant's settings. A missing member keeps its value, and null resets it to the app's default
// or, if the app has none, to the service's default.
func (s *settingsHandler) putSettings(c *gin.Context, app caller) error {
	tenant, err := settingsOf(c, app)
	if err != nil {
		return err
	}
	o, err := readObject(c, false)
	if err != nil {
		return err
	}
	v := models.Settings{
		AppID: app.ID, TenantID: tenant, DefaultExpiryDays: o.optInt("defaultExpiryDays"), ReminderIntervalHours: o.optInt("reminderIntervalHours"),
		RetentionDays: o.optInt("retentionDays"), SenderName: o.strippedText("senderName"),
		Language: o.optStr("language"), ReplyTo: o.optStr("replyTo"), NotifyEmail: o.optStr("notifyEmail"),
	}
	if text := o.optStr("fieldOrigin"); text != nil {
		v.FieldOrigin = new(models.Origin(*text))
	}
	v.Check(o.p)
	if err := o.err(); err != nil {
		return err
	}
	members := o.present("defaultExpiryDays", "reminderIntervalHours", "retentionDays", "fieldOrigin", "senderName", "language", "replyTo", "notifyEmail")
	if err := s.store.ChangeSettings(c.Request.Context(), v, members); err != nil {
		return err
	}
	return s.showSettings(c, app, tenant)
}

// effectiveSettings returns the effective settings of a tenant of the app.
func (s *settingsHandler) effectiveSettings(c *gin.Context, app caller, tenant string) (models.Settings, error) {
	_, chosen, err := s.store.Settings(c.Request.Context(), app.ID, tenant)
	return chosen.WithDefaults(s.serviceDefaults(app)), err
}

// serviceDefaults returns the settings that apply if neither the tenant nor the app has set them.
func (s *settingsHandler) serviceDefaults(app caller) models.Settings {
	return models.Settings{
		DefaultExpiryDays: &s.defaultExpiryDays, ReminderIntervalHours: new(int(s.reminderInterval / time.Hour)),
		FieldOrigin: new(models.OriginTopLeft), SenderName: &app.Name, Language: new("en"),
	}
}
