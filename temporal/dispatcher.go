package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktemporal "go.temporal.io/sdk/temporal"

	"countersign/internal/tracing"
	"countersign/models"
)

// Outbox is the part of the store that the dispatcher uses.
type Outbox interface {
	Wake() <-chan struct{}
	ClaimOutbox(ctx context.Context, n int, lease time.Duration) ([]models.OutboxRow, error)
	FinishOutbox(ctx context.Context, seq int64) error
	RetryOutbox(ctx context.Context, seq int64, wait time.Duration) error
}

// Dispatcher delivers outbox rows to Temporal. Several dispatchers can run at the same time, because each row is leased
// to one of them, and delivering a row twice is harmless.
type Dispatcher struct {
	Outbox    Outbox
	Client    client.Client
	Namespace string
	// Plan returns the plan for starting an envelope's workflow. If Plan is nil or returns an error, the workflow reads
	// its own plan.
	Plan func(ctx context.Context, in EnvelopeInput) (Plan, error)
	// Delays contains the delay before each attempt of a webhook delivery.
	Delays []time.Duration
	Log    *slog.Logger
	Tracer trace.Tracer // nil to disable tracing
}

const (
	concurrency   = 16               // maximum number of rows delivered concurrently
	leaseDuration = 20 * time.Second // longer than callTimeout; after this time, a row claimed by a crashed process is retried
	callTimeout   = 8 * time.Second
	pollInterval  = time.Second // in case a wake-up is missed
	shortInterval = 20 * time.Millisecond
	maxWait       = 30 * time.Second
)

// Run dispatches rows until ctx ends. It checks the outbox immediately after a commit in this process, and every second
// for rows of other processes. It claims one row for each free slot, so that a hanging call blocks only its own slot
// and row.
func (d *Dispatcher) Run(ctx context.Context) {
	slots := make(chan struct{}, concurrency)
	pause := pollInterval
	for ctx.Err() == nil {
		n, err := d.claim(ctx, slots)
		if err != nil && ctx.Err() == nil {
			d.Log.ErrorContext(ctx, "outbox is not being dispatched", "error", err)
		}
		switch {
		case n > 0:
			pause = shortInterval
			continue
		case err != nil:
			pause = pollInterval
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
			pause = min(2*pause, pollInterval)
		case <-d.Outbox.Wake():
			// The claim can return no rows because another process has locked them. Repeat it soon.
			pause = shortInterval
		}
		timer.Stop()
	}
	for range concurrency { // wait for the running calls
		slots <- struct{}{}
	}
}

// claim waits for a free slot, claims one row for each free slot, and starts delivering the rows. It returns the number
// of claimed rows.
func (d *Dispatcher) claim(ctx context.Context, slots chan struct{}) (int, error) {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	free := 1
	for taken := true; taken; {
		select {
		case slots <- struct{}{}:
			free++
		default:
			taken = false
		}
	}
	rows, err := d.Outbox.ClaimOutbox(ctx, free, leaseDuration)
	for range free - min(len(rows), free) {
		<-slots
	}
	for _, row := range rows {
		go func() {
			defer func() { <-slots }()
			d.dispatch(ctx, row)
		}()
	}
	return len(rows), err
}

func (d *Dispatcher) dispatch(ctx context.Context, row models.OutboxRow) {
	ctx = context.WithoutCancel(ctx) // on shutdown, wait for the call rather than for the end of the row's lease
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	call, span := d.span(call, row)
	err := d.deliverRow(call, row)
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
	if err == nil {
		err = d.Outbox.FinishOutbox(ctx, row.Seq)
	} else {
		d.Log.WarnContext(ctx, "outbox row could not be delivered to Temporal", "kind", row.Kind, "key", row.Key, "attempt", row.Attempts, "error", err)
		err = d.Outbox.RetryOutbox(ctx, row.Seq, min(time.Second<<min(row.Attempts, 10), maxWait))
	}
	if err != nil {
		// The lease will expire, and the row will be delivered again.
		d.Log.ErrorContext(ctx, "could not release outbox row", "seq", row.Seq, "error", err)
	}
}

// span starts a span in the trace of the step that wrote the row.
func (d *Dispatcher) span(ctx context.Context, row models.OutboxRow) (context.Context, trace.Span) {
	if d.Tracer == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	return d.Tracer.Start(tracing.WithTraceparent(ctx, row.Refs.Trace), "outbox "+string(row.Kind), trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attribute.String(tracing.OutboxKind, string(row.Kind)), attribute.String("countersign.key", row.Key.String()),
			attribute.Int("countersign.attempt", row.Attempts)))
}

