package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"countersign/cli/terminal"
	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type bulkCommand struct {
	Send   bulkSendCommand   `cmd:"" help:"Send an envelope of a template for each row of a table."`
	Status bulkStatusCommand `cmd:"" help:"Show the progress of a bulk send."`
	Rows   bulkRowsCommand   `cmd:"" help:"Print the rows of a bulk send as CSV."`
	Pause  bulkPauseCommand  `cmd:"" help:"Pause a bulk send."`
	Resume bulkResumeCommand `cmd:"" help:"Resume a paused bulk send."`
	Cancel bulkCancelCommand `cmd:"" help:"Cancel a bulk send; envelopes already sent are kept."`
	Retry  bulkRetryCommand  `cmd:"" help:"Retry the failed rows."`
}

type bulkSendCommand struct {
	remote

	Rows      string        `arg:"" help:"CSV in UTF-8, with a column for each of externalId, ROLE.name, ROLE.email, value.FIELD and variable.NAME." type:"existingfile"`
	Template  string        `help:"Id or externalId of the template." required:""`
	Version   int           `help:"Version of the template. Default: the newest." placeholder:"N"`
	Name      string        `help:"Name of the bulk send. Default: the name of the file."`
	PerMinute int           `help:"Maximum number of rows sent per minute." placeholder:"N"`
	DryRun    bool          `help:"Validate all rows without sending."`
	Wait      bool          `help:"Wait until all rows are sent or have failed."`
	Timeout   time.Duration `help:"Maximum time to wait." default:"24h"`
}

// maxRows is the maximum size of the table, in bytes. The service has the same limit.
const maxRows = 32 << 20

// Run checks the rows or sends them.
func (b bulkSendCommand) Run(ctx context.Context) error {
	c, tenant, err := b.clientAndTenant()
	if err != nil {
		return err
	}
	rows, err := readFile(b.Rows, maxRows)
	if err != nil {
		return err
	}
	t, _, err := findTemplate(ctx, c, tenant, b.Template, b.Version)
	if err != nil {
		return err
	}
	params := &api.CreateBulkSendParams{
		TemplateID: &t.ID, TemplateVersion: &t.Version, TenantID: &tenant, DryRun: &b.DryRun,
		Name: countersign.Ptr(cmp.Or(b.Name, filepath.Base(b.Rows))), PerMinute: countersign.Optional(max(b.PerMinute, 0)),
	}
	res, err := c.API.CreateBulkSendWithBodyWithResponse(ctx, params, "text/csv", bytes.NewReader(rows))
	if err != nil {
		return b.printFaults(err)
	}
	switch {
	case res.JSON200 != nil:
		return b.print(res.JSON200, "%s without errors; nothing was sent", rowCount(res.JSON200.Total))
	case res.JSON202 == nil:
		return errNoJSON
	}
	accepted := res.JSON202
	if !b.Wait {
		return b.print(accepted, "%s  %s  %s", accepted.ID, accepted.Status, rowCount(accepted.Total))
	}
	terminal.Inform("%s  %s  %s", accepted.ID, accepted.Status, rowCount(accepted.Total)) // so that a user who interrupts the wait knows the ID
	waiting, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	s, err := waitForBulk(waiting, c, accepted.ID)
	if err != nil {
		err = waitError(waiting, err, "the bulk send "+accepted.ID.String())
		if b.JSON {
			err = cmp.Or(b.printLast(s, accepted), err)
		}
		return err
	}
	return b.end(s)
}

// printLast prints the last known state of a bulk send if waiting for the bulk send has failed.
func (b bulkSendCommand) printLast(s *api.BulkSend, accepted *api.BulkSendAccepted) error {
	if s == nil {
		return terminal.PrintJSON(accepted)
	}
	return terminal.PrintJSON(s)
}

// end prints the result. It returns an error if any rows failed.
func (b bulkSendCommand) end(s *api.BulkSend) error {
	err := b.printBulk(s)
	if err == nil && s.Counts.Failed > 0 {
		err = codedError{fmt.Errorf("%s failed: see \"countersign bulk rows %s --status failed\"", rowCount(s.Counts.Failed), s.ID), exitRejected}
	}
	return err
}

// printFaults prints the problems of the rows, one per line.
func (b bulkSendCommand) printFaults(err error) error {
	rejected, ok := errors.AsType[*countersign.Error](err)
	if !ok || rejected.Details["faults"] == nil {
		return coded(err)
	}
	if b.JSON {
		return cmp.Or(terminal.PrintJSON(rejected.Details), coded(err))
	}
	var details struct {
		FaultCount int
		Faults     []struct {
			Row             int
			Column, Message string
		}
	}
	if raw, marshalErr := json.Marshal(rejected.Details); marshalErr != nil || json.Unmarshal(raw, &details) != nil {
		return coded(err)
	}
	for _, f := range details.Faults {
		_, _ = fmt.Fprintf(os.Stderr, "row %d, %s: %s\n", f.Row, plain(&f.Column), plain(&f.Message)) // informational only
	}
	if more := details.FaultCount - len(details.Faults); more > 0 {
		_, _ = fmt.Fprintf(os.Stderr, "and %d more\n", more)
	}
	return coded(err)
}

