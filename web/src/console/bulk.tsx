import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { query, useLoad, formatTime, hasRole, type Client, type Identity, type Paged } from "./api";
import { live } from "./envelopes";
import { Empty } from "./empty";
import { ActionButton, ActionRow, Badge, Confirm, ErrorNotice, Pager, Table, useFocusedRow } from "./parts";
import { listHref, useFilters, usePageTitle } from "./route";
import { numeral, rich, t } from "./texts";

interface BulkSend {
  id: string; tenantId: string; templateId: string; templateVersion: number; name: string; status: "queued" | "running" | "paused" | "completed" | "cancelled";
  total: number; counts: { pending: number; sent: number; failed: number; cancelled: number }; perMinute: number | null; createdBy: string; createdAt: string; completedAt: string | null;
}
interface Row { row: number; externalId: string | null; error: { code: string; message: string } | null; settledAt: string | null }

const settled = (b: BulkSend): number => b.total - b.counts.pending;

export function BulkSends({ client, who }: { client: Client; who: Identity }) {
  usePageTitle(t("bulkSends"));
  const { get, set } = useFilters();
  const tenant = get("tenant");
  const { data, problem, stale } = useLoad<Paged<BulkSend>>(client, `/v1/bulk-sends?${query({ tenantId: tenant, cursor: get("cursor"), pageSize: 20 })}`, live);
  const rows = useFocusedRow(data?.data ?? []);
  const sender = hasRole(who, "sender");
  const fresh = data?.data.length === 0 && !tenant && !get("cursor");
  const known = Boolean(data ?? problem); // until then, it is unknown whether there are any bulk sends
  const button = sender && <a class="button small" href="#/bulk/new">{t("newBulkSend")}</a>;
  return (
    <>
      <div class="row head"><Title>{t("bulkSends")}</Title>{known && !fresh && button}</div>
      {fresh && (
        <Empty icon="plus" title={t("noBulkSends")} action={button}>
          {t("bulkText")} {t(sender ? "bulkByYou" : "bulkBySenders")}
        </Empty>
      )}
      <form class="filters" role="search" hidden={!known || fresh} onSubmit={(e) => e.preventDefault()}>
        <div><label for="tenant">{t("workspace")}</label><input id="tenant" maxLength={255} value={tenant} onInput={(e) => set({ tenant: e.currentTarget.value })} /></div>
      </form>
      <ErrorNotice text={problem} />
      {data && !fresh && (
        <>
          <Table label={t("bulkSends")} head={[t("name"), t("status"), t("sent"), t("failedAt"), t("workspace"), t("createdAt")]}>
            {rows.map((b) => (
              <tr key={b.id} data-id={b.id}>
                <td><a href={`#/bulk/${b.id}`}><bdi>{b.name || b.id}</bdi></a></td>
                <td><Badge>{b.status}</Badge></td>
                <td>{t("ofTotal", { done: b.counts.sent, total: b.total })}</td>
                <td>{numeral(b.counts.failed)}</td>
                <td><bdi>{b.tenantId}</bdi></td>
                <td>{formatTime(b.createdAt)}</td>
              </tr>
            ))}
          </Table>
          {rows.length === 0 && <p class="quiet">{t("noMatches")}</p>}
          <Pager cursor={get("cursor")} next={data.nextCursor} stale={stale} onPage={(cursor) => set({ cursor })} />
        </>
      )}
    </>
  );
}

