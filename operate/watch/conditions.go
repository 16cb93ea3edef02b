package watch

import "time"

// Conditions lists the alert conditions, in the same order as alerts.yaml.
var Conditions = []Condition{
	{
		Alert: "CountersignDown", Severity: Critical,
		Meaning: "{{ $labels.instance }} does not answer",
		Expr:    `up{job=~".*countersign.*"} == 0`,
		For:     2 * time.Minute,
		Panel:   "Processes", NotChecked: "doctor runs beside the processes and asks none of them; /readyz of each does",
	},
	{
		Alert: "CountersignNoWorker", Severity: Critical,
		Meaning: "No worker runs; signers can sign, but nothing is mailed, sealed or delivered",
		Expr:    "absent(countersign_seal_certificate_not_after_seconds)",
		For:     5 * time.Minute,
		Panel:   "Processes", Check: "workers",
	},
	{
		Alert: "CountersignOutboxWaits", Severity: Critical,
		Meaning: "Workflows have not been started or signalled for what was committed {{ $value | humanizeDuration }} ago",
		Expr:    "max(countersign_outbox_oldest_age_seconds) > 120",
		For:     5 * time.Minute,
		Panel:   "Outbox", Check: "outbox",
	},
	{
		Alert: "CountersignDatabaseIsSilent", Severity: Critical,
		Meaning: "Countersign runs, but no process can read the database",
		Note:    "Metrics from the database disappear if it is down, and without traffic no other metric shows this.",
		Expr:    `absent(countersign_outbox_rows) and on() (count(up{job=~".*countersign.*"} == 1) > 0)`,
		For:     3 * time.Minute,
		Panel:   "Processes", Check: "database",
	},
	{
		Alert: "CountersignWorkflowTasksFail", Severity: Critical,
		Meaning: "Workflows of type {{ $labels.workflow_type }} stand still: their code fails or does not replay their history",
		Expr:    "sum by (workflow_type) (increase(temporal_workflow_task_execution_failed[15m])) > 0",
		For:     time.Minute, Keep: 15 * time.Minute,
		Panel: "Failing workflow tasks", Check: "workflow_tasks",
	},
	{
		Alert: "CountersignWorkflowsLost", Severity: Warning,
		Meaning: "Workflows of {{ $labels.kind }} were missing and have been started again",
		Expr:    "sum by (kind) (increase(countersign_workflows_restarted_total[15m])) > 0",
		Panel:   "Lost workflows", Check: "lost",
	},
	{
		Alert: "CountersignEnvelopesOverdue", Severity: Critical,
		Meaning: "{{ $value }} envelope(s) are open after their deadline",
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
		Meaning: "{{ $value }} webhook deliveries are due and not attempted",
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
		Meaning: "Lost workflows were last looked for {{ $value | humanizeDuration }} ago",
		Note:    "The schedule runs every three minutes. The value is 0 before the first run.",
		Expr:    "time() - max(countersign_reconcile_run_seconds > 0) > 900",
		For:     5 * time.Minute,
		Panel:   "Last look for lost workflows", Check: "reconcile",
	},
	{
		Alert: "CountersignSealingFails", Severity: Critical,
		Meaning: "Documents that all have signed cannot be sealed; it is tried again and again",
		Expr:    `sum(rate(countersign_seal_duration_seconds_count{result="failed"}[10m])) > 0`,
		For:     10 * time.Minute,
		Panel:   "Seals", Check: "seal_key",
	},
	{
		Alert: "CountersignEnvelopesUnsealed", Severity: Critical,
		Meaning: "{{ $value }} envelope(s) that all have signed cannot be sealed",
		Expr:    "max(countersign_unsealed_envelopes) > 0",
		For:     5 * time.Minute,
		Panel:   "Envelopes that cannot be sealed", Check: "unsealed",
	},
	{
		Alert: "CountersignCertificateEnds", Severity: Warning,
		Meaning: "The sealing certificate ends in {{ $value | humanizeDuration }}",
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
		Meaning: "Mails of kind {{ $labels.kind }} do not go out",
		Note:    "A rejected email is retried every few minutes at first, and later every half hour.",
		Expr:    `sum by (kind) (rate(countersign_mails_total{result="failed"}[10m])) > 0`,
		For:     15 * time.Minute, Keep: 45 * time.Minute,
		Panel: "Mails", Check: "mail",
	},
	{
		Alert: "CountersignMailRefused", Severity: Warning,
		Meaning: "More than a tenth of the mails are refused for good",
		Expr: `sum(increase(countersign_mails_total{result="refused"}[1h]))
  > 0.1 * sum(increase(countersign_mails_total[1h])) + 5`,
		Panel: "Mails", NotChecked: "a share of the mails of the last hour, which only metrics know; the console's Problems list each",
	},
	{
		Alert: "CountersignDeliveriesFail", Severity: Warning,
		Meaning: "More than half of the attempts at webhook deliveries fail",
		Expr: `sum(rate(countersign_delivery_attempts_total{result!="delivered"}[30m]))
  > 0.5 * sum(rate(countersign_delivery_attempts_total[30m]))`,
		For:   30 * time.Minute,
		Panel: "Webhook attempts", NotChecked: "a share of the attempts of the last half hour, which only metrics know; the console's Problems list each",
	},
	{
		Alert: "CountersignErrors", Severity: Critical,
		Meaning: "More than 1 % of the requests are answered with an error of ours",
		Expr: `sum(rate(countersign_http_requests_total{code=~"5.."}[5m]))
  > 0.01 * sum(rate(countersign_http_requests_total[5m]))`,
		For:   5 * time.Minute,
		Panel: "Requests", NotChecked: "a share of the requests of the last minutes, which only metrics know",
	},
	{
		Alert: "CountersignFileIsMissing", Severity: Critical,
		Meaning: "A document or an archived envelope was asked for whose file is not in the file store, or is not what was recorded",
		Expr:    "sum(increase(countersign_files_missing_total[1h])) > 0",
		Panel:   "Missing files", NotChecked: "`countersign audit verify --all` reads every file, which takes hours",
	},
	{
		Alert: "CountersignSlow", Severity: Warning,
		Meaning: "Signing takes longer than a second for one signer in a hundred",
		Expr: `histogram_quantile(0.99, sum by (le, route) (
  rate(countersign_http_request_duration_seconds_bucket{route="/v1/signing/:token/sign"}[10m]))) > 1`,
		For:   10 * time.Minute,
		Panel: "Latency of signing", NotChecked: "a quantile of the last minutes, which only metrics know",
	},
	{
		Alert: "CountersignDatabasePoolIsEmpty", Severity: Warning,
		Meaning: "Requests on {{ $labels.instance }} wait for a connection to the database",
		Expr:    `sum by (instance) (rate(go_sql_wait_duration_seconds_total{db_name="countersign"}[5m])) > 1`,
		For:     10 * time.Minute,
		Panel:   "Waiting for a database connection", NotChecked: "it is a process's own pool",
	},
	{
		Alert: "CountersignWorkerIsBusy", Severity: Warning,
		Meaning: "{{ $labels.instance }} has had no place left on {{ $labels.task_queue }} for 15 minutes",
		Expr:    `min by (instance, worker_type, task_queue) (temporal_worker_task_slots_available{task_queue!="countersign-bulk"}) == 0`,
		For:     15 * time.Minute,
		Panel:   "Free places of the workers", Check: "workers",
	},
}
