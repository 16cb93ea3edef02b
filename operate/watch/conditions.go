package watch

import "time"

// Conditions lists the alert conditions, in the same order as alerts.yaml.
var Conditions = []Condition{
	{
		Alert: "CountersignDown", Severity: Critical,
		Meaning: "{{ $labels.instance }} does not respond",
		Expr:    `up{job=~".*countersign.*"} == 0`,
		For:     2 * time.Minute,
		Panel:   "Processes", NotChecked: "doctor does not contact the processes; their /readyz endpoints report their state",
	},
	{
		Alert: "CountersignNoWorker", Severity: Critical,
		Meaning: "No worker is running; signers can sign, but no email is sent, no document is sealed and no event is delivered",
		Expr:    "absent(countersign_seal_certificate_not_after_seconds)",
		For:     5 * time.Minute,
		Panel:   "Processes", Check: "workers",
	},
	{
		Alert: "CountersignOutboxWaits", Severity: Critical,
		Meaning: "Changes committed {{ $value | humanizeDuration }} ago have not reached their workflows",
		Expr:    "max(countersign_outbox_oldest_age_seconds) > 120",
		For:     5 * time.Minute,
		Panel:   "Outbox", Check: "outbox",
	},
	{
		Alert: "CountersignDatabaseIsSilent", Severity: Critical,
		Meaning: "Countersign is running, but no process can read the database",
		Note:    "Metrics that are read from the database disappear when it is down. Without traffic, nothing else reveals that it is down.",
		Expr:    `absent(countersign_outbox_rows) and on() (count(up{job=~".*countersign.*"} == 1) > 0)`,
		For:     3 * time.Minute,
		Panel:   "Processes", Check: "database",
	},
	{
		Alert: "CountersignWorkflowTasksFail", Severity: Critical,
		Meaning: "Workflows of type {{ $labels.workflow_type }} are blocked: their code fails or cannot replay their history",
		Expr:    "sum by (workflow_type) (increase(temporal_workflow_task_execution_failed[15m])) > 0",
		For:     time.Minute, KeepFiringFor: 15 * time.Minute,
		Panel: "Failing workflow tasks", Check: "workflow_tasks",
	},
	{
		Alert: "CountersignWorkflowsLost", Severity: Warning,
		Meaning: "Workflows of kind {{ $labels.kind }} were missing and have been restarted",
		Expr:    "sum by (kind) (increase(countersign_workflows_restarted_total[15m])) > 0",
		Panel:   "Lost workflows", Check: "lost",
	},
	{
		Alert: "CountersignEnvelopesOverdue", Severity: Critical,
		Meaning: "{{ $value }} envelope(s) are still open after their deadline",
		Expr:    "max(countersign_overdue_envelopes) > 0",
		For:     5 * time.Minute,
		Panel:   "Late work", Check: "overdue",
	},
	{
		Alert: "CountersignSealingLate", Severity: Critical,
		Meaning: "{{ $value }} envelope(s) are not sealed five minutes after the last signature",
		Expr:    "max(countersign_sealing_late_envelopes) > 0",
		For:     5 * time.Minute,
		Panel:   "Late work", Check: "sealing",
	},
	{
		Alert: "CountersignDeliveriesLate", Severity: Warning,
		Meaning: "{{ $value }} webhook deliveries are overdue",
		Expr:    "max(countersign_late_deliveries) > 0",
		For:     10 * time.Minute,
		Panel:   "Late work", Check: "deliveries",
	},
	{
		Alert: "CountersignPurgesLate", Severity: Warning,
		Meaning: "The files of {{ $value }} envelope(s) should have been deleted",
		Expr:    "max(countersign_late_purges) > 0",
		For:     time.Hour,
		Panel:   "Late work", Check: "purges",
	},
	{
		Alert: "CountersignNobodyReconciles", Severity: Warning,
		Meaning: "The last check for lost workflows was {{ $value | humanizeDuration }} ago",
		Note:    "The schedule runs every three minutes. The metric is 0 before the first run.",
		Expr:    "time() - max(countersign_reconcile_run_seconds > 0) > 900",
		For:     5 * time.Minute,
		Panel:   "Last check for lost workflows", Check: "reconcile",
	},
	{
		Alert: "CountersignSealingFails", Severity: Critical,
		Meaning: "Sealing of fully signed documents keeps failing and is being retried",
		Expr:    `sum(rate(countersign_seal_duration_seconds_count{result="failed"}[10m])) > 0`,
		For:     10 * time.Minute,
		Panel:   "Seals", Check: "seal_key",
	},
	{
		Alert: "CountersignEnvelopesUnsealed", Severity: Critical,
		Meaning: "{{ $value }} fully signed envelope(s) cannot be sealed",
		Expr:    "max(countersign_unsealed_envelopes) > 0",
		For:     5 * time.Minute,
		Panel:   "Envelopes that cannot be sealed", Check: "unsealed",
	},
	{
		Alert: "CountersignCertificateEnds", Severity: Warning,
		Meaning: "The sealing certificate expires in {{ $value | humanizeDuration }}",
		Expr:    "min(countersign_seal_certificate_not_after_seconds) - time() < 30 * 86400",
		Panel:   "Sealing certificate", Check: "seal_key",
	},
	{
		Alert: "CountersignAnchorIsMissing", Severity: Warning,
		Meaning: "The audit trail was last time-stamped {{ $value | humanizeDuration }} ago",
		Expr:    "time() - max(countersign_audit_anchor_seconds) > 2 * 86400",
		For:     time.Hour,
		Panel:   "Last anchor", Check: "anchors",
	},
	{
		Alert: "CountersignMailFails", Severity: Critical,
		Meaning: "Emails of kind {{ $labels.kind }} are not being sent",
		Note:    "An email that the server temporarily rejects is retried every few minutes at first, and later every half hour.",
		Expr:    `sum by (kind) (rate(countersign_mails_total{result="failed"}[10m])) > 0`,
		For:     15 * time.Minute, KeepFiringFor: 45 * time.Minute,
		Panel: "Mails", Check: "mail",
	},
	{
		Alert: "CountersignMailRefused", Severity: Warning,
		Meaning: "More than 10 % of emails are permanently rejected",
		Expr: `sum(increase(countersign_mails_total{result="refused"}[1h]))
  > 0.1 * sum(increase(countersign_mails_total[1h])) + 5`,
		Panel: "Mails", NotChecked: "the proportion of rejected emails in the last hour is known only from metrics; the Problems page of the console lists each email",
	},
	{
		Alert: "CountersignDeliveriesFail", Severity: Warning,
		Meaning: "More than half of the webhook delivery attempts fail",
		Expr: `sum(rate(countersign_delivery_attempts_total{result!="delivered"}[30m]))
  > 0.5 * sum(rate(countersign_delivery_attempts_total[30m]))`,
		For:   30 * time.Minute,
		Panel: "Webhook attempts", NotChecked: "the proportion of failed attempts in the last half hour is known only from metrics; the Problems page of the console lists each delivery",
	},
	{
		Alert: "CountersignErrors", Severity: Critical,
		Meaning: "More than 1 % of requests fail with a server error",
		Expr: `sum(rate(countersign_http_requests_total{code=~"5.."}[5m]))
  > 0.01 * sum(rate(countersign_http_requests_total[5m]))`,
		For:   5 * time.Minute,
		Panel: "Requests", NotChecked: "the proportion of failed requests in recent minutes is known only from metrics",
	},
	{
		Alert: "CountersignFileIsMissing", Severity: Critical,
		Meaning: "The file of a requested document or archived envelope is missing from the file store or does not match its record",
		Expr:    "sum(increase(countersign_files_missing_total[1h])) > 0",
		Panel:   "Missing files", NotChecked: "`countersign audit verify --all` reads every file, which takes hours",
	},
	{
		Alert: "CountersignSlow", Severity: Warning,
		Meaning: "Signing takes longer than one second for 1 % of signers",
		Expr: `histogram_quantile(0.99, sum by (le, route) (
  rate(countersign_http_request_duration_seconds_bucket{route="/v1/signing/:token/sign"}[10m]))) > 1`,
		For:   10 * time.Minute,
		Panel: "Signing latency", NotChecked: "the latency of recent minutes is known only from metrics",
	},
	{
		Alert: "CountersignDatabasePoolIsEmpty", Severity: Warning,
		Meaning: "Requests on {{ $labels.instance }} are waiting for a database connection",
		Expr:    `sum by (instance) (rate(go_sql_wait_duration_seconds_total{db_name="countersign"}[5m])) > 1`,
		For:     10 * time.Minute,
		Panel:   "Waiting for a database connection", NotChecked: "each process has its own pool",
	},
	{
		Alert: "CountersignWorkerIsBusy", Severity: Warning,
		Meaning: "{{ $labels.instance }} has had no free task slots on {{ $labels.task_queue }} for 15 minutes",
		Expr:    `min by (instance, worker_type, task_queue) (temporal_worker_task_slots_available{task_queue!="countersign-bulk"}) == 0`,
		For:     15 * time.Minute,
		Panel:   "Free task slots of the workers", Check: "workers",
	},
}
