import { Title } from "../ui/parts";
import { hasRole, useLoad, formatTime, type Client, type Delivery, type Identity } from "./api";
import { live } from "./envelopes";
import { ActionButton, Badge, ErrorNotice } from "./parts";
import { listHref, usePageTitle } from "./route";

export function DeliveryPage({ client, who, id }: { client: Client; who: Identity; id: string }) {
  const { data: d, problem, reload } = useLoad<Delivery>(client, `webhook-deliveries/${id}`, live);
  usePageTitle(d ? `${d.event} to ${d.webhookUrl ?? "a deleted endpoint"}` : "Delivery");
  if (!d) return <><ErrorNotice text={problem} />{!problem && <p class="quiet">One moment …</p>}</>;
  return (
    <>
      <p class="small"><a href={listHref("webhooks")}>Webhooks</a></p>
      <div class="row head"><Title>{d.event}</Title><Badge>{d.status}</Badge></div>
      <ErrorNotice text={problem} />
      <dl class="facts">
        <dt>Endpoint</dt><dd class="mono">{d.webhookUrl ?? "deleted"}</dd>
        {d.envelopeId && <><dt>Envelope</dt><dd><a href={`#/envelopes/${d.envelopeId}`}><bdi>{d.envelopeSubject ?? d.envelopeId}</bdi></a></dd></>}
        <dt>Event id</dt><dd class="mono">{d.eventId}</dd>
        <dt>Created</dt><dd>{formatTime(d.createdAt)}</dd>
        {d.deliveredAt && <><dt>Delivered</dt><dd>{formatTime(d.deliveredAt)}</dd></>}
        {d.failedAt && <><dt>Given up</dt><dd>{formatTime(d.failedAt)}</dd></>}
        <dt>Resent</dt><dd>{d.resends} {d.resends === 1 ? "time" : "times"}</dd>
      </dl>
      {d.status !== "pending" && d.webhookUrl && d.payload !== null && hasRole(who, "support") && <p><ActionButton label="Resend" done="Resending." work={async (key) => { await client.call(`webhook-deliveries/${id}/resend`, { method: "POST", key }); reload(); }} /></p>}
      <h2 class="later">Attempts</h2>
      {(d.attemptLog ?? []).length === 0 && <p class="quiet">None yet.</p>}
      <div class="stack">
        {(d.attemptLog ?? []).map((a) => (
          <section class="card" key={`${a.number}-${a.at}`}>
            <div class="row head"><h3>Attempt {a.number}</h3><span class={`badge ${a.status && a.status < 300 ? "good" : "bad"}`}>{a.status ?? "no answer"}</span><span class="quiet small">{formatTime(a.at)} · {a.latencyMs} ms</span></div>
            {a.error && <p class="small">{a.error}</p>}
            {a.body && <pre tabIndex={0} aria-label={`Answer to attempt ${a.number}`}>{a.body}</pre>}
          </section>
        ))}
      </div>
      <h2 class="later">Payload</h2>
      {d.payload === null
        ? <p class="quiet">Deleted at the end of the envelope's retention period. It can't be resent.</p>
        : <pre tabIndex={0} aria-label="Payload">{JSON.stringify(d.payload, null, 2)}</pre>}
    </>
  );
}
