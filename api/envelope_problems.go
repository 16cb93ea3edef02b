package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"countersign/models"
	"countersign/store"
	"countersign/temporal"
)

// Limits on lists of problems.
const (
	problemLimit              = 50  // maximum number of entries in each list
	maxCheckedEnvelopes       = 100 // newest open envelopes whose workflows are checked
	concurrentWorkflowLookups = 16  // concurrent checks
	minEnvelopeAge            = time.Minute
)

// workflowLookupTimeout is the time limit for checking the workflows of all envelopes in a list.
const workflowLookupTimeout = 3 * time.Second

// The states of workflows in lists of problems.
const (
	workflowRunning = "running"
	workflowMissing = "missing"
	workflowUnknown = "unknown" // Temporal did not respond
)

// The kinds of envelope problems.
const (
	problemLost          = "lost"
	problemOverdue       = "overdue"
	problemSealing       = "sealing"
	problemSealingFailed = "sealing_failed"
)

type envelopeProblemView struct {
	EnvelopeID  uuid.UUID              `json:"envelopeId"`
	TenantID    string                 `json:"tenantId"`
	Subject     *string                `json:"subject"`
	Status      models.Status          `json:"status"`
	Problem     string                 `json:"problem"`
	Since       *time.Time             `json:"since"`
	Code        *models.SealingProblem `json:"code"`
	Detail      string                 `json:"detail"`
	Workflow    string                 `json:"workflow"`
	WorkflowURL *string                `json:"workflowUrl"`
}

type mailProblemView struct {
	undeliveredEmailView

	EnvelopeID uuid.UUID `json:"envelopeId"`
	TenantID   string    `json:"tenantId"`
	Subject    *string   `json:"subject"`
	SignerName string    `json:"signerName"`
}

type deliveryProblemView struct {
	undeliveredView

	NextAttemptAt *time.Time   `json:"nextAttemptAt"` // null if there will be no automatic attempt
	LastAttempt   *attemptView `json:"lastAttempt"`   // null if there has been no attempt
}

// listProblems lists envelopes, emails and deliveries that are stuck or need attention.
func (s *envelopeHandler) listProblems(c *gin.Context, app caller) error {
	ctx := c.Request.Context()
	of := store.ProblemFilter{App: app.ID, Tenants: app.Tenants, Limit: problemLimit}
	envelopes, err := s.envelopeProblems(ctx, of)
	if err != nil {
		return err
	}
	mails, err := s.store.MailProblems(ctx, of)
	if err != nil {
		return err
	}
	deliveries, err := s.deliveryProblems(ctx, app)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, gin.H{"envelopes": envelopes, "mails": views(mails, viewMailProblem), "deliveries": deliveries})
}

// envelopeProblems lists stuck envelopes, and recent open envelopes that have no workflow.
func (s *envelopeHandler) envelopeProblems(ctx context.Context, of store.ProblemFilter) ([]envelopeProblemView, error) {
	known, err := s.store.EnvelopeProblems(ctx, of)
	if err != nil {
		return nil, err
	}
	open := of
	open.Limit = maxCheckedEnvelopes
	newest, err := s.store.NewestOpen(ctx, open, s.now().Add(-minEnvelopeAge))
	if err != nil {
		return nil, err
	}
	newest = slices.DeleteFunc(newest, func(e store.EnvelopeProblem) bool {
		return slices.ContainsFunc(known, func(k store.EnvelopeProblem) bool { return k.ID == e.ID })
	})
	workflows := s.lookUpWorkflows(ctx, append(slices.Clone(known), newest...))
	out := make([]envelopeProblemView, 0, len(known))
	for _, e := range known {
		out = append(out, s.viewEnvelopeProblem(e, workflows[e.ID]))
	}
	for _, e := range newest {
		if workflows[e.ID] == workflowMissing && len(out) < of.Limit {
			v := s.viewEnvelopeProblem(e, workflowMissing)
			v.Problem, v.Since = problemLost, nil // the time of the failure is unknown
			out = append(out, v)
		}
	}
	return out, nil
}

