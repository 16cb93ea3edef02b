import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Viewer } from "../pages/viewer";
import type { Localization } from "../ui/i18n";
import { Icon } from "../ui/parts";
import { Bar } from "./Bar";
import { Changes } from "./Changes";
import { PageViewReporter, type PageView } from "./pageviews";
import type { FileActions } from "./FileEntry";
import { fieldsToDo, problemsOf, type FieldErrors } from "./formats";
import { nextField, isFixed, isPicture, isWritten, pageKey, unreadPages, type Context, type Doc, type Field, type FilledField, type LaterField, type Values } from "./model";
import { readingScale, scaleForField, effectiveScale, nextStep, type Zoom } from "./scale";
import { PageSheet, type SheetEvents } from "./Sheet";
import { Thumbs, useThumbs } from "./Thumbs";
import { ReadingTracker } from "./tracking";

/** A scroll target: a field, an entry of another signer, or a page ("documentId/page"). */
export type Target = Field | FilledField | string;

export interface ReaderControl {
  go?: (target: Target) => void;
  /** Moves to the field after this one. */
  advance?: (f: Field) => void;
  finish?: () => Promise<void>;
}

interface Props {
  context: Context;
  viewer: Viewer;
  names: Map<string, string>;
  values: Values;
  days: Record<string, string>;
  read: ReadonlySet<string>;
  speech: Localization;
  picture: (sha256: string) => Promise<string>;
  /** Saves a document on the device. */
  download: (doc: Doc) => Promise<void>;
  sendLook: (look: PageView, leaving: boolean) => Promise<void>;
  onRead: (key: string) => void;
  onValue: (f: Field, value: string, day?: string) => void;
  /** Called when a signature or initials field is selected. Returns true if the field was filled at once. */
  onPicture: (f: Field) => boolean;
  /** Called when the signer wants to change the signature or initials. */
  onChange: (f: Field) => void;
  onReview: () => void;
  /** The service's messages about values. */
  fieldErrors: FieldErrors;
  files: FileActions;
  /** The functions are set by the reader. */
  control: ReaderControl;
  /** The content below the last page. */
  children: ComponentChildren;
}

