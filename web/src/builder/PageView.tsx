import { memo } from "../ui/memo";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Sheet, Viewer } from "../pages/viewer";
import { FieldBox, place, type FieldEvents } from "./FieldBox";
import { bounds, noGuides, onPage, overlaps, resize, snap, snapEdge, targetsOf, type Box, type Guides, type Handle, type Size, type Targets } from "./geometry";
import { colourOf, type BuilderField, type Recipient } from "./model";
import { pageContent } from "./pagecontent";
import { noLines } from "./pagelines";
import type { Suggestion } from "./suggestions";
import { t } from "./texts";

/** The events of a page, which the builder handles. */
export interface PageEvents {
  /** A click on the page itself, in points. */
  place: (documentId: string, page: number, x: number, y: number) => void;
  select: (keys: string[], add: boolean) => void;
  move: (moved: Map<string, Box>, merge: string) => void;
  key: (e: KeyboardEvent, f: BuilderField) => void;
  take: (s: Suggestion) => void;
  dismiss: (s: Suggestion) => void;
  near: (id: string, sheet: Sheet | null, element: HTMLElement | null) => void;
  sized: (documentId: string, page: number, size: Size) => void;
}

interface Props {
  documentId: string;
  page: number;
  pages: number;
  /** The name of the document, if there is more than one. */
  name: string;
  size: Size;
  scale: number;
  fields: readonly BuilderField[];
  recipients: readonly Recipient[];
  selected: ReadonlySet<string>;
  problems: ReadonlyMap<string, string>;
  suggestions: readonly Suggestion[];
  armed: boolean;
  /** Whether each click toggles a field in the selection. */
  several: boolean;
  viewer: Viewer;
  events: PageEvents;
}

interface Drag {
  start: { x: number; y: number };
  boxes: Map<string, Box>;
  handle: Handle | null;
  moved: boolean;
  /** Whether the field was selected before the click. */
  was: boolean;
  /** Whether the click toggles the field in the selection. */
  add: boolean;
  /** Whether the gesture only selects the field when it ends. */
  tap: boolean;
  targets: Targets;
}

const still = { dx: 0, dy: 0, guides: noGuides };

const reach = 5; // in CSS pixels; the distance within which a box snaps to a line

export const pageId = (documentId: string, page: number): string => `page-${documentId}-${page}`;