// lookUpWorkflows returns the state of each envelope's workflow. It stops after the first failure, because Temporal is
// then not responding.
func (s *envelopeHandler) lookUpWorkflows(ctx context.Context, of []store.EnvelopeProblem) map[uuid.UUID]string {
	ctx, cancel := context.WithTimeout(ctx, workflowLookupTimeout)
	defer cancel()
	var looks errgroup.Group
	looks.SetLimit(concurrentWorkflowLookups)
	states := make([]string, len(of))
	var down atomic.Bool
	for i, e := range of {
		looks.Go(func() error {
			states[i] = workflowUnknown
			if down.Load() {
				return nil
			}
			running, err := s.workflows.Running(ctx, e.ID)
			switch {
			case err != nil:
				down.Store(true)
				s.log.WarnContext(ctx, "workflow lookup failed", "envelope", e.ID, "error", err)
			case running:
				states[i] = workflowRunning
			default:
				states[i] = workflowMissing
			}
			return nil
		})
	}
	_ = looks.Wait() // the functions return no errors
	out := make(map[uuid.UUID]string, len(of))
	for i, e := range of {
		out[e.ID] = states[i]
	}
	return out
}

func (s *envelopeHandler) viewEnvelopeProblem(e store.EnvelopeProblem, workflow string) envelopeProblemView {
	v := envelopeProblemView{
		EnvelopeID: e.ID, TenantID: e.TenantID, Subject: e.Subject, Status: e.Status.Public(), Problem: problemOverdue,
		Since: new(e.Since.UTC()), Workflow: workflow,
	}
	switch {
	case e.SealingProblem != nil:
		v.Problem, v.Code, v.Detail = problemSealingFailed, e.SealingProblem, e.SealingProblem.Message()
	case e.Status == models.StatusSealing:
		v.Problem = problemSealing
	}
	if s.workflowsURL != "" && workflow == workflowRunning {
		v.WorkflowURL = new(s.workflowsURL + "/" + url.PathEscape(temporal.EnvelopeWorkflowID(e.ID)))
	}
	return v
}

func viewMailProblem(m *store.MailProblem) mailProblemView {
	return mailProblemView{viewUndeliveredEmail(&m.Mail), m.EnvelopeID, m.TenantID, m.Subject, m.SignerName}
}

func (s *envelopeHandler) deliveryProblems(ctx context.Context, app caller) ([]deliveryProblemView, error) {
	found, err := s.store.DeliveryProblems(ctx, app.ID, app.Tenants, problemLimit)
	if err != nil {
		return nil, err
	}
	deliveries := make([]models.Delivery, len(found))
	for i, d := range found {
		deliveries[i] = d.Delivery
	}
	names, err := s.store.DeliveryContext(ctx, app.ID, deliveries)
	if err != nil {
		return nil, err
	}
	out := make([]deliveryProblemView, len(found))
	for i, d := range found {
		out[i] = deliveryProblemView{undeliveredView: viewDeliveryIn(names)(&d.Delivery).undeliveredView, NextAttemptAt: s.nextAttempt(d)}
		if d.Last != nil {
			out[i].LastAttempt = new(viewAttempt(d.Last))
		}
	}
	return out, nil
}

// nextAttempt returns the time of the next delivery attempt, or nil if there is none. Each attempt records the time of
// the next one. If there has been no attempt since the last resend, the delivery schedule determines the time.
func (s *envelopeHandler) nextAttempt(d store.DeliveryProblem) *time.Time {
	switch {
	case d.Status != models.DeliveryPending:
		return nil
	case d.Last != nil && d.RunAttempts > 0:
		return utcPtr(d.Last.NextAt)
	}
	return new(d.CreatedAt.Add(s.deliveryDelays[0]).UTC())
}

var (
	errWorkflowRuns    = models.Reject(models.KindConflict, "workflow_running", "The envelope's workflow is running; there is nothing to restart.")
	errWorkflowUnknown = &models.Error{
		Kind: models.KindUnavailable, Code: "temporal_unavailable", RetryAfter: 10 * time.Second,
		Message: "Temporal does not respond, so the state of the envelope's workflow is unknown.",
	}
)

// restartWorkflow starts an envelope's workflow unless it is running, as the reconcile schedule does.
func (s *envelopeHandler) restartWorkflow(c *gin.Context, app caller, e *models.Envelope) error {
	if err := e.CanRestart(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), workflowLookupTimeout)
	defer cancel()
	running, err := s.workflows.Running(ctx, e.ID)
	if err != nil {
		s.log.WarnContext(ctx, "workflow lookup failed", "envelope", e.ID, "error", err)
		return errWorkflowUnknown
	}
	if running {
		return errWorkflowRuns
	}
	err = command(s.subject, c, func(st envelopeStore) (*models.Envelope, error) {
		return st.RestartWorkflow(c.Request.Context(), app.ID, e.ID)
	}, asJSON(http.StatusAccepted, func(e *models.Envelope) gin.H { return gin.H{"envelopeId": e.ID} }))
	if err == nil {
		s.logSecurityEvent(c, "workflow restarted", "envelope", e.ID, "by", app.actor())
	}
	return err
}
