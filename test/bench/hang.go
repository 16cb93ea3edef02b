package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

// Parameters of measureHang.
const (
	hangTurns  = 2   // number of rounds in each mode; the modes alternate
	hangProbes = 8   // measurements of each effect in one round
	hangMails  = 500 // invitations that hang
	hangCalls  = 500 // deliveries to the endpoint that hangs
	hangGoal   = 2.0 // maximum ratio to the control
	hangLimit  = 30 * time.Minute
)

// The modes of a round in measureHang: no additional load, a burst of emails and deliveries that are processed
// normally, or a burst that hangs.
const (
	quiet = iota
	afterBurst
	whileHanging
	modes
)

// effect is an operation that must not be delayed by emails and deliveries that hang.
type effect struct {
	name  string
	probe func(context.Context, *client, int) (time.Duration, error)
	took  [modes][]time.Duration
}

// measureHang measures the delays of one app's expirations, voids, seals and invitations while 500 invitations of
// another app hang at the mail server. It also measures deliveries to one endpoint while 500 deliveries to another
// endpoint hang. In the control, the same burst is sent to servers that respond. The probes begin as soon as Temporal
// has received the burst, and alternate between the effects.
func (w *benchEnv) measureHang(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hangLimit)
	defer cancel()
	if err := w.expireSoon(ctx); err != nil {
		return err
	}
	hanging, err := w.app(ctx, "Hanging")
	if err != nil {
		return err
	}
	good, err := newEndpoint(ctx, 0)
	if err != nil {
		return err
	}
	healthy, err := w.client.endpoint(ctx, good.url, api.WebhookEventNameEnvelopeCompleted)
	if err != nil {
		return err
	}
	effects := []*effect{
		{name: "expiry", probe: w.probeExpiry},
		{name: "void", probe: w.probeVoid},
		{name: "seal", probe: w.probeSeal},
		{name: "mail of another app", probe: w.probeMail},
		{name: "delivery to another endpoint", probe: func(ctx context.Context, c *client, _ int) (time.Duration, error) {
			return c.pingOnce(ctx, healthy, good)
		}},
	}
	for turn := range modes * hangTurns {
		mode := turn % modes
		before := int(w.mails.burst.Load())
		w.mails.hangs.Store(mode == whileHanging)
		if mode != quiet {
			if err := w.hang(ctx, hanging, turn, mode == whileHanging); err != nil {
				return err
			}
		}
		for i := range hangProbes {
			for _, e := range effects {
				took, err := e.probe(ctx, w.client, turn*hangProbes+i)
				if err != nil {
					return fmt.Errorf("%s: %w", e.name, err)
				}
				e.took[mode] = append(e.took[mode], took)
			}
		}
		w.mails.hangs.Store(false)
		if mode != quiet { // the next round must begin with empty queues
			start := now()
			if err := awaitCount(ctx, &w.mails.burst, before+hangMails); err != nil {
				return err
			}
			report("%-39s %.1f s from the end of the probes to the last email of the burst", "catching up", now().Sub(start).Seconds())
		}
	}
	for _, e := range effects {
		control, beside := median(e.took[afterBurst]), median(e.took[whileHanging])
		report("%-39s %s alone, %s during a burst, %s during a hanging burst: %.2f times  (goal: at most %.0f; medians of %d)",
			e.name, ms(median(e.took[quiet])), ms(control), ms(beside), float64(beside)/float64(control), hangGoal, len(e.took[whileHanging]))
	}
	return nil
}

// expireTenant is the tenant whose envelopes expire two seconds after they are sent. A database trigger sets their
// deadline, because the API accepts only days.
const expireTenant = "expire"

func (w *benchEnv) expireSoon(ctx context.Context) error {
	db, err := sql.Open("pgx", w.pg)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, `CREATE FUNCTION expire_soon() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.tenant_id = '`+expireTenant+`' AND OLD.sent_at IS NULL AND NEW.sent_at IS NOT NULL THEN
			NEW.expires_at := clock_timestamp() + interval '2 seconds';
		END IF;
		RETURN NEW;
	END $$;
	CREATE TRIGGER expire_soon BEFORE UPDATE ON envelopes FOR EACH ROW EXECUTE FUNCTION expire_soon()`)
	return err
}

