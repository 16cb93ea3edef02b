import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import "./builder.css";
import { Viewer, type Sheet } from "../pages/viewer";
import type { Contacts } from "../ui/ContactBox";
import { Conflict } from "./Conflict";
import { Documents } from "./Documents";
import { DraftEditor, rounded } from "./draft";
import type { Editor, Snapshot } from "./editor";
import { freePlace, onPage, type Box, type Size } from "./geometry";
import { colourOf, describe, fieldTypes, freshContent, freshGroup, freshKey, freshName, kinds, typeName, type BuilderField, type Features, type FieldContent, type FieldType } from "./model";
import { labelBeside } from "./labels";
import { pageContent } from "./pagecontent";
import type { PieceOfText } from "./pagetext";
import { PageView, pageId, type PageEvents } from "./PageView";
import { Preview } from "./Preview";
import { Properties } from "./Properties";
import { Recipients } from "./Recipients";
import { SendDialog } from "./SendDialog";
import { TemplateEditor } from "./template";
import { LeaveDialog, TextsDialog } from "./TemplateDialogs";
import type { Thumbnails } from "./Thumbnail";
import { foundByService, foundOnPage, openOnes, type Suggestion } from "./suggestions";
import { percent, t, type TextKey } from "./texts";

export type BuilderEvent = "ready" | "changed" | "saved" | "sent" | "error";

interface Props {
  /** The draft to prepare, or the template to edit. */
  envelopeId?: string;
  templateId?: string;
  bearer: string;
  features: Features;
  onEvent?: (event: BuilderEvent, more?: Record<string, unknown>) => void;
  /** Called when the user closes the builder, if the page supports this. */
  onClose?: () => void;
  /** Finds possible recipients for a tenant's envelopes, if the page permits this. */
  contacts?: (search: string, tenantId: string) => ReturnType<Contacts>;
  /** Returns the URL of the preview of a recipient's signing page, if this page may display it in a frame. */
  signingPage?: (recipient: string) => string;
}

const letter: Size = { width: 612, height: 792 }; // in points; used until the size of a page is known
const stateTexts: Record<Snapshot["state"], TextKey> = {
  saved: "stateSaved", saving: "stateSaving", unsaved: "stateUnsaved", offline: "stateOffline", conflict: "stateConflict", refused: "stateRefused", ended: "stateEnded", over: "stateOver", sent: "sent",
};

/**
 * The builder of a draft or a template, with documents, recipients and fields. Changes to a draft are saved
 * immediately.
 */
export function Builder({ envelopeId, templateId, bearer, features, onEvent, onClose, contacts, signingPage }: Props) {
  const [shot, setShot] = useState<Snapshot | null>(null);
  const [problem, setProblem] = useState("");
  const editor = useRef<Editor | null>(null);
  const at = templateId ? `/v1/templates/${templateId}` : `/v1/envelopes/${envelopeId}`;
  const viewer = useMemo(() => new Viewer((id, page) => `${at}/documents/${id}/pages/${page}`, () => ({ Authorization: `Bearer ${bearer}` }), false), [at, bearer]);
  useEffect(() => {
    let gone = false;
    const changed = (s: Snapshot) => { if (!gone) setShot(s); };
    const opened: Promise<Editor> = templateId ? TemplateEditor.open(templateId, bearer, changed)
      : DraftEditor.open(envelopeId ?? "", bearer, (d, page) => viewer.pageSize(d.id, page), changed);
    opened.then(
      (e) => { if (!gone) { editor.current = e; setShot(e.snapshot()); onEvent?.("ready"); } },
      (e: unknown) => { setProblem(e instanceof Error && e.message ? e.message : t("notLoaded")); onEvent?.("error", { code: "unreachable" }); },
    );
    return () => {
      gone = true;
      editor.current?.close();
      viewer.close();
    };
  }, [at, bearer]);
  useEffect(() => {
    const warn = (e: BeforeUnloadEvent) => { if (editor.current?.dirty) e.preventDefault(); };
    const online = () => { if (editor.current?.snapshot().state === "offline") void editor.current.save(); };
    addEventListener("beforeunload", warn);
    addEventListener("online", online);
    return () => { removeEventListener("beforeunload", warn); removeEventListener("online", online); };
  }, []);
  if (problem) return <main class="narrow"><p class="notice bad" role="alert">{problem}</p></main>;
  if (!shot || !editor.current) return <div class="narrow row" role="status"><div class="spinner" /><span class="quiet">{t("loading")}</span></div>;
  return <Workbench shot={shot} editor={editor.current} viewer={viewer} features={features} onEvent={onEvent} onClose={onClose} contacts={contacts} signingPage={signingPage} />;
}

