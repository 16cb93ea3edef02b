package countersign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/google/uuid"

	"countersign/clients/go/api"
)

// EventOptions select the events to read.
type EventOptions struct {
	After uuid.UUID // those after this event; uuid.Nil: see Events and Follow
	Since time.Time // for Events without After: omits earlier events
	Name  api.WebhookEventName
}

// EventRecord is an event of the feed.
type EventRecord struct {
	*Event

	Raw json.RawMessage // the body that webhooks are sent
}

// ReadEvents reads the existing events, oldest first. Without After it begins at the oldest event that the service
// keeps. To miss none and get none twice, remember the ID of the last event and pass it the next time.
func (c *Client) ReadEvents(ctx context.Context, o EventOptions) iter.Seq2[EventRecord, error] {
	return func(yield func(EventRecord, error) bool) {
		params := &api.ListEventsParams{Limit: Ptr(500), Cursor: Optional(o.After), Event: Optional(o.Name)}
		if !o.Since.IsZero() && o.After == uuid.Nil {
			params.Since = &o.Since
		}
		for {
			events, page, err := c.eventPage(ctx, params)
			if err != nil {
				yield(EventRecord{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			params.Cursor, params.Since = page.NextCursor, nil
			if !page.HasMore {
				return
			}
		}
	}
}

func (c *Client) eventPage(ctx context.Context, params *api.ListEventsParams) ([]EventRecord, *api.EventPage, error) {
	res, err := c.API.ListEventsWithResponse(ctx, params)
	page, err := Answer(res, err)
	if err != nil {
		return nil, nil, err
	}
	var raw struct{ Data []json.RawMessage }
	if err := json.Unmarshal(res.Body, &raw); err != nil {
		return nil, nil, fmt.Errorf("countersign: read events: %w", err)
	}
	events := make([]EventRecord, len(page.Data))
	for i := range page.Data {
		events[i] = EventRecord{Event: &page.Data[i], Raw: raw.Data[i]}
	}
	return events, page, nil
}

// streamSilence is the maximum silence of a stream: the service sends something every 15 seconds.
const streamSilence = 45 * time.Second

// Follow receives events as they happen; without After, from now on. It reconnects after a break and continues after
// the last event, so that none is missed or repeated. It ends with ctx, and with an *Error of the service, such as
// cursor_expired if the interruption was too long.
func (c *Client) Follow(ctx context.Context, o EventOptions) iter.Seq2[EventRecord, error] {
	return func(yield func(EventRecord, error) bool) {
		if o.After == uuid.Nil {
			future := &api.ListEventsParams{Since: Ptr(c.transport.now().Add(24 * time.Hour))} // selects none, and returns the cursor
			_, page, err := c.eventPage(ctx, future)
			for err == nil && page.HasMore {
				_, page, err = c.eventPage(ctx, future)
			}
			if err != nil {
				yield(EventRecord{}, err)
				return
			}
			if page.NextCursor != nil {
				o.After = *page.NextCursor
			}
		}
		o.Since = time.Time{}
		stopped := errors.New("the caller has enough")
		for attempt := 0; ; attempt++ {
			got := false
			err := c.followOnce(ctx, &o, func(e EventRecord) error {
				got = true
				if !yield(e, nil) {
					return stopped
				}
				return nil
			})
			var refused *Error
			switch {
			case errors.Is(err, stopped):
				return
			case ctx.Err() != nil:
				yield(EventRecord{}, ctx.Err())
				return
			case errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests:
				yield(EventRecord{}, err)
				return
			}
			if got || err == nil {
				attempt = 0
			}
			if sleep(ctx, min(firstBackoff<<min(attempt, 5), maxBackoff)) != nil {
				yield(EventRecord{}, ctx.Err())
				return
			}
		}
	}
}

// followOnce reads the missed events, if no event is known yet, and then one stream to its end. It updates o.After.
func (c *Client) followOnce(ctx context.Context, o *EventOptions, take func(EventRecord) error) error {
	if o.After == uuid.Nil { // there was no event at the beginning: all existing events are new
		for e, err := range c.ReadEvents(ctx, *o) {
			if err != nil {
				return err
			}
			o.After = e.ID
			if err := take(e); err != nil {
				return err
			}
		}
		if o.After == uuid.Nil {
			return sleep(ctx, time.Second)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := c.API.StreamEvents(ctx, &api.StreamEventsParams{LastEventID: &o.After, Event: Optional(o.Name)})
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // read only
	silence := time.AfterFunc(streamSilence, cancel)
	defer silence.Stop()
	return readStream(res.Body, func(id string, data []byte) error {
		silence.Reset(streamSilence)
		var e EventRecord
		if len(data) > 0 {
			e = EventRecord{Event: &Event{}, Raw: data}
			if err := json.Unmarshal(data, e.Event); err != nil {
				return fmt.Errorf("countersign: read an event: %w", err)
			}
		}
		if known, err := uuid.Parse(id); err == nil {
			o.After = known
		}
		if e.Event == nil {
			return nil
		}
		return take(e)
	})
}

// maxStreamLine limits a line of a stream, in bytes.
const maxStreamLine = 4 << 20

// readStream reads server-sent events. take receives the last id and the data of each block; data is empty for a
// comment and for an id without data.
func readStream(r io.Reader, take func(id string, data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxStreamLine)
	var id string
	var data []byte
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(lines.Bytes()) == 0: // the end of a block: only now is it whole
			if err := take(id, data); err != nil {
				return err
			}
			data = nil
		case string(name) == "id":
			id = string(value)
		case string(name) == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
	return lines.Err()
}
