import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Sheet, Viewer } from "../sign/viewer";
import { bounds, handles, noGuides, onPage, overlaps, resize, snap, type Box, type Guides, type Handle, type Size } from "./geometry";
import { colourOf, describe, kinds, type BuilderField, type Recipient } from "./model";
import type { Suggestion } from "./suggestions";

/** What the page tells the builder. */
export interface PageEvents {
  /** A press on the page itself, in points. */
  place: (documentId: string, page: number, x: number, y: number) => void;
  select: (keys: string[], add: boolean) => void;
  move: (moved: Map<string, Box>, merge: string) => void;
  key: (e: KeyboardEvent, f: BuilderField) => void;
  take: (s: Suggestion) => void;
  near: (id: string, sheet: Sheet | null, element: HTMLElement | null) => void;
  sized: (documentId: string, page: number, size: Size) => void;
}

interface Props {
  documentId: string;
  page: number;
  pages: number;
  size: Size;
  scale: number;
  fields: readonly BuilderField[];
  recipients: readonly Recipient[];
  selected: ReadonlySet<string>;
  problems: ReadonlyMap<string, string>;
  suggestions: readonly Suggestion[];
  armed: boolean;
  viewer: Viewer;
  events: PageEvents;
}

interface Drag { start: { x: number; y: number }; boxes: Map<string, Box>; handle: Handle | null; moved: boolean }

const reach = 5; // CSS pixels within which a box snaps

export const pageId = (documentId: string, page: number): string => `page-${documentId}-${page}`;

/** One page with its fields, which are moved and sized here. */
export const PageView = memo(function PageView({ documentId, page, pages, size, scale, fields, recipients, selected, problems, suggestions, armed, viewer, events }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const holder = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const [drag, setDrag] = useState<Drag | null>(null);
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
  const begin = (e: PointerEvent, f: BuilderField, handle: Handle | null) => {
    if (e.button !== 0 || armed) return;
    e.stopPropagation();
    (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
    const keys = selected.has(f.key) && !handle ? selected : new Set([f.key]);
    if (!selected.has(f.key) || e.shiftKey) events.select([f.key], e.shiftKey);
    const boxes = new Map(fields.filter((x) => keys.has(x.key)).map((x) => [x.key, { x: x.x, y: x.y, w: x.w, h: x.h }]));
    setDrag({ start: point(e), boxes, handle, moved: false });
  };
  const step = (e: PointerEvent) => {
    if (!drag) return;
    const at = point(e);
    let dx = at.x - drag.start.x;
    let dy = at.y - drag.start.y;
    if (!drag.moved && Math.hypot(dx, dy) * scale < 4) return;
    if (!drag.moved) setDrag({ ...drag, moved: true });
    const others = fields.filter((x) => !drag.boxes.has(x.key));
    const next = new Map<string, Box>();
    if (drag.handle) {
      for (const [key, box] of drag.boxes) next.set(key, resize(box, drag.handle, dx, dy, size));
      setGuides(noGuides);
    } else {
      const all = bounds([...drag.boxes.values()]);
      const moved = onPage({ ...all, x: all.x + dx, y: all.y + dy }, size);
      const s = e.altKey ? { dx: 0, dy: 0, guides: noGuides } : snap(moved, others, size, reach / scale);
      const end = onPage({ ...moved, x: moved.x + s.dx, y: moved.y + s.dy }, size);
      [dx, dy] = [end.x - all.x, end.y - all.y];
      for (const [key, box] of drag.boxes) next.set(key, { ...box, x: box.x + dx, y: box.y + dy });
      setGuides(s.guides);
    }
    setLive(next);
  };
  const end = () => {
    if (drag?.moved && live) events.move(live, "");
    setDrag(null);
    setLive(null);
    setGuides(noGuides);
  };
  const cancel = () => { setDrag(null); setLive(null); setGuides(noGuides); };

  // A frame that is drawn on the page selects what it meets; a press alone places a field, if a type is chosen.
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
      events.select(fields.filter((f) => overlaps(f, frame)).map((f) => f.key), e.shiftKey);
      setFrame(null);
    } else {
      const p = point(e);
      events.place(documentId, page, p.x, p.y);
    }
  };
  const css = (b: Box) => ({ left: `${b.x * scale}px`, top: `${b.y * scale}px`, width: `${b.w * scale}px`, height: `${b.h * scale}px` });
  return (
    <section class="bpage-wrap" aria-label={`Page ${page} of ${pages}`}>
      <div ref={ref} id={id} class={`bpage ${armed ? "armed" : ""}`} style={{ width: `${size.width * scale}px`, height: `${size.height * scale}px` }}
        onPointerDown={pageDown} onPointerMove={pageMove} onPointerUp={pageUp} onPointerCancel={() => { from.current = null; setFrame(null); }}>
        <div ref={holder} class="bpaint" aria-hidden="true" />
        {failed && <p class="notice bad bfailed" role="alert">This page could not be shown.</p>}
        {suggestions.map((s) => (
          <button key={s.id} type="button" class="bsuggestion" style={css(s)} title={`Add a field: ${s.label}`} aria-label={`Suggested field: ${s.label}. Add it.`}
            onPointerDown={(e) => e.stopPropagation()} onPointerUp={(e) => e.stopPropagation()} onClick={() => events.take(s)}>+</button>
        ))}
        {fields.map((f) => {
          const box = live?.get(f.key) ?? f;
          const on = selected.has(f.key);
          const who = recipients.find((r) => r.id === f.signerId);
          const problem = problems.get(f.key);
          return (
            <div key={f.key} id={`field-${f.key}`} role="button" tabIndex={0} aria-pressed={on}
              aria-label={`${describe(f)}, ${kinds[f.type].name} for ${who?.name ?? "nobody"}, page ${page}${f.required ? ", required" : ""}${problem ? `. Wrong: ${problem}` : ""}`}
              class={`bfield ${colourOf(recipients, f.signerId)} ${on ? "on" : ""} ${problem ? "wrong" : ""} ${f.required ? "" : "optional"} t-${f.type}`} style={css(box)}
              onPointerDown={(e) => begin(e, f, null)} onPointerMove={step} onPointerUp={(e) => { e.stopPropagation(); from.current = null; end(); }} onPointerCancel={cancel}
              onFocus={(e) => { if (!on && (e.currentTarget as HTMLElement).matches(":focus-visible")) events.select([f.key], false); }}
              onKeyDown={(e) => events.key(e, f)}>
              <span class="bname">{box.h * scale >= 11 && box.w * scale >= 24 ? f.label || kinds[f.type].name : ""}</span>
              {on && selected.size === 1 && handles.map((h) => (
                <span key={h} class={`bhandle ${h}`} onPointerDown={(e) => begin(e, f, h)} onPointerMove={step} onPointerUp={(e) => { e.stopPropagation(); end(); }} onPointerCancel={cancel} />
              ))}
            </div>
          );
        })}
        {guides.vertical.map((x) => <i key={`v${x}`} class="bguide v" style={{ left: `${x * scale}px` }} />)}
        {guides.horizontal.map((y) => <i key={`h${y}`} class="bguide h" style={{ top: `${y * scale}px` }} />)}
        {frame && <i class="bframe" style={css(frame)} />}
      </div>
      <p class="bnumber quiet small">Page {page} of {pages}</p>
    </section>
  );
});
