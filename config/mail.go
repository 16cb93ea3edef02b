package config

import (
	"strings"

	"countersign/models"
	"countersign/notify"
)

// SMTP returns the configuration of the mail client.
func (c Config) SMTP() notify.SMTPConfig {
	return notify.SMTPConfig{URL: string(c.SMTPURL), From: c.MailFrom, OAuth: notify.OAuthConfig{
		TokenURL: c.SMTPOAuthTokenURL, ClientID: c.SMTPOAuthClientID, ClientSecret: string(c.SMTPOAuthClientSecret),
		Scope: c.SMTPOAuthScope, ServiceAccount: string(c.SMTPOAuthServiceAccount),
	}}
}

func (c *Config) checkMailFrom(bad reporter) {
	address := c.MailFrom
	if i := strings.LastIndex(address, "<"); i >= 0 {
		address = strings.TrimSuffix(address[i+1:], ">")
	}
	p := models.Problems{}
	models.CheckEmail(p, "", address)
	if len(p) > 0 {
		bad("MAIL_FROM", `must be an address such as "Countersign <sign@example.com>"`)
	}
}

// checkSMTPOAuth records problems with the settings for authenticating to the mail server with an access token.
func (c *Config) checkSMTPOAuth(bad reporter) {
	if c.SMTP().OAuth == (notify.OAuthConfig{}) {
		return
	}
	if c.SMTPOAuthServiceAccount == "" {
		missing := false
		for _, s := range []struct{ name, v string }{
			{"SMTP_OAUTH_TOKEN_URL", c.SMTPOAuthTokenURL}, {"SMTP_OAUTH_CLIENT_ID", c.SMTPOAuthClientID}, {"SMTP_OAUTH_CLIENT_SECRET", string(c.SMTPOAuthClientSecret)},
		} {
			if s.v == "" {
				missing = true
				bad(s.name, "must be set, because other settings for authenticating to the mail server are set")
			}
		}
		if missing {
			return
		}
	}
	smtp := c.SMTP()
	smtp.From = Default().MailFrom // MailFrom is checked by checkMailFrom
	if _, err := notify.NewSMTP(smtp); err != nil {
		name := "SMTP_OAUTH_TOKEN_URL"
		switch {
		case strings.Contains(err.Error(), "SMTP URL"): // the text of this error is tested in package notify
			name = "SMTP_URL"
		case c.SMTPOAuthServiceAccount != "":
			name = "SMTP_OAUTH_SERVICE_ACCOUNT"
		}
		bad(name, "%s", err)
	}
}
