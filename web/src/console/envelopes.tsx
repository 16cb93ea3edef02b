import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { query, useLoad, formatTime, hasRole, type Client, type Envelope, type Identity, type Paged } from "./api";
import { NewEnvelope } from "./newenvelope";
import { Empty } from "./empty";
import { Badge, ErrorNotice, LabelList, Pager, Table } from "./parts";
import { useFilters, usePageTitle } from "./route";

const statuses = ["draft", "sent", "in_progress", "completed", "declined", "voided", "expired"];
export const live = 4000; // milliseconds between reloads of what may have changed

/**
 * Returns midnight in the local time zone, after days after the day in a date field; undefined if the field holds no
 * date.
 */
function midnight(day: string, after: number): string | undefined {
  const [, y, m, d] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? [];
  return y ? new Date(Number(y), Number(m) - 1, Number(d) + after).toISOString() : undefined;
}

export function Envelopes({ client, who }: { client: Client; who: Identity }) {
  const [making, setMaking] = useState(false);
  const sender = hasRole(who, "sender");
  usePageTitle("Envelopes");
  const { get, set } = useFilters();
  const search = get("search");
  const { data, problem, stale } = useLoad<Paged<Envelope>>(client, `envelopes?${query({
    search, status: get("status"), tenantId: get("tenant"), createdAfter: midnight(get("from"), 0), createdBefore: midnight(get("to"), 1),
    undelivered: get("refused") ? "true" : "", label: get("label"), inbox: get("inbox"), cursor: get("cursor"), pageSize: 20,
  })}`, live);
  const filter = (name: string) => (e: { currentTarget: { value: string } }) => set({ [name]: e.currentTarget.value });
  const filtered = ["search", "status", "tenant", "from", "to", "refused", "label", "inbox", "cursor"].some((name) => get(name));
  const fresh = data?.data.length === 0 && !filtered;
  const button = <button type="button" class="small" onClick={() => setMaking(true)}>New envelope</button>;
  return (
    <>
      <div class="row head"><Title>Envelopes</Title>{sender && !fresh && button}</div>
      {making && <NewEnvelope client={client} who={who} onClose={() => setMaking(false)} />}
      {fresh && (
        <Empty icon="pen" title="No envelopes yet" action={sender && <>{button}<a class="button small plain" href="#/templates">Start from a template</a></>}>
          {sender ? "Choose a PDF, add signers, place fields and send it. Signers get a link by email; the sealed document appears here." : "Senders create envelopes here; applications use the API. Envelopes appear in this list."}
        </Empty>
      )}
      {!fresh && <InboxBar client={client} tenant={get("tenant") || (who.app.tenants[0] ?? "")} part={get("inbox")} onChoose={(inbox) => set({ inbox, status: "" })} />}
      <form class="filters" role="search" hidden={fresh} onSubmit={(e) => e.preventDefault()}>
        <div><label for="search">Search</label><input id="search" type="search" placeholder="Subject, name or email" maxLength={200} aria-describedby="searchhint" value={search} onInput={filter("search")} />
          <p id="searchhint" class="quiet small">Part of a subject or name, a complete email address, or a domain such as @example.com.</p></div>
        <div><label for="status">Status</label><select id="status" value={get("status")} onChange={filter("status")}><option value="">any</option>{statuses.map((s) => <option key={s} value={s}>{s.replace("_", " ")}</option>)}</select></div>
        <div class="narrowfilter"><label for="label">Label</label><input id="label" maxLength={50} value={get("label")} onInput={filter("label")} /></div>
        <div class="narrowfilter"><label for="tenant">Workspace</label><input id="tenant" value={get("tenant")} onInput={filter("tenant")} /></div>
        <div class="narrowfilter"><label for="from">Created after</label><input id="from" type="date" value={get("from")} onInput={filter("from")} /></div>
        <div class="narrowfilter"><label for="to">Until</label><input id="to" type="date" value={get("to")} onInput={filter("to")} /></div>
        <div class="tick"><label><input id="refused" type="checkbox" checked={Boolean(get("refused"))} onChange={(e) => set({ refused: e.currentTarget.checked ? "1" : "" })} /> Mail was refused</label></div>
      </form>
      <ErrorNotice text={problem} />
      {data && !fresh && (
        <>
          <Table label="Envelopes" head={["Subject", "Status", "Signers", "Workspace", "Created"]}>
            {data.data.map((e) => (
              <tr key={e.id}>
                <td><a href={`#/envelopes/${e.id}`}><bdi>{e.subject ?? e.id}</bdi></a><LabelList labels={e.labels} /></td>
                <td><Badge>{e.status}</Badge>{(e.undelivered ?? []).length > 0 && <> <Badge>email_refused</Badge></>}</td>
                <td>{e.signers.filter((s) => s.status === "signed").length} of {e.signers.length} signed</td>
                <td>{e.tenantId}</td>
                <td>{formatTime(e.createdAt)}</td>
              </tr>
            ))}
          </Table>
          {data.data.length === 0 && <p class="quiet">No matches. {partOfAddress(search) && "Email addresses are stored encrypted, so part of an address finds nothing. Enter the complete address or its domain."}</p>}
          <Pager cursor={get("cursor")} next={data.nextCursor} stale={stale} onPage={(cursor) => set({ cursor })} />
        </>
      )}
    </>
  );
}

/** The parts of the inbox of work. */
const parts = { action_needed: "Action needed", waiting: "Waiting for others", drafts: "Drafts", completed: "Completed" } as const;

/** Chooses a part of the inbox, and shows how many envelopes each has. */
function InboxBar({ client, tenant, part, onChoose }: { client: Client; tenant: string; part: string; onChoose: (part: string) => void }) {
  const { data } = useLoad<{ counts: Record<keyof typeof parts, number> }>(client, `home?${query({ tenantId: tenant })}`, 15_000);
  return (
    <div class="inbox row" role="group" aria-label="Inbox">
      <button type="button" class="bare small" aria-pressed={part === ""} onClick={() => onChoose("")}>All</button>
      {(Object.keys(parts) as (keyof typeof parts)[]).map((p) => (
        <button key={p} type="button" class={`bare small ${p === "action_needed" && data?.counts[p] ? "due" : ""}`} aria-pressed={part === p} onClick={() => onChoose(p)}>
          {parts[p]}{data && <span class="count">{data.counts[p].toLocaleString()}</span>}
        </button>
      ))}
    </div>
  );
}

/** Whether a search looks like a piece of an address that cannot be found by it. */
const partOfAddress = (search: string): boolean => /^[^\s@]+@?[^\s@]*$/.test(search.trim()) && search.trim().length > 1;
