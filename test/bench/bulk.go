package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/models"
)

// Parameters of measureBulk. The number of rows is a command-line option.
const (
	bulkLimit      = 20 * time.Minute
	maxSingles     = 2000 // maximum number of single sends for the comparison
	bulkProbes     = 60   // number of single envelopes of each app, both during a bulk send and without one
	bulkSample     = 20   // number of bulk send rows whose stages are read
	probeInterval  = 300 * time.Millisecond
	bulkLook       = 100 * time.Millisecond
	bulkSendsRatio = 0.8
	bulkDelayRatio = 1.5
)

// measureBulk compares a bulk send with single sends. It also measures how long the invitation of a single envelope
// takes, for the same app and for another one, both with and without a bulk send in progress.
func (w *benchEnv) measureBulk(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bulkLimit)
	defer cancel()
	template, err := w.client.template(ctx, onePage, 2)
	if err != nil {
		return err
	}
	if err := w.bulkRate(ctx, template); err != nil {
		return err
	}
	return w.bulkDelay(ctx, template)
}

// bulkRate measures a bulk send, as well as single sends before and after it. Each measurement ends with the last
// invitation.
func (w *benchEnv) bulkRate(ctx context.Context, template string) error {
	singles := min(w.rows, maxSingles) / 2
	single := func(ctx context.Context) error {
		return atOnce(ctx, singles, func(ctx context.Context, _ int) error { return w.client.sendTemplate(ctx, template) })
	}
	_, err := w.untilInvited(ctx, 2*parallel, func(ctx context.Context) error { // warm up connections and caches
		return atOnce(ctx, 2*parallel, func(ctx context.Context, _ int) error { return w.client.sendTemplate(ctx, template) })
	})
	if err != nil {
		return err
	}
	invited1, err := w.untilInvited(ctx, singles, single)
	if err != nil {
		return err
	}
	use, err := w.watch(ctx)
	if err != nil {
		return err
	}
	invited, err := w.untilInvited(ctx, w.rows, func(ctx context.Context) error {
		id, err := w.client.bulkSend(ctx, template, w.rows)
		if err != nil {
			return err
		}
		return w.client.awaitBulk(ctx, id, w.rows)
	})
	use.stop()
	use.done.Wait()
	if err != nil {
		return err
	}
	invited2, err := w.untilInvited(ctx, singles, single)
	if err != nil {
		return err
	}
	rate := func(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
	bulk, ofSingles := rate(w.rows, invited), rate(2*singles, invited1+invited2)
	report("bulk send of %d rows, until invited     %.1f envelopes per second; %d single sends, %d clients: %.1f; ratio %.2f (goal: at least %.1f)",
		w.rows, bulk, 2*singles, parallel, ofSingles, bulk/ofSingles, bulkSendsRatio)
	if memory := use.memory["worker"]; len(memory) >= 3 {
		third := len(memory) / 3
		report("worker's own memory during the send     %d MB, %d MB, %d MB                (medians of each third of %d s)",
			middle(memory[:third])>>20, middle(memory[third:2*third])>>20, middle(memory[2*third:])>>20, len(memory))
	} else {
		report("worker's own memory during the send     not measured: the bulk send took less than three seconds")
	}
	return nil
}

// untilInvited calls do, which sends n envelopes to two signers each. It returns the time until all invitations have
// arrived.
func (w *benchEnv) untilInvited(ctx context.Context, n int, do func(context.Context) error) (time.Duration, error) {
	before, start := w.mails.count(), now()
	if err := do(ctx); err != nil {
		return 0, err
	}
	err := w.mails.await(ctx, before+2*n)
	return now().Sub(start), err
}

// bulkDelay measures single envelopes, both during a bulk send and without one. The bulk send is canceled once enough
// single envelopes have been sent.
func (w *benchEnv) bulkDelay(ctx context.Context, template string) error {
	other, err := w.app(ctx, "Single")
	if err != nil {
		return err
	}
	senders := []probeSender{{name: "another app", client: other}, {name: "the same app", client: w.client}}
	for i := range senders {
		if senders[i].template, err = senders[i].client.template(ctx, onePage, 1); err != nil {
			return err
		}
	}
	goesOn := func(context.Context) (bool, error) { return true, nil }
	// Send half of the single envelopes before the bulk send and half of them after it, because the machine's speed
	// changes.
	quiet, err := w.probes(ctx, "before", bulkProbes/2, senders, goesOn)
	if err != nil {
		return err
	}
	id, err := w.client.bulkSend(ctx, template, w.rows)
	if err != nil {
		return err
	}
	if err := w.client.awaitBulk(ctx, id, 1); err != nil {
		return err
	}
	start := now()
	begin, err := w.client.bulk(ctx, id)
	if err != nil {
		return err
	}
	busy, err := w.probes(ctx, "busy", bulkProbes, senders, func(ctx context.Context) (bool, error) {
		b, err := w.client.bulk(ctx, id)
		return !b.Status.Ended(), err
	})
	if err != nil {
		return err
	}
	b, err := w.client.bulk(ctx, id)
	if err == nil {
		report("the bulk send during the probes         %.1f envelopes per second", float64(b.Counts.Sent-begin.Counts.Sent)/now().Sub(start).Seconds())
	}
	if err == nil && !b.Status.Ended() {
		err = w.client.post(ctx, "/v1/bulk-sends/"+id+"/cancel", anyMap{}, nil)
	}
	if err != nil {
		return err
	}
	rows, err := w.bulkStages(ctx, id, b.Counts.Sent)
	if err != nil {
		return err
	}
	after, err := w.probes(ctx, "after", bulkProbes/2, senders, goesOn)
	if err != nil {
		return err
	}
	for i := range senders {
		quiet[i] = append(quiet[i], after[i]...)
	}
	for i, s := range senders {
		if len(busy[i]) == 0 {
			return errors.New("the bulk send ended before a single envelope was sent: increase -rows")
		}
		q, b := medians(quiet[i]), medians(busy[i])
		report("envelope of %-12s to its email     %s without load, %s during a bulk send: %.2f times (goal: at most %.1f; medians of %d and %d)",
			s.name, ms(q.total), ms(b.total), float64(b.total)/float64(q.total), bulkDelayRatio, len(quiet[i]), len(busy[i]))
		for n, stage := range probeStages {
			report("  %-36s  %s, %s", stage, ms(q.stages[n]), ms(b.stages[n]))
		}
	}
	stages := medians(rows).stages
	report("%d rows from the middle of the bulk send: outbox %s, workflow worker %s, invitation task %s",
		len(rows), ms(stages[0]), ms(stages[1]), ms(stages[2]))
	return nil
}

// bulkStages returns the durations of the stages for some rows from the middle of a bulk send.
func (w *benchEnv) bulkStages(ctx context.Context, id string, sent int) (out []probeTimes, err error) {
	c, err := w.dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var page struct {
		Data []struct {
			EnvelopeID string
			SettledAt  time.Time
		}
		NextCursor *string
	}
	list := fmt.Sprintf("/v1/bulk-sends/%s/rows?status=sent&pageSize=%d", id, bulkSample)
	path := list
	for read := 0; ; path = list + "&cursor=" + *page.NextCursor {
		if err := w.client.do(ctx, "GET", path, "", nil, &page); err != nil {
			return nil, err
		}
		if read += len(page.Data); read > sent/2 {
			break
		}
		if page.NextCursor == nil {
			return nil, fmt.Errorf("bulk send %s: no rows found in the middle of %d rows", id, sent)
		}
	}
	for _, row := range page.Data {
		var p probeTimes
		if p.stages, err = readStages(ctx, c, row.EnvelopeID, row.SettledAt, time.Time{}); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func medians(all []probeTimes) (out probeTimes) {
	pick := func(get func(probeTimes) time.Duration) time.Duration {
		var d []time.Duration
		for _, p := range all {
			d = append(d, get(p))
		}
		return median(d)
	}
	out.total = pick(func(p probeTimes) time.Duration { return p.total })
	for n := range out.stages {
		out.stages[n] = pick(func(p probeTimes) time.Duration { return p.stages[n] })
	}
	return out
}

// bulkState is a bulk send as returned by the API.
type bulkState struct {
	ID     string
	Status models.BulkStatus
	Counts models.BulkCounts
}

// bulkSend starts a bulk send of n rows with two signers each.
func (c *client) bulkSend(ctx context.Context, template string, n int) (id string, err error) {
	signers, _ := benchRoles(2, false)
	row := anyMap{"signers": signers, "variables": anyMap{"name": "Ada"}}
	var b bulkState
	err = c.post(ctx, "/v1/bulk-sends", anyMap{"templateId": template, "tenantId": "bench", "rows": slices.Repeat([]anyMap{row}, n)}, &b)
	return b.ID, err
}

func (c *client) bulk(ctx context.Context, id string) (b bulkState, err error) {
	err = c.do(ctx, "GET", "/v1/bulk-sends/"+id, "", nil, &b)
	return b, err
}

// awaitBulk waits until at least the given number of rows of a bulk send have been sent.
func (c *client) awaitBulk(ctx context.Context, id string, sent int) error {
	for {
		b, err := c.bulk(ctx, id)
		switch {
		case err != nil:
			return err
		case b.Counts.Failed > 0 || b.Status.Ended() && b.Counts.Sent < sent:
			return fmt.Errorf("bulk send %s is %s: %d rows sent, %d failed", id, b.Status, b.Counts.Sent, b.Counts.Failed)
		case b.Counts.Sent >= sent:
			return nil
		}
		if err := pause(ctx, bulkLook); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
