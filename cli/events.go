package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"countersign/cli/terminal"
	countersign "countersign/clients/go"
	"countersign/clients/go/api"
	"countersign/models"
	"countersign/webhook"
)

// forwarder posts events to a local URL. They are signed in the same way as webhooks.
type forwarder struct {
	Forward string `help:"Address to post events to, signed like webhooks, such as http://localhost:3000/hooks." placeholder:"URL"`
	Secret  string `help:"Signing secret. Default: a new one." env:"COUNTERSIGN_WEBHOOK_SECRET" placeholder:"SECRET"`
}

// forwardLimit is the time limit for each request. It is the same as for webhooks.
const forwardLimit = 10 * time.Second

// prepare generates and prints a secret if none was given.
func (f *forwarder) prepare() error {
	if f.Forward == "" || f.Secret != "" {
		return nil
	}
	key := make([]byte, 24)
	_, _ = rand.Read(key) // never returns an error
	f.Secret = "whsec_" + base64.StdEncoding.EncodeToString(key)
	_, err := fmt.Fprintf(os.Stderr, "Signed with %s\n", f.Secret)
	return err
}

// post sends an event and returns the status of the response.
func (f *forwarder) post(ctx context.Context, id uuid.UUID, body []byte) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, forwardLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.Forward, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("--forward: %w", err)
	}
	req.Header = webhook.StandardHeaders(id.String(), now(), body, []byte(f.Secret))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(webhook.SignatureHeader, webhook.Sign([]byte(f.Secret), body))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// deliver prints an event. If a URL was given, it first posts the event there.
func (f *forwarder) deliver(ctx context.Context, e countersign.EventRecord, asJSON bool) error {
	outcome := ""
	if f.Forward != "" {
		status, err := f.post(ctx, e.ID, e.Raw)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			outcome = err.Error()
		default:
			outcome = fmt.Sprintf("%d %s", status, http.StatusText(status))
		}
	}
	if asJSON {
		return terminal.PrintJSON(e.Raw)
	}
	name := string(e.Event.Event)
	return terminal.Printf("%s  %-22s %s  %s", inUTC(e.CreatedAt), plain(&name), e.EnvelopeID, plain(&outcome))
}

// deliverAll delivers events one after another until there are no more.
func (f *forwarder) deliverAll(ctx context.Context, events iter.Seq2[countersign.EventRecord, error], asJSON bool) error {
	if err := f.prepare(); err != nil {
		return err
	}
	for e, err := range events {
		if err != nil {
			return coded(err)
		}
		if err := f.deliver(ctx, e, asJSON); err != nil {
			return err
		}
	}
	return nil
}

type listenCommand struct {
	remote
	forwarder

	Event string `help:"Only this event, such as envelope.completed." placeholder:"NAME"`
	After string `help:"Start after the event with this id instead of now." placeholder:"ID"`
}

// Run receives events until it is interrupted.
func (l *listenCommand) Run(ctx context.Context) error {
	c, _, err := l.client()
	if err != nil {
		return err
	}
	o := countersign.EventOptions{Name: api.WebhookEventName(l.Event)}
	if l.After != "" {
		if o.After, err = uuid.Parse(l.After); err != nil {
			return fmt.Errorf("--after %q is not the id of an event", l.After)
		}
	}
	if err := l.deliverAll(ctx, c.Follow(ctx, o), l.JSON); ctx.Err() == nil { // Ctrl-C is the normal way to stop
		return err
	}
	return nil
}

type replayCommand struct {
	remote
	forwarder

	Since time.Duration `help:"How far to go back." default:"1h"`
	Event string        `help:"Only this event." placeholder:"NAME"`
}

// Run prints the events of the given period, and posts them again.
func (r *replayCommand) Run(ctx context.Context) error {
	c, _, err := r.client()
	if err != nil {
		return err
	}
	if r.Since <= 0 {
		return errors.New("--since must be a time such as 1h")
	}
	events := c.ReadEvents(ctx, countersign.EventOptions{Since: now().Add(-r.Since), Name: api.WebhookEventName(r.Event)})
	return r.deliverAll(ctx, events, r.JSON)
}

type triggerCommand struct {
	forwarder

	Event string `arg:"" help:"Name of the event, such as envelope.completed."`
	JSON  bool   `help:"Print JSON." name:"json"`
}

