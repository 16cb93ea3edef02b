import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { may, query, useLoad, when, type Client, type Envelope, type Paged, type Who } from "./api";
import { Act, Badge, Confirm, Pager, Problem, Table } from "./parts";

const statuses = ["draft", "sent", "in_progress", "completed", "declined", "voided", "expired"];
const live = 4000; // milliseconds between looks at what may have changed

export function Envelopes({ client }: { client: Client }) {
  const [search, setSearch] = useState("");
  const [status, setStatus] = useState("");
  const [tenantId, setTenant] = useState("");
  const [page, setPage] = useState(1);
  const { data, problem } = useLoad<Paged<Envelope>>(client, `envelopes?${query({ search, status, tenantId, page, pageSize: 20 })}`, live);
  const filter = (set: (s: string) => void) => (e: { currentTarget: { value: string } }) => {
    set(e.currentTarget.value);
    setPage(1);
  };
  return (
    <>
      <Title>Envelopes</Title>
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <div><label for="search">Search</label><input id="search" type="search" placeholder="Subject, name or e-mail" value={search} onInput={filter(setSearch)} /></div>
        <div><label for="status">Status</label><select id="status" value={status} onChange={filter(setStatus)}><option value="">any</option>{statuses.map((s) => <option key={s} value={s}>{s.replace("_", " ")}</option>)}</select></div>
        <div><label for="tenant">Tenant</label><input id="tenant" value={tenantId} onInput={filter(setTenant)} /></div>
      </form>
      <Problem text={problem} />
      {data && (
        <>
          <Table label="Envelopes" head={["Subject", "Status", "Signers", "Tenant", "Created"]}>
            {data.data.map((e) => (
              <tr key={e.id}>
                <td><a href={`#/envelopes/${e.id}`}><bdi>{e.subject ?? e.id}</bdi></a></td>
                <td><Badge>{e.status}</Badge></td>
                <td>{e.signers.filter((s) => s.status === "signed").length} of {e.signers.length} signed</td>
                <td>{e.tenantId}</td>
                <td>{when(e.createdAt)}</td>
              </tr>
            ))}
          </Table>
          {data.total === 0 && <p class="quiet">Nothing matches.</p>}
          <Pager page={data.page} size={data.pageSize} total={data.total} onPage={setPage} />
        </>
      )}
    </>
  );
}

interface Progress { step: string; openGroup: number; awaiting: string[]; deadline: string | null; nextReminder: string | null; workflowUrl: string | null }

interface Line { at: string; kind: "event" | "mail" | "webhook"; title: string; note: string; bad?: boolean; href?: string }