type Tool = FieldType | null;
type Tab = "place" | "fields" | "edit";

function Workbench({ shot, editor, viewer, features, onEvent, onClose, contacts: suggest, signingPage }: { shot: Snapshot; editor: Editor; viewer: Viewer } & Pick<Props, "features" | "onEvent" | "onClose" | "contacts" | "signingPage">) {
  const { draft, fields, problems, state } = shot;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [restored, setRestored] = useState(shot.restored);
  const [several, setSeveral] = useState(false);
  const [tool, setTool] = useState<Tool>(null);
  const [active, setActive] = useState(draft.signers[0]?.id ?? "");
  const [sizes, setSizes] = useState<ReadonlyMap<string, Size>>(new Map());
  const [zoom, setZoom] = useState(1);
  const [areaWidth, setAreaWidth] = useState(0);
  const [current, setCurrent] = useState({ documentId: draft.documents[0]?.id ?? "", page: 1 });
  const [dialog, setDialog] = useState<"preview" | "send" | "texts" | "leave" | "">("");
  const [tab, setTab] = useState<Tab>("place");
  const [found, setFound] = useState<readonly Suggestion[]>([]);
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const [message, setMessage] = useState("");
  const area = useRef<HTMLDivElement>(null);
  const texts = useRef(new Map<string, readonly PieceOfText[]>());
  const documents = [...draft.documents].sort((a, b) => a.document_order - b.document_order);
  const recipients = draft.signers;
  const who = recipients.some((r) => r.id === active) ? active : recipients[0]?.id ?? "";
  const types = fieldTypes.filter((type) => features.fieldTypes.includes(type));
  const isTemplate = Boolean(editor.texts);
  const { tenantId } = draft;
  const contacts = useMemo<Contacts | undefined>(() => suggest && ((search) => suggest(search, tenantId)), [suggest, tenantId]);

  const sizeOf = useCallback((f: Pick<FieldContent, "documentId" | "page">): Size => sizes.get(`${f.documentId}/${f.page}`) ?? sizes.get(`${f.documentId}/1`) ?? letter, [sizes]);
  const pagesOf = (documentId: string) => documents.find((d) => d.id === documentId)?.pageCount ?? 1;

  const counted = useRef("");
  useEffect(() => {
    const complete = fields.length > 0 && problems.size === 0;
    const key = JSON.stringify([fields, complete]);
    if (counted.current && counted.current !== key) onEvent?.("changed", { fields: fields.length, complete });
    counted.current = key;
  }, [fields, problems]);
  const before = useRef(state);
  useEffect(() => {
    if (state === "saved" && before.current === "saving") onEvent?.("saved", editor instanceof TemplateEditor ? { version: editor.version } : {});
    if (state === "sent" && before.current !== "sent") onEvent?.("sent");
    if (state === "over" && before.current !== "over") onEvent?.("error", { code: "session_over" });
    if (state === "ended" && before.current !== "ended") onEvent?.("error", { code: "session_expired" });
    before.current = state;
  }, [state]);

  // The available width determines the scale of the pages.
  const fit = areaWidth ? Math.min((areaWidth - 32) / Math.max(...documents.map((d) => sizeOf({ documentId: d.id, page: 1 }).width), 300), 1.4) : 1;
  const scale = fit * zoom;
  useLayoutEffect(() => {
    const measure = () => { if (area.current) setAreaWidth(area.current.clientWidth); };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(area.current!);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    for (const d of documents) {
      const known = (s: Size) => setSizes((old) => (old.has(`${d.id}/1`) ? old : new Map(old).set(`${d.id}/1`, s)));
      viewer.pageSize(d.id, 1).then(known, () => known(letter)); // the page displays the error
      foundByService(editor.at, editor.bearer, d.id).then((more) => setFound((old) => [...old.filter((s) => !more.some((m) => m.id === s.id)), ...more]), () => undefined);
    }
  }, [draft.documents]);

  // Visible pages are rendered first, followed by their neighbors.
  const sheets = useRef(new Map<string, { sheet: Sheet; element: HTMLElement }>());
  const looking = useRef(0);
  const small = useRef(new Set<Sheet>());
  const thumbnails = useMemo<Thumbnails>(() => ({ put: (s) => { small.current.add(s); look(); }, drop: (s) => { small.current.delete(s); look(); } }), []);
  const look = useCallback(() => {
    looking.current ||= requestAnimationFrame(() => { looking.current = 0; lookNow(); });
  }, [viewer]);
  const lookNow = useCallback(() => {
    const box = area.current?.getBoundingClientRect();
    if (!box) return;
    const middle = box.top + box.height / 2;
    const near = [...sheets.current.entries()].map(([id, s]) => {
      const r = s.element.getBoundingClientRect();
      return { id, s, away: r.bottom < box.top ? box.top - r.bottom : r.top > box.bottom ? r.top - box.bottom : 0, centre: Math.abs((r.top + r.bottom) / 2 - middle) };
    }).filter((x) => x.away < box.height * 1.5).sort((a, b) => a.away - b.away || a.centre - b.centre);
    viewer.want([...near.slice(0, 10).map((x) => x.s.sheet), ...small.current]);
    const top = [...near].sort((a, b) => a.centre - b.centre)[0];
    if (top) setCurrent((old) => (old.documentId === top.s.sheet.documentId && old.page === top.s.sheet.page ? old : { documentId: top.s.sheet.documentId, page: top.s.sheet.page }));
  }, [viewer]);
  useEffect(() => { look(); viewer.refresh(); }, [scale, documents.length]);
  useEffect(() => () => cancelAnimationFrame(looking.current), []);

  const select = useCallback((keys: string[], add: boolean) => {
    setSelected((old) => {
      if (!add) return new Set(keys);
      const next = new Set(old);
      for (const k of keys) if (next.has(k) && keys.length === 1) next.delete(k); else next.add(k);
      return next;
    });
    if (keys.length) setTab((tab) => (tab === "fields" ? tab : "edit"));
  }, []);

  const put = (changed: readonly BuilderField[], merge: string) => {
    const by = new Map(changed.map((f) => [f.key, rounded(f)]));
    editor.change(fields.map((f) => by.get(f.key) ?? f), merge);
  };
  const make = (type: FieldType, documentId: string, page: number, box: Box, more: Partial<FieldContent> = {}): BuilderField => {
    const f: BuilderField = { key: freshKey(), documentId, page, signerId: who, required: true, ...freshContent(type), type, ...box, ...more };
    if (type === "radio") return { ...f, group: f.group ?? [...fields].reverse().find((o) => o.type === "radio" && o.page === page && o.signerId === f.signerId)?.group ?? freshGroup(fields), option: f.option ?? t("choiceNumber", { n: fields.filter((o) => o.type === "radio").length + 1 }) };
    return { ...f, name: f.name && !fields.some((o) => o.name === f.name) ? f.name : freshName(type, fields) };
  };
  const add = (made: readonly BuilderField[], say: string) => {
    editor.change([...fields, ...made.map(rounded)]);
    setSelected(new Set(made.map((f) => f.key)));
    setTab((tab) => (tab === "fields" ? tab : "edit"));
    setMessage(say);
    const first = made[0];
    if (first) requestAnimationFrame(() => document.getElementById(`field-${first.key}`)?.focus({ preventScroll: false }));
  };
  const place = (type: FieldType, documentId: string, page: number, x: number, y: number, free: boolean) => {
    if (!who) { setMessage(t("noRecipientYet")); return; }
    const { w, h } = kinds[type];
    const size = sizeOf({ documentId, page });
    const wanted = { x: x - w / 2, y: y - h / 2, w, h };
    const others = fields.filter((f) => f.documentId === documentId && f.page === page);
    const box = free ? freePlace(wanted, others, size) : onPage(wanted, size);
    const label = labelBeside(texts.current.get(`${documentId}/${page}`) ?? [], type, box);
    add([make(type, documentId, page, box, label ? { label } : {})], t("placed", { type: typeName(type), page, name: recipients.find((r) => r.id === who)?.name ?? "" }));
  };
  /** Places a field in the middle of the visible page, for keyboard users or after a click without a pointer. */
  const placeInView = (type: FieldType) => {
    const size = sizeOf(current);
    const box = document.getElementById(pageId(current.documentId, current.page))?.getBoundingClientRect();
    const view = area.current?.getBoundingClientRect();
    const y = box && view ? Math.min(Math.max((Math.max(view.top, box.top) + Math.min(view.bottom, box.bottom)) / 2 - box.top, 20) / scale, size.height - 20) : size.height / 2;
    place(type, current.documentId, current.page, size.width / 2, y, true);
    setTool(null);
  };
  const chosen = fields.filter((f) => selected.has(f.key));
  const remove = () => {
    if (chosen.length === 0) return;
    editor.change(fields.filter((f) => !selected.has(f.key)));
    setSelected(new Set());
    setMessage(chosen.length === 1 ? t("removed", { field: describe(chosen[0]!) }) : t("removedFields", { n: chosen.length }));
    setTab("place");
    area.current?.focus({ preventScroll: true });
  };
  const duplicate = () => {
    const made: BuilderField[] = [];
    for (const f of chosen) {
      const others = [...fields, ...made].filter((o) => o.documentId === f.documentId && o.page === f.page);
      const copy = { ...f, ...freePlace({ x: f.x, y: f.y + f.h + 6, w: f.w, h: f.h }, others, sizeOf(f)), key: freshKey() };
      made.push(f.type === "radio" ? { ...copy, option: `${f.option} 2` } : { ...copy, name: freshName(f.type, [...fields, ...made]) });
    }
    if (made.length) add(made, t("copied", { n: made.length }));
  };
  const copyToAllPages = (f: BuilderField) => {
    const made: BuilderField[] = [];
    for (let page = 1; page <= pagesOf(f.documentId); page++) {
      if (page === f.page) continue;
      const box = onPage({ x: f.x, y: f.y, w: f.w, h: f.h }, sizeOf({ documentId: f.documentId, page }));
      made.push({ ...f, ...box, page, key: freshKey(), ...(f.type === "radio" ? {} : { name: freshName(f.type, [...fields, ...made]) }) });
    }
    editor.change([...fields, ...made]);
    setMessage(t("copiedToPages", { n: made.length }));
  };
  const nudge = (dx: number, dy: number, grow: boolean) => put(chosen.map((f) => onPage(grow ? { ...f, w: f.w + dx, h: f.h + dy } : { ...f, x: f.x + dx, y: f.y + dy }, sizeOf(f))), `nudge:${grow}`);

  const key = (e: KeyboardEvent, f: BuilderField | null) => {
    const mod = e.ctrlKey || e.metaKey;
    const k = e.key.toLowerCase();
    const step = e.shiftKey ? 10 : 1;
    const arrows: Record<string, [number, number]> = { arrowleft: [-step, 0], arrowright: [step, 0], arrowup: [0, -step], arrowdown: [0, step] };
    if (mod && k === "z") { e.preventDefault(); e.stopPropagation(); (e.shiftKey ? editor.redo() : editor.undo()); return; }
    if (mod && k === "y") { e.preventDefault(); e.stopPropagation(); editor.redo(); return; }
    if (k === "escape") { setTool(null); setSeveral(false); setSelected(new Set()); return; }
    if (!f) return;
    if (arrows[k]) {
      e.preventDefault();
      if (!selected.has(f.key)) return select([f.key], false);
      const [dx, dy] = arrows[k]!;
      nudge(dx, dy, e.altKey);
    } else if (k === "delete" || k === "backspace") { e.preventDefault(); remove(); }
    else if (k === "enter" || k === " ") { 
      e.preventDefault();
      e.stopPropagation();
      if (e.shiftKey) setSeveral(true); // from now on, Tab adds to the selection
      if (!e.shiftKey || !selected.has(f.key)) select([f.key], e.shiftKey || several);
      if (!e.shiftKey && !several) requestAnimationFrame(() => document.getElementById("pwho")?.focus());
    }
    else if (mod && k === "d") { e.preventDefault(); duplicate(); }
    else if (mod && k === "a") { e.preventDefault(); select(fields.filter((o) => o.documentId === f.documentId && o.page === f.page).map((o) => o.key), false); }
  };

  const take = (s: Suggestion) => {
    const signer = s.role ? recipients.find((r) => r.role === s.role || r.email.toLowerCase() === s.role?.toLowerCase())?.id : undefined;
    if (!who) { setMessage(t("noRecipientYet")); return; }
    const name = s.name && /^[A-Za-z0-9_.-]{1,64}$/.test(s.name) ? s.name : undefined;
    add([make(s.type, s.documentId, s.page, onPage({ x: s.x, y: s.y, w: s.w, h: s.h }, sizeOf(s)), { label: s.label || undefined, name, ...s.content, ...(signer ? { signerId: signer } : {}) })], t("suggestionAdded", { label: s.label }));
  };
  const possible = openOnes(found.filter((s) => documents.some((d) => d.id === s.documentId)), fields);
  const open = possible.filter((s) => !dismissed.has(s.id));
  /** Hides the suggestions until the user requests them again. */
  const dismiss = (some: readonly Suggestion[]) => {
    setDismissed(new Set([...dismissed, ...some.map((s) => s.id)]));
    setMessage(some.length === 1 ? t("suggestionHidden", { label: some[0]!.label }) : t("suggestionsHidden", { n: some.length }));
    area.current?.focus({ preventScroll: true });
  };
  const takeAll = () => {
    if (!who) { setMessage(t("noRecipientYet")); return; }
    let all = fields;
    for (const s of open) {
      const f: BuilderField = rounded({ key: freshKey(), documentId: s.documentId, page: s.page, signerId: recipients.find((r) => s.role && r.role === s.role)?.id ?? who, required: true, ...freshContent(s.type), type: s.type, ...onPage({ x: s.x, y: s.y, w: s.w, h: s.h }, sizeOf(s)), label: s.label || undefined, ...s.content });
      all = [...all, s.type === "radio" ? { ...f, group: freshGroup(all), option: s.label || t("choice") } : { ...f, name: freshName(s.type, all) }];
    }
    editor.change(all);
    setMessage(t("suggestionsAdded", { n: open.length }));
  };

  // All pages share one object, so that a page is rendered again only when its own content changes.
  const latest = useRef<PageEvents>(null!);
  latest.current = {
    place: (documentId, page, x, y) => { if (tool) { place(tool, documentId, page, x, y, false); setTool(null); } else setSelected(new Set()); },
    select, key, take, dismiss: (s) => dismiss([s]),
    move: (moved, merge) => put(fields.flatMap((f) => { const b = moved.get(f.key); return b ? [{ ...f, ...b }] : []; }), merge),
    near: (id, sheet, element) => { if (sheet && element) sheets.current.set(id, { sheet, element }); else sheets.current.delete(id); look(); },
    sized: (documentId, page, size) => {
      setSizes((old) => new Map(old).set(`${documentId}/${page}`, size));
      pageContent(viewer, documentId, page).then((found) => texts.current.set(`${documentId}/${page}`, found.texts), () => undefined);
      foundOnPage(viewer, documentId, page).then((more) => setFound((old) => [...old, ...more.filter((m) => !old.some((o) => o.id === m.id))]), () => undefined);
    },
  };
  const events = useMemo<PageEvents>(() => ({
    place: (...a) => latest.current.place(...a), select: (...a) => latest.current.select(...a), move: (...a) => latest.current.move(...a), key: (...a) => latest.current.key(...a),
    take: (...a) => latest.current.take(...a), dismiss: (s) => latest.current.dismiss(s), near: (...a) => latest.current.near(...a), sized: (...a) => latest.current.sized(...a),
  }), []);

  const show = (documentId: string, page: number) => document.getElementById(pageId(documentId, page))?.scrollIntoView({ block: "start", behavior: "smooth" });
  const perPage = useMemo(() => {
    const out = new Map<string, BuilderField[]>();
    for (const f of fields) out.set(`${f.documentId}/${f.page}`, [...(out.get(`${f.documentId}/${f.page}`) ?? []), f]);
    return out;
  }, [fields]);
  const openPerPage = useMemo(() => {
    const out = new Map<string, Suggestion[]>();
    for (const s of open) out.set(`${s.documentId}/${s.page}`, [...(out.get(`${s.documentId}/${s.page}`) ?? []), s]);
    return out;
  }, [found, fields, draft.documents, dismissed]);
  const broken = problems.size;
  return (
    <div class="builder" onKeyDown={(e) => { if (!(e.target as HTMLElement).closest("input, textarea, select, dialog")) key(e, null); }}>
      <header class="bbar">
        {onClose && <button type="button" class="bare small" onClick={() => { if (editor.texts && editor.dirty) setDialog("leave"); else void editor.save().finally(onClose); }}>{t("close")}</button>}
        <h1 class="btitle"><bdi>{draft.subject ?? documents[0]?.name ?? t("draft")}</bdi></h1>
        <span class={`bstate small ${state}`} role="status">{broken && state === "refused" ? t("fieldsNotSaved", { n: broken }) : t(state === "offline" && !shot.kept ? "stateUnkept" : stateTexts[state])}</span>
        <div class="row btools">
          <button type="button" class="plain small" aria-disabled={!shot.canUndo} onClick={() => editor.undo()} title={t("undoKeys")}>{t("undo")}</button>
          <button type="button" class="plain small" aria-disabled={!shot.canRedo} onClick={() => editor.redo()} title={t("redoKeys")}>{t("redo")}</button>
          <span class="bzoom"><button type="button" class="plain small" aria-label={t("smaller")} onClick={() => setZoom(Math.max(zoom / 1.2, 0.4))}>−</button><span class="small">{percent(scale)}</span><button type="button" class="plain small" aria-label={t("larger")} onClick={() => setZoom(Math.min(zoom * 1.2, 3))}>+</button></span>
          <button type="button" class="plain small" disabled={recipients.length === 0 || (signingPage !== undefined && documents.length === 0)} onClick={() => void editor.save().finally(() => setDialog("preview"))}>{t("preview")}</button>
          {editor.texts && features.send && <button type="button" class="plain small" onClick={() => setDialog("texts")}>{t("nameAndTexts")}</button>}
          {editor.texts && <button type="button" class="small" aria-disabled={!editor.dirty} onClick={() => void editor.save()}>{t("save")}</button>}
          {features.send && !editor.texts && <button type="button" class="small" onClick={() => setDialog("send")}>{t("sendMore")}</button>}
        </div>
      </header>
      <aside class="bside bleft" aria-label={t("contents")}>
        <Recipients editor={editor} recipients={recipients} copies={draft.copies ?? []} active={who} editable={features.recipients} problems={problems} onActive={setActive} onMessage={setMessage} contacts={contacts} />
        <section aria-labelledby="bpalette" class="bpalette-s">
          <h2 id="bpalette">{t("fields")}</h2>
          <div class="bpalette">
            {types.map((type) => (
              <button key={type} type="button" class={`bkind ${colourOf(recipients, who)} ${tool === type ? "on" : ""}`} aria-pressed={tool === type}
                onClick={(e) => { if (e.detail === 0) placeInView(type); else setTool(tool === type ? null : type); }}
                draggable onDragStart={(e) => { e.dataTransfer?.setData("text/x-field", type); ghost(e, type, scale, colourOf(recipients, who)); setTool(null); }}>{typeName(type)}</button>
            ))}
          </div>
          {tool && <p class="notice small">{t("pressWhere", { type: typeName(tool) })} <button type="button" class="bare small" onClick={() => placeInView(tool)}>{t("placeInView", { page: current.page })}</button></p>}
        </section>
        <Documents editor={editor} documents={documents} editable={features.documents} viewer={viewer} thumbnails={thumbnails} current={current} onShow={show} onMessage={setMessage} />
        {/* Suggestions come last, because they are found while the user works with the sections above. */}
        {open.length > 0 && (
          <section aria-labelledby="bsuggested"><h2 id="bsuggested">{t("suggestions")}</h2>
            <p class="quiet small">{t("suggested", { n: open.length })}</p>
            <div class="row"><button type="button" class="plain small" onClick={takeAll}>{t("addAll", { n: open.length })}</button><button type="button" class="bare small" onClick={() => dismiss(open)}>{t("hideSuggestions")}</button></div></section>
        )}
        {open.length < possible.length && <section><button type="button" class="bare small" onClick={() => setDismissed(new Set())}>{t("showHidden", { n: possible.length - open.length })}</button></section>}
      </aside>
      <main ref={area} class="bpages" tabIndex={0} aria-label={t("pages")} onScroll={look}
        onDragOver={(e) => e.preventDefault()} onDrop={(e) => {
          const type = e.dataTransfer?.getData("text/x-field") as FieldType;
          const target = (e.target as HTMLElement).closest<HTMLElement>(".bpage");
          const s = target && sheets.current.get(target.id)?.sheet;
          if (!type || !target || !s) return;
          e.preventDefault();
          const r = target.getBoundingClientRect();
          place(type, s.documentId, s.page, (e.clientX - r.left) / scale, (e.clientY - r.top) / scale, false);
        }}>
        {documents.length === 0 && <p class="quiet bempty">{t("noDocument")}</p>}
        {documents.map((d) => sizes.has(`${d.id}/1`) && Array.from({ length: d.pageCount }, (_, i) => i + 1).map((page) => (
          <PageView key={`${d.id}/${page}`} documentId={d.id} page={page} pages={d.pageCount} name={documents.length > 1 ? d.name : ""} size={sizeOf({ documentId: d.id, page })} scale={scale} fields={perPage.get(`${d.id}/${page}`) ?? none}
            recipients={recipients} selected={perPage.has(`${d.id}/${page}`) ? selected : noneSelected} problems={problems} suggestions={openPerPage.get(`${d.id}/${page}`) ?? noSuggestions} armed={tool !== null} several={several} viewer={viewer} events={events} />
        )))}
      </main>
      <aside class="bside bright" aria-label={t("properties")}>
        <div class="btabs" role="tablist">
          <button type="button" role="tab" id="tab-edit" aria-selected={tab !== "fields"} aria-controls="bpanel" onClick={() => setTab("edit")}>{t("properties")}</button>
          <button type="button" role="tab" id="tab-fields" aria-selected={tab === "fields"} aria-controls="bpanel" onClick={() => setTab("fields")}>{t("allFields", { n: fields.length })}</button>
        </div>
        <div id="bpanel" role="tabpanel" aria-labelledby={tab === "fields" ? "tab-fields" : "tab-edit"}>
          {tab === "fields" ? (
            <ol class="blist">
              {[...fields].sort((a, b) => documents.findIndex((d) => d.id === a.documentId) - documents.findIndex((d) => d.id === b.documentId) || a.page - b.page || a.y - b.y || a.x - b.x).map((f) => (
                <li key={f.key}><button type="button" class={`blistitem ${selected.has(f.key) ? "on" : ""}`} onClick={() => { show(f.documentId, f.page); select([f.key], several); if (!several) document.getElementById(`field-${f.key}`)?.focus({ preventScroll: true }); }}>
                  <i class={`bdot ${colourOf(recipients, f.signerId)}`} /><span><bdi>{describe(f)}</bdi><br /><span class="quiet small">{typeName(f.type)} · <bdi>{recipients.find((r) => r.id === f.signerId)?.name}</bdi> · {t("onPage", { page: f.page })}{problems.has(f.key) ? ` · ${t("notSaved")}` : ""}</span></span></button></li>
              ))}
              {fields.length === 0 && <p class="quiet small">{t("noFields")}</p>}
            </ol>
          ) : (
            <Properties selected={chosen} fields={fields} recipients={recipients} types={types} problem={chosen.length === 1 ? problems.get(chosen[0]!.key) : undefined} sizeOf={sizeOf} pagesOf={pagesOf}
              several={several} onSeveral={setSeveral} onSelectPage={() => select(fields.filter((f) => f.documentId === current.documentId && f.page === current.page).map((f) => f.key), false)}
              onChange={put} onCopyToAllPages={copyToAllPages} onDuplicate={duplicate} onDelete={remove} />
          )}
        </div>
      </aside>
      <p class="sr" role="status" aria-live="polite">{message}</p>
      {state === "conflict" && shot.theirs.length > 0 && (
        <Conflict isTemplate={isTemplate} theirs={shot.theirs} onResolve={(keep) => editor.resolve(keep)} />
      )}
      {restored && state !== "conflict" && (
        <div class="bconflict notice" role="status">
          <p>{t(state === "saved" ? "restoredSaved" : "restored")}</p>
          <button type="button" class="plain small" onClick={() => setRestored(false)}>{t("goOn")}</button>
        </div>
      )}
      {state === "ended" && <p class="bconflict notice bad" role="alert">{t(shot.kept ? "endedKept" : "sessionExpired")}</p>}
      {shot.message && state !== "ended" && state !== "over" && state !== "conflict" && <p class="bconflict notice bad" role="alert" dir="auto">{shot.message}</p>}
      {state === "over" && (
        <div class="bconflict notice bad" role="alert">
          <p dir="auto">{shot.message || t("stateOver")}</p>
          {onClose && <button type="button" class="plain small" onClick={onClose}>{t("goOn")}</button>}
        </div>
      )}
      {dialog === "preview" && <Preview recipients={recipients} fields={fields} framed={signingPage} onClose={() => setDialog("")} />}
      {dialog === "texts" && editor.texts && <TextsDialog texts={editor.texts} onTexts={(texts) => editor.setTexts?.(texts)} onClose={() => setDialog("")} />}
      {dialog === "leave" && onClose && <LeaveDialog editor={editor} onLeave={() => { editor.forget(); onClose(); }} onClose={() => setDialog("")} />}
      {dialog === "send" && editor instanceof DraftEditor && <SendDialog editor={editor} draft={draft} editable={features.recipients} contacts={contacts} signingPage={signingPage} fields={fields} onClose={() => setDialog("")} />}
    </div>
  );
}

/** Displays the field in its actual size while it is being dragged. */
function ghost(e: DragEvent, type: FieldType, scale: number, colour: string): void {
  const { w, h } = kinds[type];
  const shape = Object.assign(document.createElement("div"), { className: `bghost ${colour}`, textContent: typeName(type) });
  Object.assign(shape.style, { width: `${w * scale}px`, height: `${h * scale}px` });
  document.body.append(shape);
  e.dataTransfer?.setDragImage(shape, (w * scale) / 2, (h * scale) / 2);
  setTimeout(() => shape.remove());
}

const none: readonly BuilderField[] = [];
const noSuggestions: readonly Suggestion[] = [];
const noneSelected: ReadonlySet<string> = new Set();
