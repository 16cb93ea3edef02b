import { useEffect, useRef, useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { query, useLoad, formatTime, hasRole, type Client, type Envelope, type Identity, type Paged } from "./api";
import { NewEnvelope } from "./newenvelope";
import { Empty } from "./empty";
import { Badge, ErrorNotice, LabelList, nameOf, Pager, useFocusedRow } from "./parts";
import { useFilters, usePageTitle } from "./route";
import { SavedFilters } from "./savedfilters";
import { SelectionBar } from "./selection";
import { ownerOf, stateOf } from "./state";
import { formatDate, formatRelative, numeral, t } from "./texts";
import { sentenceOf } from "./timeline";
import { useWorkspaces } from "./workspace";

const statuses = ["draft", "sent", "in_progress", "completed", "declined", "voided", "expired"];
export const live = 4000; // in milliseconds; interval between reloads of data that may have changed
const pause = 200; // in milliseconds; delay after typing before a search begins
const filterNames = ["search", "status", "from", "to", "refused", "label", "inbox"];

/**
 * Returns midnight in the local time zone, the given number of days after the date in a date field, or undefined if
 * the field contains no date.
 */
function midnight(day: string, after: number): string | undefined {
  const [, y, m, d] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? [];
  return y ? new Date(Number(y), Number(m) - 1, Number(d) + after).toISOString() : undefined;
}

export function Envelopes({ client, who }: { client: Client; who: Identity }) {
  const [making, setMaking] = useState(false);
  const [chosen, setChosen] = useState<ReadonlyMap<string, Envelope>>(new Map());
  const sender = hasRole(who, "sender");
  usePageTitle(t("envelopes"));
  const { get, set } = useFilters();
  const { chosen: workspace } = useWorkspaces();
  const search = get("search");
  const { data, problem, stale, reload } = useLoad<Paged<Envelope>>(client, `envelopes?${query({
    search, status: get("status"), tenantId: workspace, createdAfter: midnight(get("from"), 0), createdBefore: midnight(get("to"), 1),
    undelivered: get("refused") ? "true" : "", label: get("label"), inbox: get("inbox"), cursor: get("cursor"), pageSize: 20,
  })}`, live);
  // The counts are requested together with the list, because both are displayed at the same time.
  const { data: home } = useLoad<{ counts: InboxCounts }>(client, `home?${query({ tenantId: workspace })}`, 15_000);
  const filter = (name: string) => (e: { currentTarget: { value: string } }) => set({ [name]: e.currentTarget.value });
  const filtered = filterNames.some((name) => get(name));
  const more = ["status", "from", "to", "refused", "label"].filter((name) => get(name)).length;
  const [unfolded, setUnfolded] = useState(more > 0); // the additional filters stay visible while they are cleared
  useEffect(() => { if (more > 0) setUnfolded(true); }, [more > 0]);
  const fresh = data?.data.length === 0 && !filtered && !get("cursor");
  const known = Boolean(data ?? problem); // until then, it is unknown whether there are any envelopes
  const button = <button type="button" class="small" onClick={() => setMaking(true)}>{t("newEnvelope")}</button>;
  const rows = useFocusedRow(data?.data ?? []);
  const choose = (some: readonly Envelope[], on: boolean) => setChosen((old) => {
    const next = new Map(old);
    for (const e of some) if (on) next.set(e.id, e); else next.delete(e.id);
    return next;
  });
  // Actions use the current state of the selected envelopes.
  const selected = [...chosen.values()].map((e) => rows.find((r) => r.id === e.id) ?? e);
  return (
    <>
      <div class="row head"><Title>{t("envelopes")}</Title>{sender && known && !fresh && button}</div>
      {making && <NewEnvelope client={client} who={who} onClose={() => setMaking(false)} />}
      {fresh && (
        <Empty icon="pen" title={t("noEnvelopes")} action={sender && <>{button}<a class="button small plain" href="#/templates">{t("startFromTemplate")}</a></>}>
          {t(sender ? "noEnvelopesSender" : "noEnvelopesViewer")}
        </Empty>
      )}
      {known && !fresh && <InboxBar counts={home?.counts} part={get("inbox")} onChoose={(inbox) => set({ inbox, status: "" })} />}
      <form class="filters finder" role="search" hidden={!known || fresh} onSubmit={(e) => e.preventDefault()}>
        <SearchBox value={search} onSearch={(text) => set({ search: text })} />
        <details class="more" open={unfolded} onToggle={(e) => setUnfolded(e.currentTarget.open)}>
          <summary class="small">{more ? t("filtersOn", { n: more }) : t("filters")}</summary>
          <div class="filters">
            <div class="narrowfilter"><label for="status">{t("status")}</label><select id="status" value={get("status")} onChange={filter("status")}><option value="">{t("anyStatus")}</option>{statuses.map((s) => <option key={s} value={s}>{nameOf(s)}</option>)}</select></div>
            <div class="narrowfilter"><label for="label">{t("label")}</label><input id="label" maxLength={50} value={get("label")} onInput={filter("label")} /></div>
            <div class="narrowfilter"><label for="from">{t("createdAfter")}</label><input id="from" type="date" value={get("from")} onInput={filter("from")} /></div>
            <div class="narrowfilter"><label for="to">{t("createdUntil")}</label><input id="to" type="date" value={get("to")} onInput={filter("to")} /></div>
            <div class="tick"><label><input id="refused" type="checkbox" checked={Boolean(get("refused"))} onChange={(e) => set({ refused: e.currentTarget.checked ? "1" : "" })} /> {t("mailWasRefused")}</label></div>
          </div>
        </details>
      </form>
      {known && !fresh && <SavedFilters who={who} names={filterNames} get={get} set={set} />}
      <ErrorNotice text={problem} />
      {data && !fresh && (
        <>
          {rows.length > 0 && <Rows rows={rows} app={who.app.name} chosen={chosen} onChoose={choose} />}
          {rows.length === 0 && <p class="quiet">{t("noMatches")} {partOfAddress(search) && t("partOfAddress")} {filtered && <button type="button" class="bare small" onClick={() => set(Object.fromEntries(filterNames.map((name) => [name, ""])))}>{t("clearFilters")}</button>}</p>}
          <Pager cursor={get("cursor")} next={data.nextCursor} stale={stale} onPage={(cursor) => set({ cursor })} />
        </>
      )}
      {selected.length > 0 && <SelectionBar client={client} who={who} selected={selected} onClear={() => setChosen(new Map())} onChanged={reload} />}
    </>
  );
}

/** A search box. The search begins when the user stops typing. */
function SearchBox({ value, onSearch }: { value: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState(value);
  const searched = useRef(value); // a search that begins while the user continues to type must not reset the text
  useEffect(() => {
    if (value === searched.current) return;
    searched.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => {
      searched.current = text;
      onSearch(text);
    }, pause);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div><label class="sr" for="search">{t("search")}</label>
      <input id="search" type="search" placeholder={t("searchPlaceholder")} maxLength={200} aria-describedby="searchhint" value={text} onInput={(e) => setText(e.currentTarget.value)} />
      <p id="searchhint" class="sr">{t("searchHint")}</p></div>
  );
}

function Rows({ rows, app, chosen, onChoose }: { rows: readonly Envelope[]; app: string; chosen: ReadonlyMap<string, Envelope>; onChoose: (some: readonly Envelope[], on: boolean) => void }) {
  const all = rows.every((e) => chosen.has(e.id));
  return (
    <div class="scroll">
      <table class="worklist" aria-label={t("envelopes")}>
        <thead><tr>
          <th scope="col" class="pick"><input type="checkbox" aria-label={t("selectAll")} checked={all} onChange={() => onChoose(rows, !all)} /></th>
          <th scope="col">{t("subject")}</th><th scope="col">{t("recipients")}</th><th scope="col">{t("lastActivity")}</th><th scope="col">{t("owner")}</th><th scope="col">{t("deadline")}</th>
        </tr></thead>
        <tbody>
          {rows.map((e) => (
            <tr key={e.id} data-id={e.id} class={chosen.has(e.id) ? "on" : ""}>
              <td class="pick"><input type="checkbox" aria-label={t("selectOne", { subject: e.subject ?? e.id })} checked={chosen.has(e.id)} onChange={(x) => onChoose([e], x.currentTarget.checked)} /></td>
              <td class="what"><a href={`#/envelopes/${e.id}`}><bdi>{e.subject ?? t("untitled")}</bdi></a> <Badge>{e.status}</Badge><LabelList labels={e.labels} /></td>
              <td class="recipientsof"><People e={e} /></td>
              <td class="latest"><LastActivity e={e} app={app} /></td>
              <td class="owner"><bdi>{ownerOf(e, app)}</bdi></td>
              <td class="until" data-label={t("deadline")}><Deadline e={e} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const shownPeople = 3;

/** The recipients, each with a dot that indicates the state. */
function People({ e }: { e: Envelope }) {
  return (
    <ul class="dots">
      {e.signers.slice(0, shownPeople).map((s) => {
        const { state, text } = stateOf(e, s);
        return <li key={s.id} title={t(text)}><i class={`dot ${state}`} aria-hidden="true" /><bdi>{s.name}</bdi><span class="sr"> ({t(text)})</span></li>;
      })}
      {e.signers.length > shownPeople && <li class="quiet small">{t("morePeople", { n: e.signers.length - shownPeople })}</li>}
    </ul>
  );
}

function LastActivity({ e, app }: { e: Envelope; app: string }) {
  const last = e.lastActivity;
  const at = last?.timestamp ?? e.completedAt ?? e.createdAt;
  return <><span>{last ? sentenceOf(e, app, last) : t("evCompleted")}</span><time class="quiet small" dateTime={at} title={formatTime(at)}>{formatRelative(at)}</time></>;
}

const soon = 3 * 86_400_000;

export function Deadline({ e }: { e: Pick<Envelope, "status" | "expiresAt"> }) {
  const open = e.status === "sent" || e.status === "in_progress";
  if (!open || !e.expiresAt) return <span class="quiet" aria-label={t("noDeadline")}>–</span>;
  const due = Date.parse(e.expiresAt) - Date.now() < soon;
  return <time class={due ? "due" : ""} dateTime={e.expiresAt} title={formatTime(e.expiresAt)}>{due ? formatRelative(e.expiresAt) : formatDate(e.expiresAt)}</time>;
}

/** The sections of the inbox. */
const parts = { action_needed: "inboxAction", waiting: "inboxWaiting", drafts: "inboxDrafts", completed: "inboxCompleted" } as const;

type InboxCounts = Record<keyof typeof parts, number>;

/**
 * Selects a section of the inbox, and displays the number of envelopes in each. The numbers have a reserved space, so
 * that no section moves when they are received.
 */
function InboxBar({ counts, part, onChoose }: { counts?: InboxCounts; part: string; onChoose: (part: string) => void }) {
  const bar = useRef<HTMLDivElement>(null);
  // On a phone, the sections are on one line, which is scrolled to the selected section.
  useEffect(() => { bar.current?.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: "nearest", inline: "center" }); }, [part]);
  return (
    <div ref={bar} class="inbox row" role="group" aria-label={t("inbox")}>
      <button type="button" class="bare small" aria-pressed={part === ""} onClick={() => onChoose("")}>{t("inboxAll")}</button>
      {(Object.keys(parts) as (keyof typeof parts)[]).map((p) => (
        <button key={p} type="button" class={`bare small ${p === "action_needed" && counts?.[p] ? "due" : ""}`} aria-pressed={part === p} onClick={() => onChoose(p)}>
          {t(parts[p])}<span class="count" aria-hidden={counts ? undefined : true}>{counts && numeral(counts[p])}</span>
        </button>
      ))}
    </div>
  );
}

/**
 * Reports whether a search text looks like part of an email address. The search does not find partial addresses.
 */
const partOfAddress = (search: string): boolean => /^[^\s@]+@?[^\s@]*$/.test(search.trim()) && search.trim().length > 1;