export function EnvelopePage({ client, who, id }: { client: Client; who: Who; id: string }) {
  const { data: e, problem, reload } = useLoad<Envelope>(client, `envelopes/${id}`, live);
  const progress = useLoad<Progress>(client, e && e.status !== "draft" ? `envelopes/${id}/progress` : null, e && ["sent", "in_progress"].includes(e.status) ? live : 0);
  const [voiding, setVoiding] = useState(false);
  if (!e) return <><Problem text={problem} />{!problem && <p class="quiet">One moment …</p>}</>;
  const open = e.status === "sent" || e.status === "in_progress";
  const names = new Map(e.signers.map((s) => [s.id, s.name]));
  return (
    <>
      <p class="small"><a href="#/envelopes">Envelopes</a></p>
      <div class="row head"><Title><bdi>{e.subject ?? "Envelope"}</bdi></Title><Badge>{e.status}</Badge></div>
      <Problem text={problem} />
      <div class="columns">
        <div class="stack">
          <section class="card">
            <h2>Signers</h2>
            <ul class="plainlist">
              {e.signers.map((s) => (
                <li key={s.id}>
                  <div><strong><bdi>{s.name}</bdi></strong> <Badge>{s.status}</Badge><br /><span class="quiet small"><bdi>{s.email}</bdi> · group {s.routingOrder} · {s.authMethod.replace("_", " ")}{s.signedAt ? ` · signed ${when(s.signedAt)}` : ""}</span></div>
                  {open && ["sent", "viewed"].includes(s.status) && may(who, "support") && (
                    <Act label="Send a new link" done="A new link is on its way; the old one has ended." work={async () => { await client.call(`envelopes/${id}/signers/${s.id}/resend`, { method: "POST" }); reload(); }} />
                  )}
                </li>
              ))}
            </ul>
          </section>
          {progress.data && (
            <section class="card">
              <h2>{open ? "Now" : "In the end"}</h2>
              <dl class="facts">
                <dt>Step</dt><dd>{progress.data.step.replaceAll("_", " ")}</dd>
                {open && (
                  <>
                    <dt>Waiting for</dt><dd>{progress.data.awaiting.map((x) => names.get(x) ?? x).join(", ") || "–"}</dd>
                    <dt>Deadline</dt><dd>{when(progress.data.deadline)}</dd>
                    <dt>Next reminder</dt><dd>{when(progress.data.nextReminder)}</dd>
                  </>
                )}
                <dt>Workflow</dt><dd class="mono">{progress.data.workflowUrl ? <a href={progress.data.workflowUrl} target="_blank" rel="noreferrer">envelope/{e.id}</a> : `envelope/${e.id}`}</dd>
              </dl>
            </section>
          )}
          <section class="card">
            <h2>Documents</h2>
            <ul class="plainlist">
              {e.documents.map((d) => (
                <li key={d.id}>
                  <div><bdi>{d.name}</bdi> <span class="badge">{d.kind}</span><br /><span class="quiet small">{d.pageCount} pages · {Math.ceil(d.size / 1024).toLocaleString()} KiB{d.purgeStatus === "purged" ? " · deleted" : ""}</span></div>
                  {d.purgeStatus !== "purged" && <Act label="Download" work={() => client.download(`envelopes/${id}/document?${query({ kind: d.kind, documentId: d.id })}`, d.name)} />}
                </li>
              ))}
            </ul>
          </section>
          {open && may(who, "support") && <p><button type="button" class="plain small" onClick={() => setVoiding(true)}>Void this envelope</button></p>}
        </div>
        <section class="card">
          <h2>What happened</h2>
          <ol class="timeline">
            {timeline(e, names).map((l, i) => (
              <li key={`${l.at}${i}`} class={`${l.kind} ${l.bad ? "bad" : ""}`}>
                <time class="quiet small" dateTime={l.at}>{when(l.at)}</time>
                <div>{l.href ? <a href={l.href}>{l.title}</a> : <strong>{l.title}</strong>}{l.note && <span class="quiet small"> {l.note}</span>}</div>
              </li>
            ))}
          </ol>
        </section>
      </div>
      {voiding && (
        <Confirm title="Void this envelope?" text="All signing links end at once. This cannot be undone." label="Void" reason="Reason (for the record; may be empty)"
          work={async (reason) => { await client.call(`envelopes/${id}/void`, { body: { reason: reason || null } }); reload(); }} onClose={() => setVoiding(false)} />
      )}
    </>
  );
}

/** Joins audit events, mails and webhook deliveries, the newest first. */
function timeline(e: Envelope, names: Map<string, string>): Line[] {
  const who = (actor: string) => names.get(actor.replace(/^signer:/, "")) ?? actor.replace(/^app:.*/, "application").replace(/^user:.*/, "console");
  const lines: Line[] = [
    ...e.auditLog.map((x): Line => ({
      at: x.timestamp, kind: "event", title: x.event.replaceAll(/[._]/g, " "),
      note: [who(x.actor), x.ip, x.detail?.page ? `page ${x.detail.page}` : "", x.detail?.reason].filter(Boolean).join(" · "),
    })),
    ...(e.mails ?? []).map((m): Line => ({
      at: m.sentAt ?? m.failedAt ?? m.createdAt, kind: "mail", bad: m.failedAt !== null,
      title: `Mail: ${m.kind} ${m.sentAt ? "sent" : m.failedAt ? "failed" : "waiting"}`, note: [names.get(m.signerId) ?? "", m.error].filter(Boolean).join(" · "),
    })),
    ...(e.deliveries ?? []).map((d): Line => ({
      at: d.deliveredAt ?? d.failedAt ?? d.createdAt, kind: "webhook", bad: d.status === "failed", title: `Webhook: ${d.event} ${d.status}`,
      note: `${d.attempts} ${d.attempts === 1 ? "attempt" : "attempts"}`, href: `#/deliveries/${d.id}`,
    })),
  ];
  return lines.sort((a, b) => b.at.localeCompare(a.at));
}