// deliverRow starts or signals the workflow that the row refers to.
func (d *Dispatcher) deliverRow(ctx context.Context, row models.OutboxRow) error {
	signer, webhook := models.Deref(row.Refs.SignerID, uuid.Nil), models.Deref(row.Refs.WebhookID, uuid.Nil)
	switch row.Kind {
	case models.OutboxStart:
		start := d.envelopeStart(ctx, row)
		return d.start(ctx, d.envelopeOptions(row, start), WorkflowEnvelope, start)
	case models.OutboxSigned:
		return d.signal(ctx, row, SignalSignerSigned)
	case models.OutboxDeclined:
		return d.signal(ctx, row, SignalSignerDeclined)
	case models.OutboxVoided:
		return d.signal(ctx, row, SignalVoided)
	case models.OutboxSealingFailed:
		return d.signal(ctx, row, SignalSealingFailed)
	case models.OutboxRescheduled:
		return d.signal(ctx, row, SignalRescheduled)
	case models.OutboxDeliver:
		opts := options(row, DeliveryWorkflowID(row.Key, row.Refs.Resend), "Delivery to webhook "+webhook.String())
		// Each resend has its own workflow ID. Its workflow can be started again, which has no effect if the delivery
		// is settled.
		opts.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
		return d.start(ctx, opts, WorkflowDelivery, DeliveryInput{DeliveryID: row.Key, WebhookID: webhook, Delays: d.Delays, Resend: row.Refs.Resend})
	case models.OutboxBulk:
		// A running workflow reads its work from the database, so a superfluous signal is harmless.
		opts := options(row, BulkWorkflowID(row.Key), "Bulk send "+row.Key.String())
		opts.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
		in := BulkInput{AppID: row.Refs.AppID, BulkSendID: row.Key}
		_, err := d.Client.SignalWithStartWorkflow(ctx, opts.ID, SignalChanged, nil, opts, WorkflowBulk, in)
		return err
	case models.OutboxReinvite:
		in, summary := InviteInput{EnvelopeInput: envelopeInput(row), SignerID: signer, LinkID: row.Refs.LinkID}, "Renewed link for signer "
		if row.Refs.Reminder {
			in.LinkID, in.Reminder, summary = nil, &row.ID, "Reminder for signer "
		}
		return d.start(ctx, options(row, ReinviteWorkflowID(row.ID), summary+signer.String()), WorkflowReinvite, in)
	case models.OutboxCopies:
		opts := options(row, CopiesWorkflowID(row.ID), "Copies for signer "+signer.String())
		return d.start(ctx, opts, WorkflowCopies, CopiesInput{EnvelopeInput: envelopeInput(row), SignerID: signer, Request: row.ID})
	case models.OutboxNotify:
		opts := options(row, NotificationWorkflowID(row.ID), "Notification of the sender of envelope "+row.Key.String())
		return d.start(ctx, opts, WorkflowNotification, NotificationInput{EnvelopeInput: envelopeInput(row), EventID: row.ID})
	case models.OutboxDigest:
		opts := options(row, DigestWorkflowID(row.Key), "Digest for user "+row.Key.String())
		opts.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE // one run each day
		return d.start(ctx, opts, WorkflowDigest, DigestInput{AppID: row.Refs.AppID, UserID: row.Key, Until: row.CreatedAt})
	case models.OutboxDeletion:
		opts := options(row, deletionWorkflowID(row.Key, row.Refs.Days), fmt.Sprintf("%d day(s) until the files are deleted", row.Refs.Days))
		return d.start(ctx, opts, WorkflowDeletion, DeletionInput{EnvelopeInput: envelopeInput(row), Days: row.Refs.Days})
	case models.OutboxTimestamp:
		return d.start(ctx, options(row, TimestampWorkflowID(row.Key), "Time-stamps of envelope "+row.Key.String()), WorkflowTimestamp, envelopeInput(row))
	}
	return fmt.Errorf("outbox row %d has unknown kind %q", row.Seq, row.Kind)
}

func envelopeInput(row models.OutboxRow) EnvelopeInput {
	return EnvelopeInput{AppID: row.Refs.AppID, EnvelopeID: row.Key}
}

