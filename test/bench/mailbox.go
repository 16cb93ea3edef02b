package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emersion/go-smtp"
)

// mailbox counts mails and forgets them. It notes when those came that somebody expects.
type mailbox struct {
	total    atomic.Int64
	burst    atomic.Int64 // of total: to addresses of hangDomain
	hangs    atomic.Bool  // mails to addresses of hangDomain get no answer
	expected sync.Map     // address → chan time.Time
}

func (b *mailbox) serve(l net.Listener) {
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &counting{box: b}, nil }))
	server.Domain = "localhost"
	_ = server.Serve(l) // ends with the run
}

func (b *mailbox) count() int { return int(b.total.Load()) }

// await waits until n mails came in all.
func (b *mailbox) await(ctx context.Context, n int) error { return awaitCount(ctx, &b.total, n) }

func awaitCount(ctx context.Context, counter *atomic.Int64, n int) error {
	for counter.Load() < int64(n) {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d mails came: %w", counter.Load(), n, err)
		}
	}
	return nil
}

// expect returns where the time of the first mail to an address will be found.
func (b *mailbox) expect(address string) <-chan time.Time {
	came := make(chan time.Time, 1)
	b.expected.Store(address, came)
	return came
}

func (b *mailbox) received(address string) {
	b.total.Add(1)
	if came, ok := b.expected.LoadAndDelete(address); ok {
		came.(chan time.Time) <- now()
	}
}

// counting is a session: it has a mail for one recipient at a time.
type counting struct {
	box *mailbox
	to  string
}

// Mail is of smtp.Session.
func (s *counting) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt is of smtp.Session.
func (s *counting) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

// hangDomain is the domain of the addresses whose mails hang on request.
const hangDomain = "@hang.example.com"

// Data is of smtp.Session.
func (s *counting) Data(r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	if strings.HasSuffix(s.to, hangDomain) {
		for s.box.hangs.Load() {
			<-time.After(100 * time.Millisecond)
		}
		s.box.burst.Add(1)
	}
	s.box.received(s.to)
	return nil
}

// Reset is of smtp.Session.
func (s *counting) Reset() { s.to = "" }

// Logout is of smtp.Session.
func (s *counting) Logout() error { return nil }
