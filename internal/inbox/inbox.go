// Package inbox is the mailbox of development and tests: an SMTP listener and a
// Twilio-compatible endpoint that keep what they are given, and a page and a
// JSON API to read it. It delivers nothing to anyone.
package inbox

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Inbox keeps the newest messages as files in a directory. It is safe for
// concurrent use.
type Inbox struct{}

// Open reads the messages kept in dir, which is made if it is missing.
func Open(dir string, now func() time.Time) (*Inbox, error) {
	return nil, errors.New("not implemented")
}

// ServeSMTP accepts mails on ln until ctx ends.
func (b *Inbox) ServeSMTP(ctx context.Context, ln net.Listener) error {
	return errors.New("not implemented")
}

// Handler serves the page, the JSON API and the Twilio-compatible endpoint
// POST /2010-04-01/Accounts/{sid}/Messages.json. It expects to be mounted at
// the root of its listener.
func (b *Inbox) Handler() http.Handler { return http.NotFoundHandler() }