/** A page with its fields, which can be moved and resized. */
export const PageView = memo(function PageView({ documentId, page, pages, name, size, scale, fields, recipients, selected, problems, suggestions, armed, several, viewer, events }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const holder = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const drag = useRef<Drag | null>(null);
  const last = useRef<Map<string, Box> | null>(null);
  const [live, setLive] = useState<Map<string, Box> | null>(null);
  const [guides, setGuides] = useState<Guides>(noGuides);
  const [frame, setFrame] = useState<Box | null>(null);
  const id = pageId(documentId, page);
  useEffect(() => {
    const sheet: Sheet = { documentId, page, holder: holder.current!, width: size.width, onDrawn: () => setFailed(false), onFailed: () => setFailed(true) };
    events.near(id, sheet, ref.current);
    return () => events.near(id, null, ref.current);
  }, [size.width, documentId, page]);
  const sized = useRef(false);
  useEffect(() => {
    if (sized.current) return;
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some((s) => s.isIntersecting) || sized.current) return;
      sized.current = true;
      viewer.pageSize(documentId, page).then((s) => events.sized(documentId, page, s), () => { sized.current = false; });
    }, { rootMargin: "800px" });
    watch.observe(ref.current!);
    return () => watch.disconnect();
  }, []);

  const point = (e: PointerEvent) => {
    const r = ref.current!.getBoundingClientRect();
    return { x: (e.clientX - r.left) / scale, y: (e.clientY - r.top) / scale };
  };
  const boxesOf = (keys: ReadonlySet<string>) => new Map(fields.filter((x) => keys.has(x.key)).map((x) => [x.key, { x: x.x, y: x.y, w: x.w, h: x.h }]));
  const begin = (e: PointerEvent, f: BuilderField, handle: Handle | null) => {
    if (e.button !== 0 || armed) return;
    e.stopPropagation();
    // Text entered in the properties panel belongs to the field that the panel displays, not to the clicked field.
    if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur();
    const was = selected.has(f.key);
    const add = e.shiftKey || several;
    // A touch on a field may begin a scroll gesture. It moves the field only if the field is already selected.
    const tap = e.pointerType === "touch" && !was && !handle;
    if (!tap) {
      (e.currentTarget as HTMLElement).closest<HTMLElement>(".bfield")!.setPointerCapture(e.pointerId);
      if (!was) events.select([f.key], add);
    }
    const keys = handle ? new Set([f.key]) : was ? selected : new Set(add ? [...selected, f.key] : [f.key]);
    const boxes = boxesOf(keys);
    const others = fields.filter((x) => !boxes.has(x.key));
    const d: Drag = { start: point(e), boxes, handle, moved: false, was, add, tap, targets: targetsOf(others, size, noLines) };
    drag.current = d;
    pageContent(viewer, documentId, page).then(({ lines }) => { d.targets = targetsOf(others, size, lines); }, () => undefined);
  };
  const step = (e: PointerEvent) => {
    const d = drag.current;
    if (!d || d.tap) return;
    const at = point(e);
    let dx = at.x - d.start.x;
    let dy = at.y - d.start.y;
    if (!d.moved && Math.hypot(dx, dy) * scale < 4) return;
    if (!d.moved) d.boxes = boxesOf(new Set(d.boxes.keys()));
    d.moved = true;
    const next = new Map<string, Box>();
    const [box] = d.boxes.values();
    if (d.handle && box) {
      const s = e.altKey ? still : snapEdge(resize(box, d.handle, dx, dy, size), d.handle, d.targets, reach / scale);
      for (const key of d.boxes.keys()) next.set(key, resize(box, d.handle, dx + s.dx, dy + s.dy, size));
      setGuides(s.guides);
    } else {
      const all = bounds([...d.boxes.values()]);
      const moved = onPage({ ...all, x: all.x + dx, y: all.y + dy }, size);
      const s = e.altKey ? still : snap(moved, d.targets, reach / scale);
      const end = onPage({ ...moved, x: moved.x + s.dx, y: moved.y + s.dy }, size);
      [dx, dy] = [end.x - all.x, end.y - all.y];
      for (const [key, b] of d.boxes) next.set(key, { ...b, x: b.x + dx, y: b.y + dy });
      setGuides(s.guides);
    }
    last.current = next;
    setLive(next);
  };
  const cancel = () => { drag.current = null; last.current = null; setLive(null); setGuides(noGuides); };
  const end = (e: PointerEvent, f: BuilderField) => {
    const d = drag.current;
    if (!d) return; // the page itself handles the click
    e.stopPropagation();
    if (d.moved && last.current) events.move(last.current, "");
    else if (d.tap) events.select([f.key], d.add);
    else if (d.was && !d.handle && (d.add || selected.size > 1)) events.select([f.key], d.add);
    cancel();
  };
  const focus = (e: FocusEvent, f: BuilderField) => {
    if (!several && selected.size < 2 && !selected.has(f.key) && (e.currentTarget as HTMLElement).matches(":focus-visible")) events.select([f.key], false);
  };
  const latest = useRef<FieldEvents>(null!);
  latest.current = { begin, step, end, cancel, focus, press: (f) => events.select([f.key], several), key: events.key };
  const fieldEvents = useMemo<FieldEvents>(() => ({
    begin: (...a) => latest.current.begin(...a), step: (e) => latest.current.step(e), end: (...a) => latest.current.end(...a), cancel: () => latest.current.cancel(),
    focus: (...a) => latest.current.focus(...a), press: (f) => latest.current.press(f), key: (...a) => latest.current.key(...a),
  }), []);

  // A rectangle drawn on the page selects the fields that it touches. A click places a field if a type is selected.
  const from = useRef<{ x: number; y: number } | null>(null);
  const pageDown = (e: PointerEvent) => {
    if (e.button !== 0) return;
    from.current = point(e);
    if (!armed && e.pointerType === "mouse") (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
  };
  const pageMove = (e: PointerEvent) => {
    if (!from.current || armed || e.pointerType !== "mouse") return;
    const a = from.current;
    const b = point(e);
    if (Math.hypot(a.x - b.x, a.y - b.y) * scale < 5) return;
    setFrame({ x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), w: Math.abs(a.x - b.x), h: Math.abs(a.y - b.y) });
  };
  const pageUp = (e: PointerEvent) => {
    if (!from.current) return;
    from.current = null;
    if (frame) {
      events.select(fields.filter((f) => overlaps(f, frame)).map((f) => f.key), e.shiftKey || several);
      setFrame(null);
    } else {
      const p = point(e);
      events.place(documentId, page, p.x, p.y);
    }
  };
  return (
    <section class="bpage-wrap" aria-label={name ? t("documentPageOf", { name, page, pages }) : t("pageOf", { page, pages })}>
      <div ref={ref} id={id} class={`bpage ${armed ? "armed" : ""}`} style={{ width: `${size.width * scale}px`, height: `${size.height * scale}px` }}
        onPointerDown={pageDown} onPointerMove={pageMove} onPointerUp={pageUp} onPointerCancel={() => { from.current = null; setFrame(null); }}>
        <div ref={holder} class="bpaint" aria-hidden="true" />
        {failed && <p class="notice bad bfailed" role="alert">{t("pageFailed")}</p>}
        {suggestions.map((s) => (
          <button key={s.id} type="button" class="bsuggestion" style={place(s, scale)} title={t("addSuggestion", { label: s.label })} aria-label={t("suggestedField", { label: s.label })} aria-keyshortcuts="Delete"
            onKeyDown={(e) => { if (e.key === "Delete" || e.key === "Backspace") { e.preventDefault(); e.stopPropagation(); events.dismiss(s); } }}
            onPointerDown={(e) => e.stopPropagation()} onPointerUp={(e) => e.stopPropagation()} onClick={() => events.take(s)}>+</button>
        ))}
        {fields.map((f) => (
          <FieldBox key={f.key} f={f} box={live?.get(f.key) ?? f} scale={scale} on={selected.has(f.key)} alone={selected.size === 1 && selected.has(f.key)}
            who={recipients.find((r) => r.id === f.signerId)?.name} colour={colourOf(recipients, f.signerId)} problem={problems.get(f.key)} events={fieldEvents} />
        ))}
        {guides.vertical.map((x) => <i key={`v${x}`} class="bguide v" style={{ left: `${x * scale}px` }} />)}
        {guides.horizontal.map((y) => <i key={`h${y}`} class="bguide h" style={{ top: `${y * scale}px` }} />)}
        {frame && <i class="bframe" style={place(frame, scale)} />}
      </div>
      <p class="bnumber quiet small">{t("pageOf", { page, pages })}</p>
    </section>
  );
});
