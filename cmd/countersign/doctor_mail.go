package main

import (
	"context"
	"errors"
	"net/mail"

	"countersign/config"
	"countersign/notify"
)

// mail signs in to the mail server, and sends a test email if an address was given.
func (x *doctor) mail(ctx context.Context, cfg config.Config) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	advice := "See COUNTERSIGN_SMTP_URL: host, port, TLS, user and password. Until it works, invitations wait and codes are refused."
	if cfg.SMTP().OAuth != (notify.OAuthConfig{}) {
		advice = "See COUNTERSIGN_SMTP_URL (host, port and mailbox) and the settings COUNTERSIGN_SMTP_OAUTH_…: the application needs the permission to send as the mailbox. Until it works, invitations wait and codes are refused."
	}
	m, err := notify.NewSMTP(cfg.SMTP())
	if err == nil {
		err = m.Check(ctx)
	}
	switch {
	case err != nil:
		x.fail("mail", err, advice)
	case x.mailTo == "":
		x.ok("mail", m.String()+" takes the login; no mail was sent (--mail you@example.com sends one)")
	default:
		x.ok("mail", m.String()+" takes the login")
		x.sendMail(ctx, cfg, m)
	}
}

// sendMail sends a test email and reports the server's response.
func (x *doctor) sendMail(ctx context.Context, cfg config.Config, m *notify.SMTP) {
	to, err := mail.ParseAddress(x.mailTo)
	if err != nil {
		x.fail("mail_sent", errors.New("--mail must be an address such as you@example.com"), "Name an address whose mail you can read.")
		return
	}
	answer, err := m.Deliver(ctx, notify.Mail{
		To: notify.Address{Name: to.Name, Email: to.Address}, Kind: "test", Subject: "Test of Countersign's mail",
		Text:      "This email shows that Countersign at " + cfg.BaseURL + " can send mail. You need not do anything.\n",
		MessageID: m.MessageID("doctor", newID().String()),
	})
	if err != nil {
		x.fail("mail_sent", err, "Let the mail server take mails from COUNTERSIGN_MAIL_FROM ("+cfg.MailFrom+") to this address.")
		return
	}
	x.ok("mail_sent", "the server said: "+answer)
}
