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

// mailbox is a mail server that counts emails and discards them. It records the arrival times of expected emails.
type mailbox struct {
	total    atomic.Int64
	burst    atomic.Int64 // number of emails to addresses at hangDomain; included in total
	hangs    atomic.Bool  // if set, emails to addresses at hangDomain receive no response
	expected sync.Map     // address → chan time.Time
}

func (b *mailbox) serve(l net.Listener) {
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &counting{box: b}, nil }))
	server.Domain = "localhost"
	_ = server.Serve(l) // runs until the process exits
}

func (b *mailbox) count() int { return int(b.total.Load()) }

// await waits until n emails have arrived in total.
func (b *mailbox) await(ctx context.Context, n int) error { return awaitCount(ctx, &b.total, n) }

func awaitCount(ctx context.Context, counter *atomic.Int64, n int) error {
	for counter.Load() < int64(n) {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("only %d of %d emails arrived: %w", counter.Load(), n, err)
		}
	}
	return nil
}

// expect returns a channel that receives the arrival time of the first email to the address.
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

// counting is an SMTP session whose emails have one recipient each.
type counting struct {
	box *mailbox
	to  string
}

// Mail implements smtp.Session.
func (s *counting) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt implements smtp.Session.
func (s *counting) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

// hangDomain is the domain of addresses whose emails can hang.
const hangDomain = "@hang.example.com"

// Data implements smtp.Session.
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

// Reset implements smtp.Session.
func (s *counting) Reset() { s.to = "" }

// Logout implements smtp.Session.
func (s *counting) Logout() error { return nil }