// Help returns the additional help text of the command.
func (triggerCommand) Help() string {
	return "The event is created locally: no request is sent to a service, and no envelope changes."
}

// Run posts a sample event to a local URL.
func (t *triggerCommand) Run(ctx context.Context) error {
	if t.Forward == "" {
		return errors.New("set the address with --forward")
	}
	id, body, err := sampleEvent(models.EventName(t.Event))
	if err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	status, err := t.post(ctx, id, body)
	if err != nil {
		return codedError{err, exitUnavailable}
	}
	if t.JSON {
		err = terminal.PrintJSON(map[string]any{"status": status, "body": json.RawMessage(body)})
	} else {
		err = terminal.Printf("%d %s", status, http.StatusText(status))
	}
	if err == nil && status >= http.StatusMultipleChoices {
		err = codedError{fmt.Errorf("%s responded with %d", t.Forward, status), exitRejected}
	}
	return err
}

// sampleEvent returns a sample event in the same format as events from the service.
func sampleEvent(name models.EventName) (uuid.UUID, []byte, error) {
	if !name.IsWebhookEvent() {
		return uuid.Nil, nil, fmt.Errorf("%q is not a webhook event; the events are %v", name, models.WebhookEvents)
	}
	at := now().Truncate(time.Microsecond)
	subject := "A sample envelope"
	if name == models.EventBulkCompleted { // this event does not belong to an envelope
		id := uuid.Must(uuid.NewV7())
		body, err := models.BulkCompletedPayload(id, uuid.Must(uuid.NewV7()), models.BulkCounts{Sent: 9, Failed: 1}, at)
		return id, body, err
	}
	signer := &models.Signer{ID: uuid.Must(uuid.NewV7()), Name: "Ada Lovelace", Email: "ada@example.com", RoutingOrder: 1, Status: models.SignerSent}
	e := &models.Envelope{ID: uuid.Must(uuid.NewV7()), TenantID: "trigger", Subject: &subject, Status: models.StatusSent, CreatedAt: at, SentAt: &at, Signers: []*models.Signer{signer}}
	ev := &models.Event{ID: uuid.Must(uuid.NewV7()), EnvelopeID: e.ID, Name: name, Timestamp: at}
	switch name { //nolint:exhaustive // for all other events, the status remains sent
	case models.EventEnvelopeCreated:
		e.Status, e.SentAt, signer.Status = models.StatusDraft, nil, models.SignerPending
	case models.EventEnvelopeCompleted:
		e.Status, e.CompletedAt, signer.Status, signer.SignedAt = models.StatusCompleted, &at, models.SignerSigned, &at
	case models.EventDocumentStamped, models.EventDocumentPurged:
		e.Status, e.CompletedAt, signer.Status, signer.SignedAt = models.StatusCompleted, &at, models.SignerSigned, &at
	case models.EventCopySent:
		e.Status, e.CompletedAt, signer.Status, signer.SignedAt, ev.SignerID = models.StatusCompleted, &at, models.SignerSigned, &at, signer.ID
	case models.EventReminderSent, models.EventInvitationFailed, models.EventLinkIssued, models.EventSignerReplaced, models.EventSignerDelegated:
		ev.SignerID = signer.ID
	case models.EventEnvelopeDeclined:
		e.Status, signer.Status, ev.SignerID, ev.Detail = models.StatusDeclined, models.SignerDeclined, signer.ID, models.Detail{"reason": "No."}
	case models.EventEnvelopeVoided:
		e.Status, e.VoidedAt, ev.Detail = models.StatusVoided, &at, models.Detail{"reason": "A mistake."}
	case models.EventEnvelopeExpired:
		e.Status, e.ExpiresAt = models.StatusExpired, &at
	case models.EventSignerViewed, models.EventSignerOTPFailed:
		e.Status, signer.Status, ev.SignerID = models.StatusInProgress, models.SignerViewed, signer.ID
	case models.EventSignerSigned:
		e.Status, signer.Status, signer.SignedAt, ev.SignerID = models.StatusInProgress, models.SignerSigned, &at, signer.ID
	case models.EventSignerDeclined:
		e.Status, signer.Status, ev.SignerID = models.StatusDeclined, models.SignerDeclined, signer.ID
		ev.Detail = models.Detail{"reason": "No."}
	}
	body, err := e.WebhookPayload(ev, "https://sign.example.com", nil)
	return ev.ID, body, err
}