// bulkPoll is the interval at which the state of a bulk send is requested.
const bulkPoll = 2 * time.Second

// waitForBulk waits until no rows are pending. On a terminal, it shows the progress.
func waitForBulk(ctx context.Context, c *countersign.Client, id uuid.UUID) (*api.BulkSend, error) {
	p := &terminal.Bar{Visible: terminal.Is(os.Stderr)}
	defer p.End()
	for {
		s, err := countersign.Answer(c.API.GetBulkSendWithResponse(ctx, id))
		if err != nil {
			return nil, err
		}
		p.Show(int64(s.Total-s.Counts.Pending), int64(s.Total))
		if s.Status == "completed" || s.Status == "cancelled" {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(bulkPoll):
		}
	}
}

func (r remote) printBulk(s *api.BulkSend) error {
	return r.print(s, "%s  %s  %d sent, %d failed, %d pending, %d cancelled  %s", s.ID, s.Status, s.Counts.Sent, s.Counts.Failed, s.Counts.Pending, s.Counts.Cancelled, plain(&s.Name))
}

// remoteBulk contains the arguments shared by commands for a single bulk send.
type remoteBulk struct {
	remote

	ID uuid.UUID `arg:"" help:"Id of the bulk send."`
}

type bulkRowsCommand struct {
	remoteBulk

	Status string `help:"pending, sent, failed or cancelled." placeholder:"STATUS"`
}

// Run prints the rows. It prints the complete table as CSV, or one row per line as JSON.
func (b bulkRowsCommand) Run(ctx context.Context) error {
	c, _, err := b.client()
	if err != nil {
		return err
	}
	status := api.BulkRowStatus(b.Status)
	if !b.JSON {
		params := &api.ListBulkSendRowsParams{Status: countersign.Optional(status)}
		res, err := c.API.ListBulkSendRowsWithResponse(ctx, b.ID, params, func(_ context.Context, req *http.Request) error {
			req.Header.Set("Accept", "text/csv")
			return nil
		})
		if err != nil {
			return coded(err)
		}
		_, err = os.Stdout.Write(res.Body)
		return err
	}
	for row, err := range c.BulkRows(ctx, b.ID, status) {
		if err != nil {
			return coded(err)
		}
		if err := terminal.PrintJSON(row); err != nil {
			return err
		}
	}
	return nil
}

// show sends a request and prints the resulting state of the bulk send.
func (b remoteBulk) show(call func(c *countersign.Client) (*api.BulkSend, error)) error {
	c, _, err := b.client()
	if err != nil {
		return err
	}
	s, err := call(c)
	if err != nil {
		return coded(err)
	}
	return b.printBulk(s)
}

type (
	bulkStatusCommand struct{ remoteBulk }
	bulkPauseCommand  struct{ remoteBulk }
	bulkResumeCommand struct{ remoteBulk }
	bulkCancelCommand struct{ remoteBulk }
	bulkRetryCommand  struct{ remoteBulk }
)

// Run prints the counts.
func (b bulkStatusCommand) Run(ctx context.Context) error {
	return b.show(func(c *countersign.Client) (*api.BulkSend, error) {
		return countersign.Answer(c.API.GetBulkSendWithResponse(ctx, b.ID))
	})
}

// Run pauses a bulk send.
func (b bulkPauseCommand) Run(ctx context.Context) error {
	return b.show(func(c *countersign.Client) (*api.BulkSend, error) {
		return countersign.Answer(c.API.PauseBulkSendWithResponse(ctx, b.ID, nil))
	})
}

// Run resumes a bulk send.
func (b bulkResumeCommand) Run(ctx context.Context) error {
	return b.show(func(c *countersign.Client) (*api.BulkSend, error) {
		return countersign.Answer(c.API.ResumeBulkSendWithResponse(ctx, b.ID, nil))
	})
}

// Run cancels a bulk send.
func (b bulkCancelCommand) Run(ctx context.Context) error {
	return b.show(func(c *countersign.Client) (*api.BulkSend, error) {
		return countersign.Answer(c.API.CancelBulkSendWithResponse(ctx, b.ID, nil))
	})
}

// Run sends failed rows again.
func (b bulkRetryCommand) Run(ctx context.Context) error {
	return b.show(func(c *countersign.Client) (*api.BulkSend, error) {
		return countersign.Answer(c.API.RetryBulkSendWithResponse(ctx, b.ID, nil))
	})
}

// rowCount returns a count such as "1 row" or "2 rows".
func rowCount(n int) string {
	if n == 1 {
		return "1 row"
	}
	return strconv.Itoa(n) + " rows"
}
