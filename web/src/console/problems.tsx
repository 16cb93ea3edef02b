import { Title } from "../ui/parts";
import { formatTime, query, useLoad, type Attempt, type Client, type Delivery, type Mail, type SealingCode } from "./api";
import { Empty } from "./empty";
import { live } from "./envelopes";
import { ActionButton, Badge, ErrorNotice, mailKind, Table } from "./parts";
import { usePageTitle } from "./route";
import { sealingCause } from "./state";
import { t, type TextKey } from "./texts";

interface EnvelopeProblem {
  envelopeId: string; tenantId: string; subject: string | null; status: string; problem: "lost" | "overdue" | "sealing" | "sealing_failed"; since: string | null;
  code: SealingCode | null; detail: string; workflow: "running" | "missing" | "unknown"; workflowUrl: string | null;
}
interface MailProblem extends Omit<Mail, "sentAt"> { envelopeId: string; subject: string | null; signerName: string }
interface DeliveryProblem extends Omit<Delivery, "deliveredAt"> { nextAttemptAt: string | null; lastAttempt: Attempt | null }
interface AllProblems { envelopes: EnvelopeProblem[]; mails: MailProblem[]; deliveries: DeliveryProblem[] }

const problemWords: Record<EnvelopeProblem["problem"], TextKey> = {
  lost: "problemLost", overdue: "problemOverdue", sealing: "problemSealing", sealing_failed: "problemSealingFailed",
};
const workflowWords: Record<EnvelopeProblem["workflow"], TextKey> = { running: "workflowRunning", missing: "workflowMissing", unknown: "workflowUnknown" };

/** Lists problems for support: stuck envelopes, and emails and deliveries that have failed or are being retried. */
export function Problems({ client }: { client: Client }) {
  usePageTitle(t("problems"));
  const { data, problem, reload } = useLoad<AllProblems>(client, "problems", live);
  const none = data && data.envelopes.length + data.mails.length + data.deliveries.length === 0;
  return (
    <>
      <Title>{t("problems")}</Title>
      <ErrorNotice text={problem} />
      {!data && !problem && <p class="quiet">{t("loading")}</p>}
      {none && <Empty icon="check" title={t("noProblems")}>{t("problemsText")}</Empty>}
      {data && data.envelopes.length > 0 && <EnvelopeTable client={client} rows={data.envelopes} reload={reload} />}
      {data && data.mails.length > 0 && <MailTable rows={data.mails} />}
      {data && data.deliveries.length > 0 && <DeliveryTable client={client} rows={data.deliveries} reload={reload} />}
    </>
  );
}

const EnvelopeLink = ({ id, subject }: { id: string; subject: string | null | undefined }) => <a href={`#/envelopes/${id}`}><bdi>{subject ?? id}</bdi></a>;

function EnvelopeTable({ client, rows, reload }: { client: Client; rows: EnvelopeProblem[]; reload: () => void }) {
  return (
    <>
      <h2 class="later">{t("stuckEnvelopes")}</h2>
      <p class="quiet">{t("stuckText")}</p>
      <Table label={t("stuckEnvelopes")} head={[t("envelope"), t("problem"), t("since"), t("workflow"), t("workspace"), t("restart")]}>
        {rows.map((e) => (
          <tr key={e.envelopeId}>
            <td><EnvelopeLink id={e.envelopeId} subject={e.subject} /></td>
            <td class="wraps">{t(problemWords[e.problem])}{e.code && <div class="small quiet">{sealingCause(e.code, e.detail)}</div>}</td>
            <td>{formatTime(e.since)}</td>
            <td>{e.workflowUrl ? <a href={e.workflowUrl} target="_blank" rel="noreferrer">{t(workflowWords[e.workflow])}</a> : t(workflowWords[e.workflow])}</td>
            <td><bdi>{e.tenantId}</bdi></td>
            <td>{e.workflow === "running" ? "–" : <ActionButton label={t("restartWorkflow")} name={t("restartWorkflowOf", { name: e.subject ?? e.envelopeId })} done={t("restarting")} work={async (key) => { await client.call(`envelopes/${e.envelopeId}/restart`, { method: "POST", key }); setTimeout(reload, 1500); }} />}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function MailTable({ rows }: { rows: MailProblem[] }) {
  return (
    <>
      <h2 class="later">{t("rejectedEmails")}</h2>
      <p class="quiet">{t("rejectedText")}</p>
      <Table label={t("rejectedEmails")} head={[t("envelope"), t("to"), t("emailKind"), t("status"), t("mailServerResponse"), t("createdAt")]}>
        {rows.map((m) => (
          <tr key={`${m.envelopeId}-${m.signerId}-${m.kind}-${m.createdAt}`}>
            <td><EnvelopeLink id={m.envelopeId} subject={m.subject} /></td>
            <td><bdi>{m.signerName || "–"}</bdi></td>
            <td>{mailKind(m.kind)}</td>
            <td>{m.failedAt ? <Badge>failed</Badge> : t("retryingAfter", { n: m.attempts })}</td>
            <td class="wraps" dir="auto">{m.error}</td>
            <td>{formatTime(m.createdAt)}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function DeliveryTable({ client, rows, reload }: { client: Client; rows: DeliveryProblem[]; reload: () => void }) {
  return (
    <>
      <h2 class="later">{t("webhookDeliveries")}</h2>
      <p class="quiet"><a href={`#/webhooks?${query({ status: "failed" })}`}>{t("allFailedDeliveries")}</a></p>
      <Table label={t("webhookDeliveries")} head={[t("event"), t("envelope"), t("endpoint"), t("status"), t("lastResponse"), t("retry")]}>
        {rows.map((d) => (
          <tr key={d.id}>
            <td><a href={`#/deliveries/${d.id}`}><bdi>{d.event}</bdi></a></td>
            <td>{d.envelopeId ? <EnvelopeLink id={d.envelopeId} subject={d.envelopeSubject} /> : "–"}</td>
            <td class="mono wraps">{d.webhookUrl ? <bdi>{d.webhookUrl}</bdi> : t("deleted")}</td>
            <td>{d.status === "failed" ? <Badge>failed</Badge> : <>{t("waiting")}<div class="small quiet">{t("nextAttempt", { time: formatTime(d.nextAttemptAt) })}</div></>}<div class="small quiet">{t("attemptCount", { n: d.attempts })}</div></td>
            <td class="wraps" dir="auto">{answerWords(d.lastAttempt)}</td>
            <td>{d.webhookUrl ? <ActionButton label={t("retryNow")} name={t("retryNowOf", { event: d.event, endpoint: d.webhookUrl })} done={t("retrying")} work={async (key) => { await client.call(`webhook-deliveries/${d.id}/resend`, { method: "POST", key }); setTimeout(reload, 1500); }} /> : "–"}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

// The number of characters of an endpoint's response in the list. The delivery's page shows everything that is stored.
const shown = 160;

/** Returns the last response of the endpoint, on one line. */
function answerWords(a: Attempt | null): string {
  if (!a) return t("notAttempted");
  const body = a.body.replaceAll(/\s+/g, " ").trim();
  return [a.status ?? t("noResponse"), a.error, body.length > shown ? `${body.slice(0, shown)}…` : body].filter(Boolean).join(" · ");
}
