import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { query, useLoad, formatTime, hasRole, type Client, type Identity, type Paged } from "./api";
import { live } from "./envelopes";
import { Empty } from "./empty";
import { ActionButton, ActionRow, Badge, Confirm, ErrorNotice, Pager, Table } from "./parts";
import { listHref, useFilters, usePageTitle } from "./route";

interface BulkSend {
  id: string; tenantId: string; templateId: string; templateVersion: number; name: string; status: "queued" | "running" | "paused" | "completed" | "cancelled";
  total: number; counts: { pending: number; sent: number; failed: number; cancelled: number }; perMinute: number | null; createdBy: string; createdAt: string; completedAt: string | null;
}
interface Row { row: number; externalId: string | null; error: { code: string; message: string } | null; settledAt: string | null }

const settled = (b: BulkSend): number => b.total - b.counts.pending;

export function BulkSends({ client, who }: { client: Client; who: Identity }) {
  usePageTitle("Bulk sends");
  const { get, set } = useFilters();
  const tenant = get("tenant");
  const { data, problem, stale } = useLoad<Paged<BulkSend>>(client, `/v1/bulk-sends?${query({ tenantId: tenant, cursor: get("cursor"), pageSize: 20 })}`, live);
  const sender = hasRole(who, "sender");
  const fresh = data?.data.length === 0 && !tenant && !get("cursor");
  const button = sender && <a class="button small" href="#/bulk/new">New bulk send</a>;
  return (
    <>
      <div class="row head"><Title>Bulk sends</Title>{!fresh && button}</div>
      {fresh && (
        <Empty icon="plus" title="No bulk sends yet" action={button}>
          One table, many envelopes: each row of a CSV file says who takes the roles of a template. {sender ? "Every row is checked before anything is sent." : "Senders start bulk sends here; applications use the API."}
        </Empty>
      )}
      <form class="filters" role="search" hidden={fresh} onSubmit={(e) => e.preventDefault()}>
        <div><label for="tenant">Workspace</label><input id="tenant" maxLength={255} value={tenant} onInput={(e) => set({ tenant: e.currentTarget.value })} /></div>
      </form>
      <ErrorNotice text={problem} />
      {data && !fresh && (
        <>
          <Table label="Bulk sends" head={["Name", "Status", "Sent", "Failed", "Workspace", "Created"]}>
            {data.data.map((b) => (
              <tr key={b.id}>
                <td><a href={`#/bulk/${b.id}`}><bdi>{b.name || b.id}</bdi></a></td>
                <td><Badge>{b.status}</Badge></td>
                <td>{b.counts.sent.toLocaleString()} of {b.total.toLocaleString()}</td>
                <td>{b.counts.failed.toLocaleString()}</td>
                <td><bdi>{b.tenantId}</bdi></td>
                <td>{formatTime(b.createdAt)}</td>
              </tr>
            ))}
          </Table>
          {data.data.length === 0 && <p class="quiet">No matches.</p>}
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
  usePageTitle(b ? b.name || `Bulk send ${id}` : "Bulk send");
  if (!b) return <><ErrorNotice text={problem} />{!problem && <p class="quiet">One moment …</p>}</>;
  const open = ["queued", "running", "paused"].includes(b.status);
  const act = (verb: string) => async (key: string) => { await client.call(`${at}/${verb}`, { method: "POST", key }); reload(); };
  return (
    <>
      <p class="small"><a href={listHref("bulk")}>Bulk sends</a></p>
      <div class="row head"><Title><bdi>{b.name || "Bulk send"}</bdi></Title><Badge>{b.status}</Badge></div>
      <ErrorNotice text={problem} />
      <section class="card">
        <p>{settled(b).toLocaleString()} of {b.total.toLocaleString()} rows are done.</p>
        <div class="usage" role="progressbar" aria-label="Rows completed" aria-valuemin={0} aria-valuemax={b.total} aria-valuenow={settled(b)}><div style={{ width: `${(100 * settled(b)) / b.total}%` }} /></div>
        <dl class="facts">
          <dt>Sent</dt><dd>{b.counts.sent.toLocaleString()}</dd>
          <dt>Waiting</dt><dd>{b.counts.pending.toLocaleString()}</dd>
          <dt>Failed</dt><dd>{b.counts.failed.toLocaleString()}</dd>
          <dt>Cancelled</dt><dd>{b.counts.cancelled.toLocaleString()}</dd>
          <dt>Rows per minute</dt><dd>{b.perMinute === null ? "without limit" : `at most ${b.perMinute.toLocaleString()}`}</dd>
          <dt>Workspace</dt><dd><bdi>{b.tenantId}</bdi></dd>
          <dt>Template</dt><dd><a href={`#/templates/${b.templateId}`}>{template.data ? <bdi>{template.data.name}</bdi> : <span class="mono">{b.templateId}</span>}</a>, version {b.templateVersion}</dd>
          <dt>Created</dt><dd>{formatTime(b.createdAt)}</dd>
          {b.completedAt && <><dt>Ended</dt><dd>{formatTime(b.completedAt)}</dd></>}
        </dl>
        <ActionRow>
          {hasRole(who, "sender") && (
            <>
              {(b.status === "queued" || b.status === "running") && <ActionButton label="Pause" done="No more rows are sent." work={act("pause")} />}
              {b.status === "paused" && <ActionButton label="Resume" done="Sending continues with the next row." work={act("resume")} />}
              {b.status !== "cancelled" && b.counts.failed > 0 && <ActionButton label="Retry failed rows" done="Failed rows are retried." work={act("retry")} />}
              {open && <button type="button" class="plain small" onClick={() => setCancelling(true)}>Cancel</button>}
            </>
          )}
          {b.counts.failed > 0 && <ActionButton label="Download failed rows" work={() => client.download(`${at}/rows?status=failed`, `bulk-send-${id}-failed.csv`, "text/csv")} />}
          <ActionButton label="Download rows as CSV" work={() => client.download(`${at}/rows`, `bulk-send-${id}.csv`, "text/csv")} />
        </ActionRow>
      </section>
      {b.counts.failed > 0 && (
        <>
          <h2 class="later">Failed rows</h2>
          <ErrorNotice text={failed.problem} />
          {failed.data && (
            <>
              <Table label="Failed rows" head={["Reason", "Row", "External ID", "Failed"]}>
                {failed.data.data.map((r) => (
                  <tr key={r.row}><td>{r.error?.message}<br /><span class="quiet small mono">{r.error?.code}</span></td><td>{r.row}</td><td><bdi>{r.externalId ?? "–"}</bdi></td><td>{formatTime(r.settledAt)}</td></tr>
                ))}
              </Table>
              <Pager cursor={cursor} next={failed.data.nextCursor} stale={failed.stale} onPage={setCursor} labels={["Previous", "Next"]} />
            </>
          )}
        </>
      )}
      {cancelling && <Confirm title="Cancel this bulk send?" text="Rows that have not been sent are never sent. Sent envelopes stay. This can't be undone." label="Cancel bulk send" work={(_, key) => act("cancel")(key)} onClose={() => setCancelling(false)} />}
    </>
  );
}
