import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Speech } from "../ui/i18n";
import { Icon } from "../ui/parts";
import { Bar } from "./Bar";
import { Dwell, glance, type Look } from "./dwell";
import { following, missingFields, pageKey, pageSize, unreadPages, type Context, type Field, type Values } from "./model";
import { PageSheet, type SheetEvents } from "./Sheet";
import { Viewer, type Sheet } from "./viewer";

interface Props {
  context: Context;
  values: Values;
  days: Record<string, string>;
  read: ReadonlySet<string>;
  speech: Speech;
  urlOf: (documentId: string) => string;
  sendLook: (look: Look, leaving: boolean) => Promise<void>;
  onRead: (key: string) => void;
  onValue: (f: Field, value: string, day?: string) => void;
  /** A signature or initials field was chosen. */
  onPicture: (f: Field) => void;
  /** Another signature or initials are wanted. */
  onChange: (f: Field) => void;
  onReview: () => void;
  /** Set by the reader: goes to a field, or to a page ("documentId/page"). */
  control: { go?: (target: Field | string) => void; finish?: () => Promise<void> };
}

const zooms = [0.75, 1, 1.25, 1.5, 2, 2.5, 3];

/** The documents, page by page, with the fields on them and the bar that leads through. */
export function Reader({ context, values, days, read, speech, urlOf, sendLook, onRead, onValue, onPicture, onChange, onReview, control }: Props) {
  const { t } = speech;
  const [active, setActive] = useState<string | null>(null);
  const [zoom, setZoom] = useState(1);
  const [fitScale, setFitScale] = useState(1);
  const pages = useRef<HTMLDivElement>(null);
  const viewer = useMemo(() => new Viewer(urlOf), []);
  const dwell = useMemo(() => new Dwell(sendLook), []);
  const tracking = useMemo(() => new Tracking(viewer, dwell), []);
  tracking.onRead = onRead;
  useEffect(() => {
    tracking.open();
    const leave = (e: Event) => { if (e.type === "pagehide" || document.visibilityState === "hidden") dwell.leave(); };
    const back = () => document.visibilityState === "visible" && tracking.look();
    document.addEventListener("visibilitychange", leave);
    document.addEventListener("visibilitychange", back);
    addEventListener("pagehide", leave);
    return () => {
      document.removeEventListener("visibilitychange", leave);
      document.removeEventListener("visibilitychange", back);
      removeEventListener("pagehide", leave);
      tracking.close();
      viewer.close();
      dwell.close();
    };
  }, []);

  const widest = useMemo(() => Math.max(...context.documents.flatMap((d) => Array.from({ length: Math.min(d.pageCount, 2000) }, (_, i) => pageSize(d, i + 1).width))), [context]);
  useLayoutEffect(() => {
    const box = pages.current!;
    const measure = () => setFitScale(Math.min((box.clientWidth - (box.clientWidth > 640 ? 48 : 16)) / widest, 1.5));
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    measure();
    return () => observer.disconnect();
  }, [widest]);
  useEffect(() => {
    const timer = setTimeout(() => viewer.refresh(), 150);
    return () => clearTimeout(timer);
  }, [zoom, fitScale]);

  const fieldsOf = useMemo(() => {
    const map = new Map<string, Field[]>();
    for (const f of context.fields) {
      const key = pageKey(f.documentId, f.page);
      map.set(key, [...(map.get(key) ?? []), f]);
    }
    return map;
  }, [context]);
  const none = useMemo<Field[]>(() => [], []);

  const press = useRef<(f: Field) => void>(() => {});
  press.current = (f) => {
    if (f.type === "checkbox") {
      setActive(f.id);
      onValue(f, values[f.id] ? "" : "true");
      return;
    }
    setActive(f.id);
    if (f.type === "signature" || f.type === "initial") onPicture(f);
  };
  const events = useMemo<SheetEvents>(() => ({
    place: tracking.place, drawn: tracking.drawn, retry: tracking.look, press: (f) => press.current(f),
  }), []);

  const go = useCallback((target: Field | string) => {
    if (typeof target === "string") {
      setActive(null);
      const sheet = document.getElementById(`p-${target}`);
      sheet?.scrollIntoView({ block: "start", behavior: gentle() });
      sheet?.focus({ preventScroll: true });
      return;
    }
    setActive(target.id);
    const box = document.getElementById(`f-${target.id}`);
    box?.scrollIntoView({ block: "center", inline: "center", behavior: gentle() });
    if (target.type !== "date" && target.type !== "text") box?.focus({ preventScroll: true });
  }, []);
  control.go = go;
  control.finish = () => dwell.finish(4000);

  const missing = missingFields(context, values);
  const unread = unreadPages(context, read);
  const next = following(context.fields, missing, active);
  const onNext = () => {
    if (next) {
      // An adopted signature or a box needs a press of its own: only the way there is made easy.
      go(next);
    } else if (unread[0]) {
      go(pageKey(unread[0].doc.documentId, unread[0].page));
    } else {
      onReview();
    }
  };
  const step = (by: number) => setZoom((z) => zooms[Math.min(zooms.length - 1, Math.max(0, zooms.indexOf(z) + by))]!);
  const activeField = context.fields.find((f) => f.id === active);

  const zoomButtons = (
      <div class="zoom" dir="ltr">
        <button type="button" class="plain" aria-label={t("zoomOut")} disabled={zoom === zooms[0]} onClick={() => step(-1)}><Icon name="minus" /></button>
        <button type="button" class="plain" aria-label={t("zoomIn")} disabled={zoom === zooms.at(-1)} onClick={() => step(1)}><Icon name="plus" /></button>
      </div>
  );

  return (
    <>
      <main class="pages" ref={pages} style={{ "--k": String(fitScale * zoom) }}>
        {context.documents.map((doc, i) => (
          <section key={doc.documentId} aria-labelledby={`doc-${i}`}>
            <h2 class={context.documents.length > 1 ? "docname" : "sr"} id={`doc-${i}`}>
              <bdi>{doc.name}</bdi> <span class="quiet">{t("pages", { n: doc.pageCount })}</span>
            </h2>
            {Array.from({ length: doc.pageCount }, (_, n) => {
              const key = pageKey(doc.documentId, n + 1);
              const fields = fieldsOf.get(key) ?? none;
              return (
                <PageSheet key={key} doc={doc} page={n + 1} pageKey={key} fields={fields} values={fields.length ? values : nothing}
                  active={fields.some((f) => f.id === active) ? active : null} t={t} events={events} />
              );
            })}
          </section>
        ))}
      </main>
      <Bar zoom={zoomButtons} context={context} speech={speech} active={activeField} values={values} days={days} missing={missing} unread={unread.length}
        onValue={onValue} onNext={onNext} onPicture={onPicture} onChange={onChange} onLeave={() => {
          const id = active;
          setActive(null);
          document.getElementById(`f-${id}`)?.focus();
        }} />
    </>
  );
}