// hang sends envelopes to addresses whose emails can hang, and events to an endpoint. It waits until Temporal has
// received all of these emails and events. If hangs is set, the endpoint does not respond within the time limit of the
// measurement.
func (w *benchEnv) hang(ctx context.Context, c *client, turn int, hangs bool) error {
	var after time.Duration
	if hangs {
		after = hangLimit
	}
	at, err := newEndpoint(ctx, after)
	if err != nil {
		return err
	}
	id, err := c.endpoint(ctx, at.url, api.WebhookEventNameEnvelopeCompleted)
	if err != nil {
		return err
	}
	if err := atOnce(ctx, hangCalls, func(ctx context.Context, _ int) error { return c.ping(ctx, id) }); err != nil {
		return err
	}
	err = atOnce(ctx, hangMails, func(ctx context.Context, i int) error {
		_, err := c.sendTo(ctx, "bench", fmt.Sprintf("s%d-%d%s", turn, i, hangDomain))
		return err
	})
	if err != nil {
		return err
	}
	return w.awaitEmptyOutbox(ctx)
}

// sendTo creates an envelope with one signer, and sends it. The envelope belongs to the given tenant.
func (c *client) sendTo(ctx context.Context, tenant, address string) (*envelope, error) {
	e, err := c.draftFor(ctx, tenant, address)
	if err != nil {
		return nil, err
	}
	return c.Send(ctx, e.ID, "")
}

// probeMail returns the time from sending an envelope to the arrival of the invitation.
func (w *benchEnv) probeMail(ctx context.Context, c *client, n int) (time.Duration, error) {
	address := fmt.Sprintf("mail%d@example.com", n)
	came := w.mails.expect(address)
	start := now()
	if _, err := c.sendTo(ctx, "bench", address); err != nil {
		return 0, err
	}
	return since(ctx, start, came)
}

// probeVoid returns the time from voiding an envelope to the arrival of the closing email.
func (w *benchEnv) probeVoid(ctx context.Context, c *client, n int) (time.Duration, error) {
	address := fmt.Sprintf("void%d@example.com", n)
	came := w.mails.expect(address)
	e, err := c.sendTo(ctx, "bench", address)
	if err == nil {
		_, err = since(ctx, now(), came)
	}
	if err != nil {
		return 0, err
	}
	came = w.mails.expect(address)
	start := now()
	if _, err := c.API.VoidEnvelopeWithResponse(ctx, e.ID, nil, api.ReasonRequest{Reason: countersign.Ptr("a benchmark")}); err != nil {
		return 0, err
	}
	return since(ctx, start, came)
}

// probeSeal returns the time from the last signature to the sealed document.
func (w *benchEnv) probeSeal(ctx context.Context, c *client, n int) (time.Duration, error) {
	e, err := c.sendTo(ctx, "bench", fmt.Sprintf("seal%d@example.com", n))
	if err != nil {
		return 0, err
	}
	if err := c.consent(ctx, e, 0); err != nil {
		return 0, err
	}
	if err := c.sign(ctx, e, 0); err != nil {
		return 0, err
	}
	start := now()
	err = w.await(ctx, e)
	return now().Sub(start), err
}

// probeExpiry returns the time from the deadline until the envelope expires.
func (w *benchEnv) probeExpiry(ctx context.Context, c *client, n int) (time.Duration, error) {
	e, err := c.sendTo(ctx, expireTenant, fmt.Sprintf("expire%d@example.com", n))
	if err != nil {
		return 0, err
	}
	for e.Status != api.EnvelopeStatusExpired {
		if err := w.get(ctx, e, firstLook); err != nil {
			return 0, err
		}
	}
	return now().Sub(*e.ExpiresAt), nil
}

func since(ctx context.Context, start time.Time, came <-chan time.Time) (time.Duration, error) {
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case at := <-came:
		return at.Sub(start), nil
	}
}
