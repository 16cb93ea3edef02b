package main

import (
	"context"
	"errors"
	"net/mail"

	"countersign/config"
	"countersign/notify"
)

// mail logs in to the mail server. If an address was given, it also sends a test email.
func (x *doctor) mail(ctx context.Context, cfg config.Config) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	advice := "Check COUNTERSIGN_SMTP_URL: host, port, TLS, user and password. Until the mail server accepts email, invitations are delayed and requests for codes fail."
	if cfg.SMTP().OAuth != (notify.OAuthConfig{}) {
		advice = "Check COUNTERSIGN_SMTP_URL (host, port and mailbox) and the settings COUNTERSIGN_SMTP_OAUTH_…: the application requires permission to send as the mailbox. Until the mail server accepts email, invitations are delayed and requests for codes fail."
	}
	m, err := notify.NewSMTP(cfg.SMTP())
	if err == nil {
		err = m.Check(ctx)
	}
	switch {
	case err != nil:
		x.fail("mail", err, advice)
	case x.mailTo == "":
		x.ok("mail", m.String()+" accepts the login; no email was sent (--mail you@example.com sends one)")
	default:
		x.ok("mail", m.String()+" accepts the login")
		x.sendMail(ctx, cfg, m)
	}
}

// sendMail sends a test email and reports the response of the server.
func (x *doctor) sendMail(ctx context.Context, cfg config.Config, m *notify.SMTP) {
	to, err := mail.ParseAddress(x.mailTo)
	if err != nil {
		x.fail("mail_sent", errors.New("--mail must be an address such as you@example.com"), "Use an address whose email you can read.")
		return
	}
	answer, err := m.Deliver(ctx, notify.Mail{
		To: notify.Address{Name: to.Name, Email: to.Address}, Kind: "test", Subject: "Test email from Countersign",
		Text:      "This email shows that Countersign at " + cfg.BaseURL + " can send email. No action is required.\n",
		MessageID: m.MessageID("doctor", newID().String()),
	})
	if err != nil {
		x.fail("mail_sent", err, "Configure the mail server to accept email from COUNTERSIGN_MAIL_FROM ("+cfg.MailFrom+") to this address.")
		return
	}
	x.ok("mail_sent", "the server responded: "+answer)
}
