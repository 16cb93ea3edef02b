import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { hasRole, query, useList, useLoad, webhookEvents, formatTime, type Client, type Delivery, type Paged, type Webhook, type Identity } from "./api";
import { live } from "./envelopes";
import { Empty } from "./empty";
import { ActionButton, ActionRow, FormDialog, Badge, makeSecret, nameOf, SecretNotice, Pager, ErrorNotice, Table } from "./parts";
import { useFilters, usePageTitle } from "./route";
import { rich, t, type TextKey } from "./texts";

const day = 86_400_000;

const noDeliveries: Partial<Record<string, TextKey>> = { failed: "noFailedDeliveries", pending: "noPendingDeliveries", delivered: "noDeliveredDeliveries" };

interface Resent { resent: number; remaining: number }

/** Returns the text for the result of resending all failed deliveries. */
function resentWords({ resent, remaining }: Resent): string {
  if (resent === 0) return t("noneFailedToday");
  const some = t("deliveriesResent", { n: resent });
  return remaining ? `${some} ${t("moreFailed", { n: remaining })}` : some;
}

export function Webhooks({ client, who }: { client: Client; who: Identity }) {
  usePageTitle(t("webhooks"));
  const { data, problem, reload } = useList<Webhook>(client, "webhooks", live);
  const [adding, setAdding] = useState(false);
  const [secret, setSecret] = useState("");
  const button = <button type="button" class="small" onClick={() => setAdding(true)}>{t("addEndpoint")}</button>;
  return (
    <>
      <Title>{t("webhooks")}</Title>
      <ErrorNotice text={problem} />
      {secret && <SecretNotice label={t("endpointSecret")} secret={secret} onKept={() => setSecret("")} />}
      {data?.length === 0 && (
        <Empty icon="link" title={t("noEndpoints")} action={hasRole(who, "admin") && button}>
          {t("endpointsText")} {t(hasRole(who, "admin") ? "endpointsByYou" : "endpointsByAdmins")}
        </Empty>
      )}
      <div class="stack">{data?.map((w) => <Endpoint key={w.id} client={client} who={who} w={w} onChange={reload} onSecret={setSecret} />)}</div>
      {hasRole(who, "admin") && (data?.length ?? 0) > 0 && <p>{button}</p>}
      {adding && (
        <EndpointForm title={t("addEndpoint")} label={t("add")} fresh onClose={() => setAdding(false)} work={async (url, events, own, key) => {
          await client.call("webhooks", { body: { url, events, secret: own }, key });
          if (own) setSecret(own);
          reload();
        }} />
      )}
      <Deliveries client={client} who={who} shown={Boolean(data ?? problem)} />
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
      <div class="row head"><h2 class="mono" dir="ltr">{w.url}</h2><Badge>{w.active ? (w.failingSince ? "failing" : "active") : w.disabledReason || "paused"}</Badge></div>
      <p class="quiet small"><bdi>{w.events.join(", ")}</bdi></p>
      <p class="quiet small">{t(w.signedWith === "secret" ? "signedWithOwn" : "signedWithClient")}{overlapping && ` ${t("previousSigns", { time: formatTime(w.previousSecretUntil) })}`}</p>
      <ActionRow>
        {hasRole(who, "support") && <ActionButton label={t("sendPing")} done={t("pingSent")} work={post("ping")} disabled={!w.active} />}
        {hasRole(who, "support") && <ActionButton label={t("resendFailed")} disabled={!w.active} work={async () => {
          const answer = await client.call<Resent>(`webhooks/${w.id}/resend`, { body: { since: new Date(Date.now() - day).toISOString() } });
          onChange();
          return resentWords(answer);
        }} />}
        {hasRole(who, "admin") && (
          <>
            <ActionButton label={t(w.active ? "pause" : "resume")} work={post(w.active ? "pause" : "resume")} />
            <button type="button" class="plain small" onClick={() => setAsking("edit")}>{t("edit")}</button>
            <button type="button" class="plain small" onClick={() => setAsking("rotate")}>{t("newSecret")}</button>
            <button type="button" class="plain small" onClick={() => setAsking("delete")}>{t("delete")}</button>
          </>
        )}
      </ActionRow>
      {w.failingSince && <p class="small">{t("failingSince", { time: formatTime(w.failingSince) })}{w.lastError && <> <bdi>{w.lastError}</bdi></>}</p>}
      {w.disabledAt && <p class="small">{t(w.disabledReason === "gone" ? "disabledGone" : "disabledFailing", { time: formatTime(w.disabledAt) })}</p>}
      {asking === "edit" && (
        <EndpointForm title={t("editEndpoint")} label={t("save")} url={w.url} events={w.events} onClose={close}
          work={async (url, events) => { await client.call(`webhooks/${w.id}`, { method: "PATCH", body: { url, events } }); onChange(); }} />
      )}
      {asking === "rotate" && <Rotate client={client} w={w} onClose={close} onSecret={(s) => { onSecret(s); onChange(); }} />}
      {asking === "delete" && (
        <FormDialog title={t("deleteEndpointQuestion")} label={t("delete")} tone="bad" onClose={close} work={async () => { await client.call(`webhooks/${w.id}`, { method: "DELETE" }); onChange(); }}>
          <p>{rich("deleteEndpointText", { url: <span class="mono" dir="ltr">{w.url}</span> })}</p>
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
  // The secret remains the same while the dialog is open, so that a repeated request is identical.
  const [secret] = useState(makeSecret);
  const all = [...webhookEvents, ...events.filter((e) => !webhookEvents.includes(e))];
  return (
    <FormDialog title={title} label={label} onClose={onClose} work={(key) => work(url, all.filter((e) => events.includes(e)), own ? secret : null, key)}>
      <div><label for="hookurl">{t("url")}</label><input id="hookurl" type="url" required maxLength={2048} value={url} onInput={(e) => setURL(e.currentTarget.value)} /></div>
      <fieldset class="ticks"><legend>{t("events")}</legend>
        {all.map((e) => <label key={e}><input type="checkbox" checked={events.includes(e)} onChange={(x) => setEvents(x.currentTarget.checked ? [...events, e] : events.filter((y) => y !== e))} /> <bdi>{e}</bdi></label>)}
      </fieldset>
      {fresh && <label class="check"><input type="checkbox" checked={own} onChange={(e) => setOwn(e.currentTarget.checked)} /> {t("ownSecret")}</label>}
    </FormDialog>
  );
}

function Rotate({ client, w, onClose, onSecret }: { client: Client; w: Webhook; onClose: () => void; onSecret: (s: string) => void }) {
  const [hours, setHours] = useState("24");
  // The secret remains the same while the dialog is open, because a second new secret would immediately invalidate the
  // receiver's current one.
  const [secret] = useState(makeSecret);
  const work = async (key: string) => {
    await client.call(`webhooks/${w.id}/secret`, { body: { secret, overlapHours: Number(hours) }, key });
    onSecret(secret);
  };
  return (
    <FormDialog title={t("newSecretQuestion")} label={t("createSecret")} onClose={onClose} work={work}>
      <p>{t("bothSecretsSign")}</p>
      <div><label for="overlap">{t("oldSecretHours")}</label><input id="overlap" type="number" min={0} max={168} required value={hours} onInput={(e) => setHours(e.currentTarget.value)} /></div>
    </FormDialog>
  );
}

function Deliveries({ client, who, shown }: { client: Client; who: Identity; /** Whether the part of the page above the deliveries is complete, so that they do not move. */ shown: boolean }) {
  const { get, set } = useFilters();
  const status = get("status") || "failed";
  const { data, problem, reload, stale } = useLoad<Paged<Delivery>>(client, `webhook-deliveries?${query({ status: status === "any" ? "" : status, cursor: get("cursor"), pageSize: 20 })}`, live);
  if (!shown) return null;
  return (
    <>
      <h2 class="later">{t("deliveries")}</h2>
      <div class="filters"><div><label for="dstatus">{t("status")}</label><select id="dstatus" value={status} onChange={(e) => set({ status: e.currentTarget.value })}>{(["failed", "pending", "delivered"] as const).map((s) => <option key={s} value={s}>{nameOf(s)}</option>)}<option value="any">{t("any")}</option></select></div></div>
      <ErrorNotice text={problem} />
      {data && (
        <>
          <Table label={t("deliveries")} head={[t("event"), t("status"), t("envelope"), t("endpoint"), t("attempts"), t("createdAt"), t("resend")]}>
            {data.data.map((d) => (
              <tr key={d.id}>
                <td><a href={`#/deliveries/${d.id}`}><bdi>{d.event}</bdi></a></td>
                <td><Badge>{d.status}</Badge></td>
                <td>{d.envelopeId ? <a href={`#/envelopes/${d.envelopeId}`}><bdi>{d.envelopeSubject ?? d.envelopeId}</bdi></a> : "–"}</td>
                <td class="mono">{d.webhookUrl ? <bdi>{d.webhookUrl}</bdi> : t("deleted")}</td>
                <td>{d.attempts}</td>
                <td>{formatTime(d.createdAt)}</td>
                <td>{d.status !== "pending" && d.webhookUrl && hasRole(who, "support") ? <ActionButton label={t("resend")} work={async (key) => { await client.call(`webhook-deliveries/${d.id}/resend`, { method: "POST", key }); reload(); }} /> : "–"}</td>
              </tr>
            ))}
          </Table>
          {data.data.length === 0 && <p class="quiet">{t(noDeliveries[status] ?? "noDeliveries")}</p>}
          <Pager cursor={get("cursor")} next={data.nextCursor} stale={stale} onPage={(cursor) => set({ cursor })} />
        </>
      )}
    </>
  );
}
