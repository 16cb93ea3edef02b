import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { may, query, useLoad, when, type Client, type Delivery, type Paged, type Webhook, type Who } from "./api";
import { Act, Badge, Pager, Problem, Table } from "./parts";

const live = 4000;
const day = 86_400_000;

export function Webhooks({ client, who }: { client: Client; who: Who }) {
  const { data, problem, reload } = useLoad<Webhook[]>(client, "webhooks", live);
  const [status, setStatus] = useState("failed");
  const [page, setPage] = useState(1);
  const deliveries = useLoad<Paged<Delivery>>(client, `webhook-deliveries?${query({ status, page, pageSize: 20 })}`, live);
  const urls = new Map(data?.map((w) => [w.id, w.url]));
  const post = (path: string, body?: unknown) => async () => {
    await client.call(path, { method: "POST", body });
    reload();
    deliveries.reload();
  };
  return (
    <>
      <Title>Webhooks</Title>
      <Problem text={problem || deliveries.problem} />
      {data?.length === 0 && <p class="quiet">No endpoint is registered. Applications register them by the API.</p>}
      <div class="stack">
        {data?.map((w) => (
          <section class="card" key={w.id} aria-label={w.url}>
            <div class="row head"><h2 class="mono">{w.url}</h2><Badge>{w.active ? (w.failingSince ? "failing" : "active") : w.disabledReason || "paused"}</Badge></div>
            <p class="quiet small">{w.events.join(", ")}</p>
            {w.failingSince && <p class="small">Failing since {when(w.failingSince)}{w.lastError && `: ${w.lastError}`}</p>}
            {w.disabledAt && <p class="small">Switched off {when(w.disabledAt)}</p>}
            <div class="row">
              {may(who, "support") && <Act label="Send a ping" done="The ping is on its way." work={post(`webhooks/${w.id}/ping`)} />}
              {may(who, "support") && <Act label="Resend what failed in the last day" done="They are on their way." work={() => post(`webhooks/${w.id}/resend`, { since: new Date(Date.now() - day).toISOString() })()} />}
              {may(who, "admin") && <Act label={w.active ? "Pause" : "Resume"} work={post(`webhooks/${w.id}/${w.active ? "pause" : "resume"}`)} />}
            </div>
          </section>
        ))}
      </div>
      <h2 class="later">Deliveries</h2>
      <div class="filters"><div><label for="dstatus">Status</label><select id="dstatus" value={status} onChange={(e) => { setStatus(e.currentTarget.value); setPage(1); }}><option value="failed">failed</option><option value="pending">pending</option><option value="delivered">delivered</option><option value="">any</option></select></div></div>
      {deliveries.data && (
        <>
          <Table label="Deliveries" head={["Event", "Status", "Endpoint", "Attempts", "Created", "Resend"]}>
            {deliveries.data.data.map((d) => (
              <tr key={d.id}>
                <td><a href={`#/deliveries/${d.id}`}>{d.event}</a></td>
                <td><Badge>{d.status}</Badge></td>
                <td class="mono">{urls.get(d.webhookId) ?? "deleted"}</td>
                <td>{d.attempts}</td>
                <td>{when(d.createdAt)}</td>
                <td>{d.status !== "pending" && may(who, "support") ? <Act label="Resend" work={post(`webhook-deliveries/${d.id}/resend`)} /> : "–"}</td>
              </tr>
            ))}
          </Table>
          {deliveries.data.total === 0 && <p class="quiet">There are none.</p>}
          <Pager page={deliveries.data.page} size={deliveries.data.pageSize} total={deliveries.data.total} onPage={setPage} />
        </>
      )}
    </>
  );
}

export function DeliveryPage({ client, who, id }: { client: Client; who: Who; id: string }) {
  const { data: d, problem, reload } = useLoad<Delivery>(client, `webhook-deliveries/${id}`, live);
  if (!d) return <><Problem text={problem} />{!problem && <p class="quiet">One moment …</p>}</>;
  return (
    <>
      <p class="small"><a href="#/webhooks">Webhooks</a>{d.envelopeId && <> · <a href={`#/envelopes/${d.envelopeId}`}>Envelope</a></>}</p>
      <div class="row head"><Title>{d.event}</Title><Badge>{d.status}</Badge></div>
      <Problem text={problem} />
      <dl class="facts">
        <dt>Event id</dt><dd class="mono">{d.eventId}</dd>
        <dt>Created</dt><dd>{when(d.createdAt)}</dd>
        {d.deliveredAt && <><dt>Delivered</dt><dd>{when(d.deliveredAt)}</dd></>}
        {d.failedAt && <><dt>Given up</dt><dd>{when(d.failedAt)}</dd></>}
        <dt>Resent</dt><dd>{d.resends} {d.resends === 1 ? "time" : "times"}</dd>
      </dl>
      {d.status !== "pending" && may(who, "support") && <p><Act label="Resend" done="It is on its way." work={async () => { await client.call(`webhook-deliveries/${id}/resend`, { method: "POST" }); reload(); }} /></p>}
      <h2 class="later">Attempts</h2>
      {(d.attemptLog ?? []).length === 0 && <p class="quiet">None yet.</p>}
      <div class="stack">
        {(d.attemptLog ?? []).map((a) => (
          <section class="card" key={`${a.number}-${a.at}`}>
            <div class="row head"><h3>Attempt {a.number}</h3><span class={`badge ${a.status && a.status < 300 ? "good" : "bad"}`}>{a.status ?? "no answer"}</span><span class="quiet small">{when(a.at)} · {a.latencyMs} ms</span></div>
            {a.error && <p class="small">{a.error}</p>}
            {a.body && <pre tabIndex={0} aria-label="Answer">{a.body}</pre>}
          </section>
        ))}
      </div>
      <h2 class="later">What is sent</h2>
      <pre tabIndex={0} aria-label="What is sent">{JSON.stringify(d.payload, null, 2)}</pre>
    </>
  );
}
