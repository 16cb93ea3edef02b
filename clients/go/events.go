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

// EventOptions selects the events to read.
type EventOptions struct {
	After uuid.UUID // start after this event; if it is uuid.Nil, see ReadEvents and Follow
	Since time.Time // for ReadEvents without After, the time of the earliest event
	Name  api.WebhookEventName
}

// EventRecord is an event of the feed.
type EventRecord struct {
	*Event

	Raw json.RawMessage // the body as sent to webhooks
}

// ReadEvents reads the existing events, oldest first. Without After, it begins with the oldest stored event. To read
// every event exactly once, store the ID of the last event and pass it as After in the next call.
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

// streamSilence is the maximum interval without data in a stream. The service sends data at least every 15 seconds.
const streamSilence = 45 * time.Second

// Follow receives events as they occur. Without After, it begins with the next event. After an interruption it
// reconnects and continues after the last event, so that no event is missed or repeated. It ends when ctx ends, or
// with an *Error of the service, such as cursor_expired if the interruption was too long.
func (c *Client) Follow(ctx context.Context, o EventOptions) iter.Seq2[EventRecord, error] {
	return func(yield func(EventRecord, error) bool) {
		if o.After == uuid.Nil {
			// This request normally returns no events, only the cursor.
			future := &api.ListEventsParams{Since: Ptr(c.transport.now().Add(24 * time.Hour))}
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
		stopped := errors.New("iteration stopped by the caller")
		for attempt := 0; ; attempt++ {
			got := false
			err := c.followOnce(ctx, &o, func(e EventRecord) error {
				got = true
				if !yield(e, nil) {
					return stopped
				}
				return nil
			})
			var apiErr *Error
			switch {
			case errors.Is(err, stopped):
				return
			case ctx.Err() != nil:
				yield(EventRecord{}, ctx.Err())
				return
			case errors.As(err, &apiErr) && apiErr.Status < 500 && apiErr.Status != http.StatusTooManyRequests:
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

// followOnce reads one stream to its end. If no event is known yet, it first reads the existing events. It updates
// o.After.
func (c *Client) followOnce(ctx context.Context, o *EventOptions, take func(EventRecord) error) error {
	if o.After == uuid.Nil { // there were no events when Follow began, so all existing events are new
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

// maxStreamLine is the maximum length of a line in a stream, in bytes.
const maxStreamLine = 4 << 20

// readStream reads server-sent events. For each block, it calls take with the last ID and the data. The data is empty
// for a comment, or for an ID without data.
func readStream(r io.Reader, take func(id string, data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxStreamLine)
	var id string
	var data []byte
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(lines.Bytes()) == 0: // an empty line ends a block; an incomplete block is ignored
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