export function BulkSendPage({ client, who, id }: { client: Client; who: Identity; id: string }) {
  const at = `/v1/bulk-sends/${id}`;
  const { data: b, problem, reload } = useLoad<BulkSend>(client, at, live);
  const [cursor, setCursor] = useState("");
  const failed = useLoad<Paged<Row>>(client, b && b.counts.failed > 0 ? `${at}/rows?${query({ status: "failed", cursor, pageSize: 20 })}` : null, live);
  const template = useLoad<{ name: string }>(client, b ? `/v1/templates/${b.templateId}` : null);
  const [cancelling, setCancelling] = useState(false);
  usePageTitle(b?.name || t("bulkSend"));
  if (!b) return <><ErrorNotice text={problem} />{!problem && <p class="quiet">{t("loading")}</p>}</>;
  const open = ["queued", "running", "paused"].includes(b.status);
  const act = (verb: string) => async (key: string) => { await client.call(`${at}/${verb}`, { method: "POST", key }); reload(); };
  return (
    <>
      <p class="small"><a href={listHref("bulk")}>{t("bulkSends")}</a></p>
      <div class="row head"><Title><bdi>{b.name || t("bulkSend")}</bdi></Title><Badge>{b.status}</Badge></div>
      <ErrorNotice text={problem} />
      <section class="card">
        <p>{t("rowsDone", { done: settled(b), n: b.total })}</p>
        <div class="usage" role="progressbar" aria-label={t("rowsCompleted")} aria-valuemin={0} aria-valuemax={b.total} aria-valuenow={settled(b)}><div style={{ width: `${(100 * settled(b)) / b.total}%` }} /></div>
        <dl class="facts">
          <dt>{t("sent")}</dt><dd>{numeral(b.counts.sent)}</dd>
          <dt>{t("waitingRows")}</dt><dd>{numeral(b.counts.pending)}</dd>
          <dt>{t("failedAt")}</dt><dd>{numeral(b.counts.failed)}</dd>
          <dt>{t("canceled")}</dt><dd>{numeral(b.counts.cancelled)}</dd>
          <dt>{t("rowsPerMinute")}</dt><dd>{b.perMinute === null ? t("noLimit") : t("atMost", { n: b.perMinute })}</dd>
          <dt>{t("workspace")}</dt><dd><bdi>{b.tenantId}</bdi></dd>
          <dt>{t("template")}</dt><dd>{rich("templateVersion", { template: <a href={`#/templates/${b.templateId}`}>{template.data ? <bdi>{template.data.name}</bdi> : <bdi class="mono">{b.templateId}</bdi>}</a> }, b.templateVersion)}</dd>
          <dt>{t("createdAt")}</dt><dd>{formatTime(b.createdAt)}</dd>
          {b.completedAt && <><dt>{t("ended")}</dt><dd>{formatTime(b.completedAt)}</dd></>}
        </dl>
        <ActionRow>
          {hasRole(who, "sender") && (
            <>
              {(b.status === "queued" || b.status === "running") && <ActionButton label={t("pause")} done={t("bulkPaused")} work={act("pause")} />}
              {b.status === "paused" && <ActionButton label={t("resume")} done={t("bulkResumed")} work={act("resume")} />}
              {b.status !== "cancelled" && b.counts.failed > 0 && <ActionButton label={t("retryRows")} done={t("rowsRetried")} work={act("retry")} />}
              {open && <button type="button" class="plain small" onClick={() => setCancelling(true)}>{t("cancel")}</button>}
            </>
          )}
          {b.counts.failed > 0 && <ActionButton label={t("downloadFailedRows")} work={() => client.download(`${at}/rows?status=failed`, `bulk-send-${id}-failed.csv`, "text/csv")} />}
          <ActionButton label={t("downloadRows")} work={() => client.download(`${at}/rows`, `bulk-send-${id}.csv`, "text/csv")} />
        </ActionRow>
      </section>
      {b.counts.failed > 0 && (
        <>
          <h2 class="later">{t("failedRows")}</h2>
          <ErrorNotice text={failed.problem} />
          {failed.data && (
            <>
              <Table label={t("failedRows")} head={[t("reason"), t("row"), t("externalId"), t("failedAt")]}>
                {failed.data.data.map((r) => (
                  <tr key={r.row}><td dir="auto">{r.error?.message}<br /><span class="quiet small mono">{r.error?.code}</span></td><td>{r.row}</td><td><bdi>{r.externalId ?? "–"}</bdi></td><td>{formatTime(r.settledAt)}</td></tr>
                ))}
              </Table>
              <Pager cursor={cursor} next={failed.data.nextCursor} stale={failed.stale} onPage={setCursor} labels={[t("previous"), t("next")]} />
            </>
          )}
        </>
      )}
      {cancelling && <Confirm title={t("cancelBulkQuestion")} text={t("cancelBulkText")} label={t("cancelBulk")} work={(_, key) => act("cancel")(key)} onClose={() => setCancelling(false)} />}
    </>
  );
}
