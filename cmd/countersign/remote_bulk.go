package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type bulkCommand struct {
	Send   bulkSendCommand   `cmd:"" help:"Send an envelope of a template for each row of a table."`
	Status bulkStatusCommand `cmd:"" help:"Show how far a bulk send is."`
	Rows   bulkRowsCommand   `cmd:"" help:"Print the rows of a bulk send as CSV."`
	Pause  bulkPauseCommand  `cmd:"" help:"Send no more rows for now."`
	Resume bulkResumeCommand `cmd:"" help:"Go on with a bulk send that was paused."`
	Cancel bulkCancelCommand `cmd:"" help:"Send no more rows; what was sent stays."`
	Retry  bulkRetryCommand  `cmd:"" help:"Send the rows again that failed."`
}

type bulkSendCommand struct {
	remote

	Rows      string        `arg:"" help:"CSV in UTF-8, with a column for each of externalId, ROLE.name, ROLE.email, value.FIELD and variable.NAME." type:"existingfile"`
	Template  string        `help:"Id or externalId of the template." required:""`
	Version   int           `help:"Version of the template; the newest unless given." placeholder:"N"`
	Name      string        `help:"Name of the bulk send; the file's unless given."`
	PerMinute int           `help:"How many rows are sent in a minute, at most." placeholder:"N"`
	DryRun    bool          `help:"Check all rows, and send nothing."`
	Wait      bool          `help:"Wait until all rows are sent or have failed."`
	Timeout   time.Duration `help:"How long to wait." default:"24h"`
}

// maxRows bounds the table, as the service does.
const maxRows = 32 << 20

// Run checks the rows, or sends them.
func (b bulkSendCommand) Run(ctx context.Context) error {
	c, l, err := b.client()
	if err != nil {
		return err
	}
	tenant, err := neededTenant(l)
	if err != nil {
		return err
	}
	if st, err := os.Stat(b.Rows); err != nil || st.Size() > maxRows {
		return errors.Join(err, fmt.Errorf("%s has more than %d MB", b.Rows, maxRows>>20))
	}
	rows, err := os.ReadFile(b.Rows)
	if err != nil {
		return err
	}
	t, err := findTemplate(ctx, c, l, b.Template, b.Version)
	if err != nil {
		return err
	}
	params := &api.CreateABulkSendParams{TemplateID: &t.ID, TemplateVersion: &t.Version, TenantID: &tenant, Name: countersign.Ptr(b.name()), DryRun: &b.DryRun}
	if b.PerMinute > 0 {
		params.PerMinute = &b.PerMinute
	}
	res, err := c.API.CreateABulkSendWithBodyWithResponse(ctx, params, "text/csv", bytes.NewReader(rows))
	if err != nil {
		return b.refused(err)
	}
	switch {
	case res.JSON200 != nil:
		if b.JSON {
			return printJSON(res.JSON200)
		}
		return say("%d rows without a fault; nothing was sent", res.JSON200.Total)
	case res.JSON202 == nil:
		return errNoJSON
	}
	accepted := res.JSON202
	if !b.Wait {
		if b.JSON {
			return printJSON(accepted)
		}
		return say("%s  %s  %d rows", accepted.ID, accepted.Status, accepted.Total)
	}
	waiting, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	s, err := waitForBulk(waiting, c, accepted.ID)
	if err != nil {
		return coded(err)
	}
	return b.end(s)
}

func (b bulkSendCommand) name() string {
	name := b.Name
	if name == "" {
		name = filepath.Base(b.Rows)
	}
	return name
}

// end tells how it ended. Rows that failed make it fail.
func (b bulkSendCommand) end(s *api.BulkSend) error {
	err := tellBulk(s, b.JSON)
	if err == nil && s.Counts.Failed > 0 {
		err = codedError{fmt.Errorf("%d rows failed: see \"countersign bulk rows %s --status failed\"", s.Counts.Failed, s.ID), exitRefused}
	}
	return err
}

// refused tells the faults of rows one by one.
func (b bulkSendCommand) refused(err error) error {
	var refused *countersign.Error
	if !errors.As(err, &refused) || refused.Details["faults"] == nil {
		return coded(err)
	}
	if b.JSON {
		if err := printJSON(refused.Details); err != nil {
			return err
		}
		return coded(err)
	}
	var details struct {
		FaultCount int
		Faults     []struct {
			Row             int
			Column, Message string
		}
	}
	if raw, marshalErr := json.Marshal(refused.Details); marshalErr != nil || json.Unmarshal(raw, &details) != nil {
		return coded(err)
	}
	for _, f := range details.Faults {
		_, _ = fmt.Fprintf(os.Stderr, "row %d, %s: %s\n", f.Row, plain(&f.Column), plain(&f.Message)) // only told
	}
	if more := details.FaultCount - len(details.Faults); more > 0 {
		_, _ = fmt.Fprintf(os.Stderr, "and %d more\n", more)
	}
	return coded(err)
}

// bulkPoll is how often a bulk send is looked at.
const bulkPoll = 2 * time.Second

