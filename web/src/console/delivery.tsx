import { Title } from "../ui/parts";
import { hasRole, useLoad, formatTime, type Client, type Delivery, type Identity } from "./api";
import { live } from "./envelopes";
import { ActionButton, Badge, ErrorNotice } from "./parts";
import { listHref, usePageTitle } from "./route";
import { locale, t } from "./texts";

export function DeliveryPage({ client, who, id }: { client: Client; who: Identity; id: string }) {
  const { data: d, problem, reload } = useLoad<Delivery>(client, `webhook-deliveries/${id}`, live);
  usePageTitle(d ? t("deliveryTo", { event: d.event, endpoint: d.webhookUrl ?? t("deletedEndpoint") }) : t("delivery"));
  if (!d) return <><ErrorNotice text={problem} />{!problem && <p class="quiet">{t("loading")}</p>}</>;
  return (
    <>
      <p class="small"><a href={listHref("webhooks")}>{t("webhooks")}</a></p>
      <div class="row head"><Title><bdi>{d.event}</bdi></Title><Badge>{d.status}</Badge></div>
      <ErrorNotice text={problem} />
      <dl class="facts">
        <dt>{t("endpoint")}</dt><dd class="mono">{d.webhookUrl ? <bdi>{d.webhookUrl}</bdi> : t("deleted")}</dd>
        {d.envelopeId && <><dt>{t("envelope")}</dt><dd><a href={`#/envelopes/${d.envelopeId}`}><bdi>{d.envelopeSubject ?? d.envelopeId}</bdi></a></dd></>}
        <dt>{t("eventId")}</dt><dd class="mono"><bdi>{d.eventId}</bdi></dd>
        <dt>{t("createdAt")}</dt><dd>{formatTime(d.createdAt)}</dd>
        {d.deliveredAt && <><dt>{t("deliveredAt")}</dt><dd>{formatTime(d.deliveredAt)}</dd></>}
        {d.failedAt && <><dt>{t("failedAt")}</dt><dd>{formatTime(d.failedAt)}</dd></>}
        <dt>{t("resent")}</dt><dd>{t("times", { n: d.resends })}</dd>
      </dl>
      {d.status !== "pending" && d.webhookUrl && d.payload !== null && hasRole(who, "support") && <p><ActionButton label={t("resend")} done={t("resending")} work={async (key) => { await client.call(`webhook-deliveries/${id}/resend`, { method: "POST", key }); reload(); }} /></p>}
      <h2 class="later">{t("attempts")}</h2>
      {(d.attemptLog ?? []).length === 0 && <p class="quiet">{t("noneYet")}</p>}
      <div class="stack">
        {(d.attemptLog ?? []).map((a) => (
          <section class="card" key={`${a.number}-${a.at}`}>
            <div class="row head"><h3>{t("attemptNumber", { n: a.number })}</h3><span class={`badge ${a.status && a.status < 300 ? "good" : "bad"}`}>{a.status ?? t("noResponse")}</span><span class="quiet small">{formatTime(a.at)} · {new Intl.NumberFormat(locale(), { style: "unit", unit: "millisecond" }).format(a.latencyMs)}</span></div>
            {a.error && <p class="small" dir="auto">{a.error}</p>}
            {a.body && <pre tabIndex={0} dir="ltr" aria-label={t("responseTo", { n: a.number })}>{a.body}</pre>}
          </section>
        ))}
      </div>
      <h2 class="later">{t("payload")}</h2>
      {d.payload === null
        ? <p class="quiet">{t("payloadDeleted")}</p>
        : <pre tabIndex={0} dir="ltr" aria-label={t("payload")}>{JSON.stringify(d.payload, null, 2)}</pre>}
    </>
  );
}
