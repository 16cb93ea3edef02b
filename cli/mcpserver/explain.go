package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

// explanation describes what an envelope is waiting for, and its problems.
type explanation struct {
	ID         uuid.UUID     `json:"id"`
	Subject    string        `json:"subject"`
	Status     string        `json:"status"`
	Stuck      bool          `json:"stuck"` // whether there are problems
	WaitingFor []string      `json:"waitingFor,omitempty"`
	Problems   []string      `json:"problems,omitempty"`
	Workflow   *workflowView `json:"workflow,omitempty"`
	Page       string        `json:"page"`
}

type workflowView struct {
	Step         string     `json:"step"`
	Deadline     *time.Time `json:"deadline,omitempty"`
	NextReminder *time.Time `json:"nextReminder,omitempty"`
}

const (
	maxProblems       = 20
	maxFailedDelivery = 3
)

func (x *explanation) waits(format string, args ...any) {
	if len(x.WaitingFor) < maxProblems {
		x.WaitingFor = append(x.WaitingFor, fmt.Sprintf(format, args...))
	}
}

func (x *explanation) problem(format string, args ...any) {
	x.Stuck = true
	if len(x.Problems) < maxProblems {
		x.Problems = append(x.Problems, fmt.Sprintf(format, args...))
	}
}

func (s *server) explainEnvelope(ctx context.Context, _ *mcp.CallToolRequest, in idInput) (any, error) {
	id, err := parseID("envelope_id", in.EnvelopeID)
	if err != nil {
		return nil, err
	}
	e, err := countersign.Answer(s.Client.API.GetConsoleEnvelopeWithResponse(ctx, id))
	if err != nil {
		return nil, err
	}
	if e.TenantID != s.Tenant {
		return nil, fmt.Errorf("envelope %s not found in tenant %s", id, s.Tenant)
	}
	x := &explanation{ID: e.ID, Subject: cleanPtr(e.Subject), Status: string(e.Status), Page: s.page(e.ID)}
	switch e.Status {
	case api.EnvelopeStatusDraft:
		x.waits("the envelope is a draft that has not been sent")
		if len(e.Documents) == 0 {
			x.problem("the draft has no document")
		}
	case api.EnvelopeStatusSent, api.EnvelopeStatusInProgress:
		explainSigners(x, e)
		if err := s.explainWorkflow(ctx, x); err != nil {
			return nil, err
		}
	case api.EnvelopeStatusCompleted, api.EnvelopeStatusDeclined, api.EnvelopeStatusVoided, api.EnvelopeStatusExpired:
		x.waits("nothing: the envelope is %s", e.Status)
	}
	if p := e.SealingProblem; p != nil {
		x.problem("everyone has signed, but sealing has failed since %s: %s (%s); sealing is retried", day(p.Since), clean(p.Message, maxText), p.Code)
	}
	explainMails(x, e)
	return x, s.explainDeliveries(ctx, x, e.Deliveries)
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

func who(g *api.Signer) string {
	return fmt.Sprintf("%s <%s>", clean(g.Name, maxText), clean(g.Email, maxText))
}

func explainSigners(x *explanation, e *api.ConsoleEnvelope) {
	open := 0
	for i := range e.Signers {
		switch g := &e.Signers[i]; g.Status {
		case api.SignerStatusSent:
			open++
			x.waits("%s was invited and has not opened the link", who(g))
		case api.SignerStatusViewed:
			open++
			x.waits("%s has opened the link but has not signed", who(g))
		case api.SignerStatusPending:
			open++
			x.waits("%s signs later, in group %d", who(g), g.RoutingOrder)
		case api.SignerStatusSigned, api.SignerStatusDeclined:
		}
	}
	if open == 0 {
		x.waits("everyone has signed: the documents are being sealed")
	}
}

// explainMails adds the signers whose last email could not be delivered.
func explainMails(x *explanation, e *api.ConsoleEnvelope) {
	last := make(map[uuid.UUID]*api.Mail)
	for i := range e.Mails {
		m := &e.Mails[i]
		if old := last[m.SignerID]; old == nil || !m.CreatedAt.Before(old.CreatedAt) {
			last[m.SignerID] = m
		}
	}
	for i := range e.Signers {
		g := &e.Signers[i]
		m := last[g.ID]
		switch {
		case m == nil || m.SentAt != nil:
		case m.FailedAt != nil:
			x.problem("the email %q to %s permanently failed: %s; correct the address", m.Kind, who(g), clean(m.Error, maxText))
		case m.Attempts > 0 && m.Error != "":
			x.problem("the email %q to %s could not be sent after %d attempts: %s; sending will be retried", m.Kind, who(g), m.Attempts, clean(m.Error, maxText))
		default:
			x.waits("the email %q to %s is being sent", m.Kind, who(g))
		}
	}
}

// explainWorkflow adds the state of the workflow. If Temporal does not respond, explainWorkflow adds a problem instead
// of returning an error.
func (s *server) explainWorkflow(ctx context.Context, x *explanation) error {
	p, err := countersign.Answer(s.Client.API.GetEnvelopeProgressWithResponse(ctx, x.ID))
	if rejected, ok := errors.AsType[*countersign.Error](err); ok && rejected.Status == 409 {
		x.problem("the envelope's workflow does not respond: %s", clean(rejected.Message, maxText))
		return nil
	}
	if err != nil {
		return err
	}
	if p.AnsweredBy == api.Database {
		x.problem("the envelope's workflow does not respond; this answer is based on the database")
	}
	x.Workflow = &workflowView{Step: clean(p.Step, maxText), Deadline: p.Deadline, NextReminder: p.NextReminder}
	return nil
}

// explainDeliveries adds the failed webhook deliveries. It omits response bodies, and includes only the host of an
// endpoint's URL, because the path may contain a secret.
func (s *server) explainDeliveries(ctx context.Context, x *explanation, all []api.Delivery) error {
	failed := 0
	for i := range all {
		d := &all[i]
		if d.Status == api.DeliveryStatusDelivered || d.Status == api.DeliveryStatusPending && d.Attempts == 0 {
			continue
		}
		if failed++; failed > maxFailedDelivery {
			continue
		}
		reason := "no response"
		detail, err := countersign.Answer(s.Client.API.GetDeliveryWithResponse(ctx, d.ID))
		if err != nil {
			return err
		}
		if log := detail.AttemptLog; len(log) > 0 && log[len(log)-1].Status != nil {
			reason = fmt.Sprintf("the last response was %d", *log[len(log)-1].Status)
		}
		again := "the delivery permanently failed; resend it in the console"
		if d.Status == api.DeliveryStatusPending {
			again = "the delivery will be retried"
		}
		x.problem("the webhook %s to %s could not be delivered after %d attempts: %s; %s", clean(d.Event, maxText), host(d.WebhookURL), d.Attempts, reason, again)
	}
	if failed > maxFailedDelivery {
		x.problem("%d more webhook deliveries failed", failed-maxFailedDelivery)
	}
	return nil
}

func host(address *string) string {
	if address == nil {
		return "a deleted endpoint"
	}
	u, err := url.Parse(*address)
	if err != nil || u.Host == "" {
		return "an endpoint"
	}
	return clean(u.Host, maxText)
}