/** The documents, page by page, with their fields and the bar for moving between them. */
export function Reader({ context, viewer, names, values, days, read, speech, picture, download, sendLook, onRead, onValue, onPicture, onChange, onReview, fieldErrors, files, control, children }: Props) {
  const { t } = speech;
  const [active, setActive] = useState<string | null>(null);
  const [zoom, setZoom] = useState<Zoom | null>(null);
  const [fitScale, setFitScale] = useState(1);
  const [small, setSmall] = useState(false);
  const [printing, setPrinting] = useState(false);
  const [sight, setSight] = useState<string | null>(null);
  const [notSaved, setNotSaved] = useState<string | null>(null);
  const pageCount = context.documents.reduce((n, d) => n + d.pageCount, 0);
  const withThumbs = useThumbs() && pageCount > 1;
  const [goal, setGoal] = useState<{ show: () => void } | null>(null);
  const pages = useRef<HTMLElement>(null);
  const dwell = useMemo(() => new PageViewReporter(sendLook), []);
  const tracking = useMemo(() => new ReadingTracker(viewer, dwell, read), []);
  tracking.onRead = onRead;
  tracking.onSmall = setSmall;
  tracking.onSight = setSight;
  useEffect(() => tracking.known(read), [read]);
  // Keyboard navigation starts at the button to the next field, rather than before all the fields on the pages.
  useLayoutEffect(() => document.getElementById("next")?.focus({ preventScroll: true }), []);
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
      dwell.close();
    };
  }, []);

  const k = effectiveScale(zoom, fitScale);
  const kept = useRef<{ element: Element; share: number } | null>(null);
  /** Records the position at the middle of the screen, which is restored after the pages change size. */
  const keep = () => {
    const element = document.elementsFromPoint(innerWidth / 2, innerHeight / 2).find((e) => e.classList.contains("sheet"));
    if (!element) return;
    const r = element.getBoundingClientRect();
    kept.current = { element, share: (innerHeight / 2 - r.top) / r.height };
  };
  const zoomTo = (to: number, auto: boolean) => {
    keep();
    setZoom({ k: to, ratio: to / fitScale, auto });
  };
  const activeField = context.fields.find((f) => f.id === active);

  useLayoutEffect(() => {
    const box = pages.current!;
    let width = 0;
    const measure = () => {
      if (box.clientWidth === width) return;
      if (width) keep();
      width = box.clientWidth;
      setFitScale(fittingScale(context, width));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    measure();
    return () => observer.disconnect();
  }, [context.documents]);
  useLayoutEffect(() => {
    const from = kept.current;
    kept.current = null;
    if (goal) {
      goal.show();
      setGoal(null);
    } else if (from) {
      const r = from.element.getBoundingClientRect();
      scrollBy({ top: r.top + from.share * r.height - innerHeight / 2, behavior: "instant" });
    }
  }, [goal, k]);
  useEffect(() => {
    const timer = setTimeout(() => viewer.refresh(), 150);
    return () => clearTimeout(timer);
  }, [k]);

  const fieldsOf = useMemo(() => byPage(context.fields), [context.fields]);
  const filledOf = useMemo(() => byPage(context.filled), [context.filled]);
  const laterOf = useMemo(() => byPage(context.later ?? noLater), [context.later]);

  const bring = (f: Field, behavior: ScrollBehavior) => {
    const needed = scaleForField(f, fieldsOf.get(pageKey(f.documentId, f.page)) ?? [], fitScale, pages.current!.clientWidth);
    const larger = k < needed * 0.95;
    if (larger) setZoom({ k: needed, ratio: Math.max(1, needed / fitScale), auto: true });
    const show = () => document.getElementById(`f-${f.id}`)?.scrollIntoView({ block: "center", inline: "center", behavior: larger ? "instant" : behavior });
    setGoal({ show });
  };
  /** If stay is true, the focus remains on the button to the next target. */
  const go = (target: Target, stay = false) => {
    if (typeof target === "string") {
      setActive(null);
      const reading = readingScale(fitScale);
      if (k < reading * 0.99 || zoom?.auto) setZoom(reading > fitScale ? { k: reading, ratio: reading / fitScale, auto: true } : null);
      setGoal({ show: () => {
        const sheet = document.getElementById(`p-${target}`);
        if (!sheet) return;
        if (!stay) sheet.focus({ preventScroll: true });
        const r = sheet.getBoundingClientRect();
        scrollTo({ top: scrollY + r.top + tracking.gap(target) * r.height - 12, behavior: gentle() });
      } });
    } else if ("fieldId" in target) {
      setActive(null);
      setGoal({ show: () => {
        const box = document.getElementById(`e-${target.fieldId}`);
        box?.scrollIntoView({ block: "center", inline: "center", behavior: gentle() });
        box?.focus({ preventScroll: true });
      } });
    } else {
      setActive(target.id);
      bring(target, gentle());
      // Text is entered in the bar, whose input receives the focus when it opens.
      (isWriting(target) ? document.getElementById(`entry-${target.id}`) : document.getElementById(`f-${target.id}`))?.focus({ preventScroll: true });
    }
  };

  const problems = problemsOf(context.fields, values, days, fieldErrors, t, speech.locale);
  const missing = fieldsToDo(context, values, problems);
  const unread = unreadPages(context, read);
  const advance = (f: Field) => {
    const next = nextField(context.fields, missing.filter((m) => m.id !== f.id), f.id);
    if (next) {
      go(next);
      return;
    }
    setActive(null);
    document.getElementById("next")?.focus({ preventScroll: true });
  };
  const press = (f: Field) => {
    if (isFixed(f)) return;
    if (f.type === "checkbox") onValue(f, values[f.id] ? "" : "true");
    if (f.type === "radio") onValue(f, "true");
    // If the field is clicked again, its input is already open.
    if (active === f.id && isWriting(f)) document.getElementById(`entry-${f.id}`)?.focus({ preventScroll: true });
    setActive(f.id);
    if (isWriting(f)) bring(f, gentle());
    if (isPicture(f.type) && !values[f.id] && onPicture(f)) advance(f);
  };
  control.go = (target) => go(target);
  control.advance = advance;
  control.finish = () => dwell.finish(4000);

  const again = () => { if (activeField) bring(activeField, "auto"); };
  const latest = useRef({ press, advance, again, openFile: files.open });
  latest.current = { press, advance, again, openFile: files.open };
  // If the screen is rotated or the keyboard opens, the field being filled remains visible and legible.
  useEffect(() => {
    if (!active) return;
    let timer = 0;
    const turn = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => latest.current.again(), 60);
    };
    addEventListener("resize", turn);
    return () => {
      clearTimeout(timer);
      removeEventListener("resize", turn);
    };
  }, [active]);
  const events = useMemo<SheetEvents>(() => ({
    place: tracking.place, drawn: tracking.drawn, erased: tracking.erased, retry: tracking.look, picture, openFile: (a) => latest.current.openFile(a),
    press: (f) => latest.current.press(f), advance: (f) => latest.current.advance(f),
  }), []);

  const onNext = () => {
    const next = nextField(context.fields, missing, active);
    if (next) go(next);
    else if (unread[0]) go(pageKey(unread[0].doc.documentId, unread[0].page), true);
    else {
      if (activeField?.type === "attachment") files.left(activeField);
      onReview();
    }
  };
  const [out, larger] = [nextStep(k, fitScale, -1), nextStep(k, fitScale, 1)];
  const zoomButtons = (
    <div class="zoom" dir="ltr">
      <button type="button" class="plain" aria-label={t("zoomOut")} disabled={!out} onClick={() => zoomTo(out!, false)}><Icon name="minus" /></button>
      <button type="button" class="plain" aria-label={t("zoomIn")} disabled={!larger} onClick={() => zoomTo(larger!, false)}><Icon name="plus" /></button>
    </div>
  );

  return (
    <>
      <div class={withThumbs ? "withthumbs" : ""}>
      {withThumbs && <Thumbs documents={context.documents} viewer={viewer} read={read} current={sight} scale={k} t={t} onGo={go} />}
      <main class="pages" ref={pages} style={{ "--k": String(k) }}>
        <div class="rule quiet small">
          <span>{t("readingRule")}</span>
          {pageCount <= mostPrinted && (
            <button type="button" class="bare small noprint" aria-disabled={printing} onClick={() => {
              if (printing) return;
              setPrinting(true);
              void tracking.withAll(() => print()).finally(() => setPrinting(false));
            }}>{t("printPages")}</button>
          )}
        </div>
        {context.documents.map((doc, i) => (
          <section key={doc.documentId} aria-labelledby={`doc-${i}`}>
            <h2 class="docname" id={`doc-${i}`}>
              <bdi>{doc.name}</bdi> <span class="quiet">{t("pages", { n: doc.pageCount })}</span>
            </h2>
            <div class="below">
              <button type="button" class="bare small noprint" aria-label={`${t("download")}: ${doc.name}`} onClick={() => void download(doc).then(() => setNotSaved(null), () => setNotSaved(doc.documentId))}>{t("download")}</button>
              <p class="notice bad" role="alert">{notSaved === doc.documentId ? t("downloadUnavailable") : ""}</p>
              <Changes doc={doc} speech={speech} />
            </div>
            {Array.from({ length: doc.pageCount }, (_, n) => {
              const key = pageKey(doc.documentId, n + 1);
              const fields = fieldsOf.get(key) ?? noFields;
              return (
                <PageSheet key={key} doc={doc} page={n + 1} pageKey={key} fields={fields} filled={filledOf.get(key) ?? noFilled} later={laterOf.get(key) ?? noLater} names={names} values={values} sender={context.senderName}
                  active={fields.some((f) => f.id === active) ? active : null} t={t} events={events} />
              );
            })}
          </section>
        ))}
        {children}
      </main>
      </div>
      <Bar zoom={zoomButtons} context={context} speech={speech} names={names} active={activeField} values={values} days={days} missing={missing} problems={problems} fieldErrors={fieldErrors} files={files} unread={unread.length} small={small}
        onValue={onValue} onNext={onNext} onAdvance={advance} onGo={go} onPicture={onPicture} onChange={onChange} onLeave={() => {
          const id = active;
          setActive(null);
          document.getElementById(`f-${id}`)?.focus();
        }} />
    </>
  );
}

/** Returns the scale at which the widest page fits into the given width, in CSS pixels per point. */
export function fittingScale({ documents }: Context, width: number): number {
  const widest = Math.max(...documents.flatMap((d) => d.pages.map((p) => p.width)));
  return Math.min((width - (width > 640 ? 48 : 16)) / (widest > 0 ? widest : 612), 1.5);
}

/** Pages are printed as images, and the browser keeps all of them in memory at the same time. */
const mostPrinted = 100;

const noFields: Field[] = [];
const noFilled: FilledField[] = [];
const noLater: LaterField[] = [];
const isWriting = (f: Field): boolean => (isWritten(f.type) || f.type === "attachment") && !isFixed(f);
const gentle = (): ScrollBehavior => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

function byPage<T extends { documentId: string; page: number }>(all: readonly T[]): Map<string, T[]> {
  const map = new Map<string, T[]>();
  for (const f of all) {
    const key = pageKey(f.documentId, f.page);
    map.set(key, [...(map.get(key) ?? []), f]);
  }
  return map;
}
