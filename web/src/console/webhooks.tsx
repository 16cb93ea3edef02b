import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { hasRole, query, useList, useLoad, webhookEvents, formatTime, type Client, type Delivery, type Paged, type Webhook, type Identity } from "./api";
import { live } from "./envelopes";
import { Empty } from "./empty";
import { ActionButton, ActionRow, FormDialog, Badge, makeSecret, SecretNotice, Pager, ErrorNotice, Table } from "./parts";
import { useFilters, usePageTitle } from "./route";

const day = 86_400_000;

interface Resent { resent: number; remaining: number }

/** Returns the text for the result of resending all failed deliveries. */
function resentWords({ resent, remaining }: Resent): string {
  if (resent === 0) return "No delivery failed in the last 24 hours.";
  const some = `${resent.toLocaleString()} ${resent === 1 ? "delivery is" : "deliveries are"} on the way.`;
  return remaining ? `${some} ${remaining.toLocaleString()} more failed: choose it again.` : some;
}

export function Webhooks({ client, who }: { client: Client; who: Identity }) {
  usePageTitle("Webhooks");
  const { data, problem, reload } = useList<Webhook>(client, "webhooks", live);
  const [adding, setAdding] = useState(false);
  const [secret, setSecret] = useState("");
  const button = <button type="button" class="small" onClick={() => setAdding(true)}>Add endpoint</button>;
  return (
    <>
      <Title>Webhooks</Title>
      <ErrorNotice text={problem} />
      {secret && <SecretNotice label="The endpoint’s secret." secret={secret} onKept={() => setSecret("")} />}
      {data?.length === 0 && (
        <Empty icon="link" title="No endpoints yet" action={hasRole(who, "admin") && button}>
          An endpoint is an address of yours that is told what happens, such as a completed envelope, as soon as it happened. {hasRole(who, "admin") ? "Add one here, or register it through the API." : "Administrators add endpoints here; applications use the API."}
        </Empty>
      )}
      <div class="stack">{data?.map((w) => <Endpoint key={w.id} client={client} who={who} w={w} onChange={reload} onSecret={setSecret} />)}</div>
      {hasRole(who, "admin") && (data?.length ?? 0) > 0 && <p>{button}</p>}
      {adding && (
        <EndpointForm title="Add endpoint" label="Add" fresh onClose={() => setAdding(false)} work={async (url, events, own, key) => {
          await client.call("webhooks", { body: { url, events, secret: own }, key });
          if (own) setSecret(own);
          reload();
        }} />
      )}
      <Deliveries client={client} who={who} />
    </>
  );
}

function Endpoint({ client, who, w, onChange, onSecret }: { client: Client; who: Identity; w: Webhook; onChange: () => void; onSecret: (s: string) => void }) {
  const [asking, setAsking] = useState<"edit" | "rotate" | "delete" | null>(null);
  const close = () => setAsking(null);
  const post = (path: string) => async (key: string) => {
    await client.call(`webhooks/${w.id}/${path}`, { method: "POST", key });
    onChange();
  };
  const overlapping = w.previousSecretUntil !== null && new Date(w.previousSecretUntil) > new Date();
  return (
    <section class="card" aria-label={w.url}>
      <div class="row head"><h2 class="mono">{w.url}</h2><Badge>{w.active ? (w.failingSince ? "failing" : "active") : w.disabledReason || "paused"}</Badge></div>
      <p class="quiet small">{w.events.join(", ")}</p>
      <p class="quiet small">Signed with {w.signedWith === "secret" ? "a secret of its own" : "the application’s client secret"}{overlapping && `; the one before also signs until ${formatTime(w.previousSecretUntil)}`}.</p>
      <ActionRow>
        {hasRole(who, "support") && <ActionButton label="Send a ping" done="Ping sent." work={post("ping")} disabled={!w.active} />}
        {hasRole(who, "support") && <ActionButton label="Resend deliveries that failed in the last 24 hours" disabled={!w.active} work={async () => {
          const answer = await client.call<Resent>(`webhooks/${w.id}/resend`, { body: { since: new Date(Date.now() - day).toISOString() } });
          onChange();
          return resentWords(answer);
        }} />}
        {hasRole(who, "admin") && (
          <>
            <ActionButton label={w.active ? "Pause" : "Resume"} work={post(w.active ? "pause" : "resume")} />
            <button type="button" class="plain small" onClick={() => setAsking("edit")}>Edit</button>
            <button type="button" class="plain small" onClick={() => setAsking("rotate")}>New secret</button>
            <button type="button" class="plain small" onClick={() => setAsking("delete")}>Delete</button>
          </>
        )}
      </ActionRow>
      {w.failingSince && <p class="small">Failing since {formatTime(w.failingSince)}{w.lastError && `: ${w.lastError}`}</p>}
      {w.disabledAt && <p class="small">Switched off {formatTime(w.disabledAt)}, {w.disabledReason === "gone" ? "because it answered that it is gone (410)" : "because nothing reached it for days"}.</p>}
      {asking === "edit" && (
        <EndpointForm title="Edit endpoint" label="Save" url={w.url} events={w.events} onClose={close}
          work={async (url, events) => { await client.call(`webhooks/${w.id}`, { method: "PATCH", body: { url, events } }); onChange(); }} />
      )}
      {asking === "rotate" && <Rotate client={client} w={w} onClose={close} onSecret={(s) => { onSecret(s); onChange(); }} />}
      {asking === "delete" && (
        <FormDialog title="Delete endpoint?" label="Delete" tone="bad" onClose={close} work={async () => { await client.call(`webhooks/${w.id}`, { method: "DELETE" }); onChange(); }}>
          <p>What is on its way to <span class="mono">{w.url}</span> ends, and what failed cannot be sent again. This cannot be undone; Pause can.</p>
        </FormDialog>
      )}
    </section>
  );
}