// waitForBulk waits until no row is pending. A terminal shows how far it is.
func waitForBulk(ctx context.Context, c *countersign.Client, id uuid.UUID) (*api.BulkSend, error) {
	p := &bar{shown: isTerminal(os.Stderr), last: -1}
	defer p.end()
	for {
		res, err := c.API.GetABulkSendWithResponse(ctx, id)
		if err != nil {
			return nil, err
		}
		s := res.JSON200
		if s == nil {
			return nil, errNoJSON
		}
		p.show(int64(s.Total-s.Counts.Pending), int64(s.Total))
		if s.Status == "completed" || s.Status == "cancelled" {
			return s, nil
		}
		timer := time.NewTimer(bulkPoll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return s, ctx.Err()
		case <-timer.C:
		}
	}
}

func tellBulk(s *api.BulkSend, asJSON bool) error {
	if asJSON {
		return printJSON(s)
	}
	return say("%s  %s  %d sent, %d failed, %d pending, %d cancelled  %s", s.ID, s.Status, s.Counts.Sent, s.Counts.Failed, s.Counts.Pending, s.Counts.Cancelled, plain(&s.Name))
}

type bulkStatusCommand struct {
	remote

	ID uuid.UUID `arg:"" help:"Id of the bulk send."`
}

// Run shows the counts.
func (b bulkStatusCommand) Run(ctx context.Context) error {
	c, _, err := b.client()
	if err != nil {
		return err
	}
	res, err := c.API.GetABulkSendWithResponse(ctx, b.ID)
	if err != nil {
		return coded(err)
	}
	if res.JSON200 == nil {
		return errNoJSON
	}
	return tellBulk(res.JSON200, b.JSON)
}

type bulkRowsCommand struct {
	remote

	ID     uuid.UUID `arg:"" help:"Id of the bulk send."`
	Status string    `help:"pending, sent, failed or cancelled." placeholder:"STATUS"`
}

// Run prints the rows: as CSV all of the table, or one a line of JSON.
func (b bulkRowsCommand) Run(ctx context.Context) error {
	c, _, err := b.client()
	if err != nil {
		return err
	}
	params := &api.ListTheRowsOfABulkSendParams{}
	if b.Status != "" {
		params.Status = countersign.Ptr(api.BulkRowStatus(b.Status))
	}
	if !b.JSON {
		res, err := c.API.ListTheRowsOfABulkSendWithResponse(ctx, b.ID, params, func(_ context.Context, req *http.Request) error {
			req.Header.Set("Accept", "text/csv")
			return nil
		})
		if err != nil {
			return coded(err)
		}
		_, err = os.Stdout.Write(res.Body)
		return err
	}
	params.PageSize = countersign.Ptr(100)
	for page := 1; ; page++ {
		params.Page = &page
		res, err := c.API.ListTheRowsOfABulkSendWithResponse(ctx, b.ID, params)
		if err != nil {
			return coded(err)
		}
		if res.JSON200 == nil {
			return errNoJSON
		}
		for _, row := range res.JSON200.Data {
			if err := printJSON(row); err != nil {
				return err
			}
		}
		if len(res.JSON200.Data) < *params.PageSize {
			return nil
		}
	}
}

// bulkChange is what the commands that change a bulk send have in common.
type bulkChange struct {
	remote

	ID uuid.UUID `arg:"" help:"Id of the bulk send."`
}

// run makes the change, and tells how the bulk send is afterwards.
func (b bulkChange) run(change func(c *countersign.Client) (*api.BulkSend, error)) error {
	c, _, err := b.client()
	if err != nil {
		return err
	}
	s, err := change(c)
	if err != nil {
		return coded(err)
	}
	if s == nil {
		return errNoJSON
	}
	return tellBulk(s, b.JSON)
}

type (
	bulkPauseCommand  struct{ bulkChange }
	bulkResumeCommand struct{ bulkChange }
	bulkCancelCommand struct{ bulkChange }
	bulkRetryCommand  struct{ bulkChange }
)

// Run pauses a bulk send.
func (b bulkPauseCommand) Run(ctx context.Context) error {
	return b.run(func(c *countersign.Client) (*api.BulkSend, error) {
		res, err := c.API.PauseABulkSendWithResponse(ctx, b.ID, nil)
		if err != nil {
			return nil, err
		}
		return res.JSON200, nil
	})
}

// Run goes on with a bulk send.
func (b bulkResumeCommand) Run(ctx context.Context) error {
	return b.run(func(c *countersign.Client) (*api.BulkSend, error) {
		res, err := c.API.ResumeABulkSendWithResponse(ctx, b.ID, nil)
		if err != nil {
			return nil, err
		}
		return res.JSON200, nil
	})
}

// Run ends a bulk send.
func (b bulkCancelCommand) Run(ctx context.Context) error {
	return b.run(func(c *countersign.Client) (*api.BulkSend, error) {
		res, err := c.API.CancelABulkSendWithResponse(ctx, b.ID, nil)
		if err != nil {
			return nil, err
		}
		return res.JSON200, nil
	})
}

// Run sends failed rows again.
func (b bulkRetryCommand) Run(ctx context.Context) error {
	return b.run(func(c *countersign.Client) (*api.BulkSend, error) {
		res, err := c.API.RetryABulkSendWithResponse(ctx, b.ID, nil)
		if err != nil {
			return nil, err
		}
		return res.JSON200, nil
	})
}
