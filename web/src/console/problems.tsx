import { Title } from "../ui/parts";
import { formatTime, query, useLoad, type Attempt, type Client, type Delivery, type Mail } from "./api";
import { Empty } from "./empty";
import { live } from "./envelopes";
import { ActionButton, Badge, ErrorNotice, Table } from "./parts";
import { usePageTitle } from "./route";

interface EnvelopeProblem {
  envelopeId: string; tenantId: string; subject: string | null; status: string; problem: "lost" | "overdue" | "sealing" | "sealing_failed"; since: string | null;
  detail: string; workflow: "running" | "missing" | "unknown"; workflowUrl: string | null;
}
interface MailProblem extends Omit<Mail, "sentAt"> { envelopeId: string; subject: string | null; signerName: string }
interface DeliveryProblem extends Omit<Delivery, "deliveredAt"> { nextAttemptAt: string | null; lastAttempt: Attempt | null }
interface AllProblems { envelopes: EnvelopeProblem[]; mails: MailProblem[]; deliveries: DeliveryProblem[] }

const problemWords: Record<EnvelopeProblem["problem"], string> = {
  lost: "No workflow runs", overdue: "Open after its deadline", sealing: "All signed, not sealed yet", sealing_failed: "Cannot be sealed",
};
const workflowWords: Record<EnvelopeProblem["workflow"], string> = { running: "runs", missing: "missing", unknown: "Temporal does not answer" };

/** What does not go on, for those who help: each row leads to its envelope. */
export function Problems({ client }: { client: Client }) {
  usePageTitle("Problems");
  const { data, problem, reload } = useLoad<AllProblems>(client, "problems", live);
  const none = data && data.envelopes.length + data.mails.length + data.deliveries.length === 0;
  return (
    <>
      <Title>Problems</Title>
      <ErrorNotice text={problem} />
      {!data && !problem && <p class="quiet">One moment …</p>}
      {none && <Empty icon="check" title="No problems">Envelopes that don’t go on, refused emails, and deliveries that failed or wait for another attempt appear here.</Empty>}
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
      <h2 class="later">Envelopes that don’t go on</h2>
      <p class="quiet">A missing workflow is started again within three minutes, or now if you restart it. Nobody is emailed twice.</p>
      <Table label="Envelopes that don’t go on" head={["Envelope", "Problem", "Since", "Workflow", "Tenant", "Restart"]}>
        {rows.map((e) => (
          <tr key={e.envelopeId}>
            <td><EnvelopeLink id={e.envelopeId} subject={e.subject} /></td>
            <td class="wraps">{problemWords[e.problem]}{e.detail && <div class="small quiet">{e.detail}</div>}</td>
            <td>{formatTime(e.since)}</td>
            <td>{e.workflowUrl ? <a href={e.workflowUrl} target="_blank" rel="noreferrer">{workflowWords[e.workflow]}</a> : workflowWords[e.workflow]}</td>
            <td>{e.tenantId}</td>
            <td>{e.workflow === "running" ? "–" : <ActionButton label="Restart workflow" name={`Restart workflow: ${e.subject ?? e.envelopeId}`} done="Restarting." work={async (key) => { await client.call(`envelopes/${e.envelopeId}/restart`, { method: "POST", key }); setTimeout(reload, 1500); }} />}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function MailTable({ rows }: { rows: MailProblem[] }) {
  return (
    <>
      <h2 class="later">Refused emails</h2>
      <p class="quiet">Correct the address or send a new link on the envelope’s page.</p>
      <Table label="Refused emails" head={["Envelope", "To", "Email", "State", "Mail server’s answer", "Begun"]}>
        {rows.map((m) => (
          <tr key={`${m.envelopeId}-${m.signerId}-${m.kind}-${m.createdAt}`}>
            <td><EnvelopeLink id={m.envelopeId} subject={m.subject} /></td>
            <td><bdi>{m.signerName || "–"}</bdi></td>
            <td>{m.kind.replaceAll("_", " ")}</td>
            <td>{m.failedAt ? <Badge>failed</Badge> : <>tried again, {m.attempts} {m.attempts === 1 ? "attempt" : "attempts"} so far</>}</td>
            <td class="wraps">{m.error}</td>
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
      <h2 class="later">Webhook deliveries</h2>
      <p class="quiet"><a href={`#/webhooks?${query({ status: "failed" })}`}>All failed deliveries</a></p>
      <Table label="Webhook deliveries that failed or wait" head={["Event", "Envelope", "Endpoint", "State", "Last answer", "Retry"]}>
        {rows.map((d) => (
          <tr key={d.id}>
            <td><a href={`#/deliveries/${d.id}`}>{d.event}</a></td>
            <td>{d.envelopeId ? <EnvelopeLink id={d.envelopeId} subject={d.envelopeSubject} /> : "–"}</td>
            <td class="mono wraps">{d.webhookUrl ?? "deleted"}</td>
            <td>{d.status === "failed" ? <Badge>failed</Badge> : <>waiting<div class="small quiet">next attempt {formatTime(d.nextAttemptAt)}</div></>}<div class="small quiet">{d.attempts} {d.attempts === 1 ? "attempt" : "attempts"}</div></td>
            <td class="wraps">{answerWords(d.lastAttempt)}</td>
            <td>{d.webhookUrl ? <ActionButton label="Retry now" name={`Retry now: ${d.event} to ${d.webhookUrl}`} done="Trying." work={async (key) => { await client.call(`webhook-deliveries/${d.id}/resend`, { method: "POST", key }); setTimeout(reload, 1500); }} /> : "–"}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

const shown = 160; // characters of an endpoint's answer in the list; the delivery's page has all that was kept

/** Returns what the endpoint answered last, in one line. */
function answerWords(a: Attempt | null): string {
  if (!a) return "not attempted yet";
  const body = a.body.replaceAll(/\s+/g, " ").trim();
  return [a.status ?? "no answer", a.error, body.length > shown ? `${body.slice(0, shown)}…` : body].filter(Boolean).join(" · ");
}