// envelopeStart returns the input of an envelope's workflow, with its plan if the plan can be read.
func (d *Dispatcher) envelopeStart(ctx context.Context, row models.OutboxRow) EnvelopeStart {
	start := EnvelopeStart{EnvelopeInput: envelopeInput(row)}
	if d.Plan == nil {
		return start
	}
	plan, err := d.Plan(ctx, start.EnvelopeInput)
	if err != nil {
		d.Log.WarnContext(ctx, "envelope workflow started without its routing plan", "envelope", row.Key, "error", err)
		return start
	}
	start.Plan = &plan
	return start
}

func (d *Dispatcher) envelopeOptions(row models.OutboxRow, start EnvelopeStart) client.StartWorkflowOptions {
	status := models.StatusSent
	if start.Plan != nil {
		status = start.Plan.Status
	}
	opts := options(row, EnvelopeWorkflowID(row.Key), "") // the ID already serves as the summary
	opts.TypedSearchAttributes = sdktemporal.NewSearchAttributes(opts.TypedSearchAttributes.Copy(), AttrEnvelopeStatus.ValueSet(StatusAttribute(status)))
	return opts
}

// options returns the options of a workflow that normally runs once. After the workflow has completed, it is started
// again only if the row requests a restart. After it has failed or been terminated, it can always be started again. The
// workflow's activities inherit the row's fairness key, so that no workflow waits for the task queue backlog of another
// app or endpoint.
func options(row models.OutboxRow, id, summary string) client.StartWorkflowOptions {
	reuse := enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	if row.Refs.Restart {
		reuse = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	attributes := []sdktemporal.SearchAttributeUpdate{attrAppID.ValueSet(row.Refs.AppID.String())}
	if row.Refs.TenantID != "" {
		attributes = append(attributes, attrTenantID.ValueSet(row.Refs.TenantID))
	}
	switch row.Kind { //nolint:exhaustive // an envelope's own workflow has the envelope ID in its workflow ID
	case models.OutboxDeliver:
		if row.Refs.EnvelopeID != nil {
			attributes = append(attributes, AttrEnvelopeID.ValueSet(row.Refs.EnvelopeID.String()))
		}
	case models.OutboxReinvite, models.OutboxCopies, models.OutboxDeletion, models.OutboxNotify:
		attributes = append(attributes, AttrEnvelopeID.ValueSet(row.Key.String()))
	}
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: QueueMain, StaticSummary: summary, Priority: sdktemporal.Priority{FairnessKey: row.Refs.FairnessKey().String()},
		WorkflowIDReusePolicy:    reuse,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		TypedSearchAttributes:    sdktemporal.NewSearchAttributes(attributes...),
	}
}

// signal sends a fact to the envelope's workflow. The row's ID serves as the request ID, so that the server ignores
// repeated requests. A missing workflow is started with the signal. A workflow that has ended does not need the signal.
func (d *Dispatcher) signal(ctx context.Context, row models.OutboxRow, name string) error {
	fact := SignerSignal{SignerID: models.Deref(row.Refs.SignerID, uuid.Nil), Trace: tracing.Traceparent(ctx)}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(fact)
	if err != nil {
		return fmt.Errorf("encode signal: %w", err)
	}
	_, err = d.Client.WorkflowService().SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
		Namespace:         d.Namespace,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: EnvelopeWorkflowID(row.Key)},
		SignalName:        name, Input: payloads, RequestId: row.ID.String(), Identity: "dispatcher",
	})
	if _, missing := errors.AsType[*serviceerror.NotFound](err); !missing {
		return err
	}
	start := d.envelopeStart(ctx, row)
	_, err = d.Client.SignalWithStartWorkflow(ctx, EnvelopeWorkflowID(row.Key), name, fact, d.envelopeOptions(row, start), WorkflowEnvelope, start)
	return ignoreStarted(err)
}

// start starts a workflow unless it is running or has already run.
func (d *Dispatcher) start(ctx context.Context, opts client.StartWorkflowOptions, workflow string, in any) error {
	_, err := d.Client.ExecuteWorkflow(ctx, opts, workflow, in)
	return ignoreStarted(err)
}

// ignoreStarted returns err, or nil if the workflow is running or has already run.
func ignoreStarted(err error) error {
	if _, started := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); started {
		return nil
	}
	return err
}