function EndpointForm({ title, label, url: first = "https://", events: chosen = ["envelope.completed", "envelope.declined", "signer.signed"], fresh = false, work, onClose }: {
  title: string; label: string; url?: string; events?: string[]; fresh?: boolean; work: (url: string, events: string[], secret: string | null, key: string) => Promise<void>; onClose: () => void;
}) {
  const [url, setURL] = useState(first);
  const [events, setEvents] = useState(chosen);
  const [own, setOwn] = useState(true);
  const [secret] = useState(makeSecret); // of this dialog: a repeated request is the same one
  const all = [...webhookEvents, ...events.filter((e) => !webhookEvents.includes(e))];
  return (
    <FormDialog title={title} label={label} onClose={onClose} work={(key) => work(url, all.filter((e) => events.includes(e)), own ? secret : null, key)}>
      <div><label for="hookurl">Address</label><input id="hookurl" type="url" required maxLength={2048} value={url} onInput={(e) => setURL(e.currentTarget.value)} /></div>
      <fieldset class="ticks"><legend>Events</legend>
        {all.map((e) => <label key={e}><input type="checkbox" checked={events.includes(e)} onChange={(x) => setEvents(x.currentTarget.checked ? [...events, e] : events.filter((y) => y !== e))} /> {e}</label>)}
      </fieldset>
      {fresh && <label class="check"><input type="checkbox" checked={own} onChange={(e) => setOwn(e.currentTarget.checked)} /> Make a secret for it (otherwise the client secret signs)</label>}
    </FormDialog>
  );
}

function Rotate({ client, w, onClose, onSecret }: { client: Client; w: Webhook; onClose: () => void; onSecret: (s: string) => void }) {
  const [hours, setHours] = useState("24");
  const [secret] = useState(makeSecret); // of this dialog: a second one would end the receiver's own at once
  const work = async (key: string) => {
    await client.call(`webhooks/${w.id}/secret`, { body: { secret, overlapHours: Number(hours) }, key });
    onSecret(secret);
  };
  return (
    <FormDialog title="Create a new secret?" label="Create secret" onClose={onClose} work={work}>
      <p>Deliveries are signed with both secrets until the old one expires.</p>
      <div><label for="overlap">Old secret expires after (hours, 0 to 168)</label><input id="overlap" type="number" min={0} max={168} required value={hours} onInput={(e) => setHours(e.currentTarget.value)} /></div>
    </FormDialog>
  );
}

function Deliveries({ client, who }: { client: Client; who: Identity }) {
  const { get, set } = useFilters();
  const status = get("status") || "failed";
  const { data, problem, reload, stale } = useLoad<Paged<Delivery>>(client, `webhook-deliveries?${query({ status: status === "any" ? "" : status, cursor: get("cursor"), pageSize: 20 })}`, live);
  return (
    <>
      <h2 class="later">Deliveries</h2>
      <div class="filters"><div><label for="dstatus">Status</label><select id="dstatus" value={status} onChange={(e) => set({ status: e.currentTarget.value })}><option value="failed">failed</option><option value="pending">pending</option><option value="delivered">delivered</option><option value="any">any</option></select></div></div>
      <ErrorNotice text={problem} />
      {data && (
        <>
          <Table label="Deliveries" head={["Event", "Status", "Envelope", "Endpoint", "Attempts", "Created", "Resend"]}>
            {data.data.map((d) => (
              <tr key={d.id}>
                <td><a href={`#/deliveries/${d.id}`}>{d.event}</a></td>
                <td><Badge>{d.status}</Badge></td>
                <td>{d.envelopeId ? <a href={`#/envelopes/${d.envelopeId}`}><bdi>{d.envelopeSubject ?? d.envelopeId}</bdi></a> : "–"}</td>
                <td class="mono">{d.webhookUrl ?? "deleted"}</td>
                <td>{d.attempts}</td>
                <td>{formatTime(d.createdAt)}</td>
                <td>{d.status !== "pending" && d.webhookUrl && hasRole(who, "support") ? <ActionButton label="Resend" work={async (key) => { await client.call(`webhook-deliveries/${d.id}/resend`, { method: "POST", key }); reload(); }} /> : "–"}</td>
              </tr>
            ))}
          </Table>
          {data.data.length === 0 && <p class="quiet">{status === "any" ? "No deliveries." : `There are no ${status} deliveries.`}</p>}
          <Pager cursor={get("cursor")} next={data.nextCursor} stale={stale} onPage={(cursor) => set({ cursor })} />
        </>
      )}
    </>
  );
}
