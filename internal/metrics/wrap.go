package metrics

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"countersign/models"
	"countersign/notify"
	"countersign/seal"
	"countersign/webhook"
)

// Mailer sends emails.
type Mailer interface {
	Send(ctx context.Context, m notify.Mail) error
	MessageID(parts ...string) string
}

// Sealer seals documents.
type Sealer interface {
	Seal(ctx context.Context, out *os.File, job seal.Job) (seal.Result, error)
	Renew(ctx context.Context, in io.ReaderAt, size int64, out *os.File) (seal.Result, error)
}

// Deliverer delivers events to webhook endpoints.
type Deliverer interface {
	Deliver(ctx context.Context, req webhook.Request) webhook.Result
}

// Mailer wraps next to count its emails.
func (m *Metrics) Mailer(next Mailer) Mailer {
	if m == nil {
		return next
	}
	// Initialize the counters with zero. Otherwise, Prometheus could not detect the first increase.
	for _, kind := range mailKinds {
		m.mails.WithLabelValues(string(kind), resultFailed)
		m.mails.WithLabelValues(string(kind), resultRejected)
	}
	return mailer{next, m}
}

type mailer struct {
	Mailer

	m *Metrics
}

func (w mailer) Send(ctx context.Context, mail notify.Mail) error {
	err := w.Mailer.Send(ctx, mail)
	result := mailOutcome(err)
	if _, rejected := errors.AsType[*notify.RejectedError](err); rejected && mail.LastAttempt {
		result = resultRejected
	}
	w.m.mails.WithLabelValues(cmp.Or(mail.Kind, "other"), result).Inc()
	return err
}

// Results for an email that the server did not accept.
const (
	resultRejected = "refused" // permanently
	resultFailed   = "failed"  // will be retried
)

// mailKinds lists the kinds of emails that are retried.
var mailKinds = []models.MailKind{
	models.MailInvitation, models.MailReminder, models.MailCopyNotice, models.MailCompleted, models.MailClosed, models.MailDeletion, models.MailHook, models.MailNotice,
	models.MailNotification, models.MailDigest,
}

func mailOutcome(err error) string {
	if err == nil {
		return "sent"
	}
	if _, large := errors.AsType[*notify.TooLargeError](err); large {
		return "too_large"
	}
	if _, rejected := errors.AsType[*notify.PermanentError](err); rejected {
		return resultRejected
	}
	return resultFailed
}

// SMS wraps next to count its text messages. It returns nil if next is nil.
func (m *Metrics) SMS(next notify.SMS) notify.SMS {
	if m == nil || next == nil {
		return next
	}
	return sms{next, m}
}

type sms struct {
	notify.SMS

	m *Metrics
}

func (w sms) Send(ctx context.Context, to, text string) error {
	err := w.SMS.Send(ctx, to, text)
	w.m.mails.WithLabelValues("sms", mailOutcome(err)).Inc()
	return err
}

// Sealer wraps next to measure its seals.
func (m *Metrics) Sealer(next Sealer, now func() time.Time) Sealer {
	if m == nil {
		return next
	}
	return sealer{next, m, now}
}

type sealer struct {
	Sealer

	m   *Metrics
	now func() time.Time
}

func (w sealer) Seal(ctx context.Context, out *os.File, job seal.Job) (seal.Result, error) {
	start, result := w.now(), "sealed"
	res, err := w.Sealer.Seal(ctx, out, job)
	if err != nil {
		result = "failed"
	}
	w.m.seals.WithLabelValues(result).Observe(w.now().Sub(start).Seconds())
	return res, err
}

// Deliverer wraps next to count and measure its deliveries.
func (m *Metrics) Deliverer(next Deliverer) Deliverer {
	if m == nil {
		return next
	}
	return deliverer{next, m}
}

type deliverer struct {
	next Deliverer
	m    *Metrics
}

func (w deliverer) Deliver(ctx context.Context, req webhook.Request) webhook.Result {
	res := w.next.Deliver(ctx, req)
	if res.Wait > 0 { // nothing was sent
		return res
	}
	result := "refused"
	switch {
	case res.OK():
		result = "delivered"
	case res.Gone:
		result = "gone"
	case res.Status == 0:
		result = "unreachable"
	}
	w.m.deliveries.WithLabelValues(result).Inc()
	w.m.deliverySeconds.Observe(res.Latency.Seconds())
	return res
}