const nothing: Values = {};
const gentle = (): ScrollBehavior => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

/** Follows which pages are near and which are in sight. */
class Tracking {
  onRead: (key: string) => void = () => {};
  private sheets = new Map<string, { sheet: Sheet; element: HTMLElement }>();
  private keys = new WeakMap<Element, string>();
  private near = new Set<string>();
  private inSight = new Set<string>();
  private ready = new Set<string>();
  private timers = new Map<string, number>();
  private nearby: IntersectionObserver | null = null;
  private sight: IntersectionObserver | null = null;
  private pinch = () => this.viewer.refresh();

  constructor(private readonly viewer: Viewer, private readonly dwell: Dwell) {}

  open(): void {
    this.nearby = new IntersectionObserver((entries) => {
      for (const e of entries) toggle(this.near, this.keys.get(e.target)!, e.isIntersecting);
      this.look();
    }, { rootMargin: "120% 0px" });
    const steps = Array.from({ length: 21 }, (_, i) => i / 20);
    this.sight = new IntersectionObserver((entries) => {
      for (const e of entries) {
        const tall = e.rootBounds?.height ?? innerHeight;
        // Half of the page, or half of the screen, is before the reader's eyes.
        toggle(this.inSight, this.keys.get(e.target)!, e.intersectionRatio >= 0.5 || e.intersectionRect.height >= tall / 2);
      }
      this.look();
    }, { threshold: steps });
    for (const { element } of this.sheets.values()) {
      this.nearby.observe(element);
      this.sight.observe(element);
    }
    window.visualViewport?.addEventListener("resize", this.pinch);
  }

  close(): void {
    this.nearby?.disconnect();
    this.sight?.disconnect();
    window.visualViewport?.removeEventListener("resize", this.pinch);
    for (const t of this.timers.values()) clearTimeout(t);
  }

  place = (key: string, sheet: Sheet, element: HTMLElement | null): void => {
    if (!element) {
      const known = this.sheets.get(key);
      if (known) {
        this.nearby?.unobserve(known.element);
        this.sight?.unobserve(known.element);
      }
      this.sheets.delete(key);
      return;
    }
    this.sheets.set(key, { sheet, element });
    this.keys.set(element, key);
    this.nearby?.observe(element);
    this.sight?.observe(element);
  };

  drawn = (key: string): void => {
    this.ready.add(key);
    this.look();
  };

  /** Brings drawing, reading and dwell times in line with what is on the screen. */
  look = (): void => {
    const urgent = [...this.inSight, ...[...this.near].filter((k) => !this.inSight.has(k))];
    this.viewer.want(urgent.map((k) => this.sheets.get(k)?.sheet).filter((s): s is Sheet => s !== undefined));
    const seen = new Set([...this.inSight].filter((k) => this.ready.has(k)));
    if (document.visibilityState === "visible") this.dwell.see(seen);
    for (const [key, timer] of this.timers) {
      if (seen.has(key)) continue;
      clearTimeout(timer);
      this.timers.delete(key);
    }
    for (const key of seen) {
      if (this.timers.has(key)) continue;
      this.timers.set(key, window.setTimeout(() => this.onRead(key), glance));
    }
  };
}

function toggle(set: Set<string>, key: string, on: boolean): void {
  if (on) set.add(key);
  else set.delete(key);
}
