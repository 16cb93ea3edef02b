import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Translate } from "../ui/i18n";
import { isPicture, pageSize, type Doc, type Field, type Values } from "./model";
import type { Sheet } from "./viewer";

export interface SheetEvents {
  /** The page is on the screen (or, with null, gone from it). */
  place: (key: string, sheet: Sheet, element: HTMLElement | null) => void;
  drawn: (key: string) => void;
  retry: () => void;
  press: (f: Field) => void;
}

interface Props {
  doc: Doc;
  page: number;
  pageKey: string;
  fields: Field[];
  values: Values;
  active: string | null;
  t: Translate;
  events: SheetEvents;
}

/** One page with its fields, which lie where they will be sealed. */
export const PageSheet = memo(function PageSheet({ doc, page, pageKey, fields, values, active, t, events }: Props) {
  const ref = useRef<HTMLElement>(null);
  const holder = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const { width, height } = pageSize(doc, page);
  useEffect(() => {
    const sheet: Sheet = {
      documentId: doc.documentId, page, holder: holder.current!, width,
      onDrawn: () => { setFailed(false); events.drawn(pageKey); },
      onFailed: () => setFailed(true),
    };
    events.place(pageKey, sheet, ref.current);
    return () => events.place(pageKey, sheet, null);
  }, []);
  return (
    <section ref={ref} class="sheet" id={`p-${pageKey}`} aria-label={t("pageOf", { page, count: doc.pageCount })} tabIndex={-1}
      style={{ "--pw": String(width), "--ph": String(height) }}>
      <div ref={holder} class="paint" dir="ltr" />
      {failed && <div class="failed" role="alert"><p>{t("pageFailed")}</p><button type="button" class="small" onClick={() => { setFailed(false); events.retry(); }}>{t("tryAgain")}</button></div>}
      {fields.map((f) => <FieldBox key={f.id} f={f} page={{ width, height }} value={values[f.id] ?? ""} active={f.id === active} t={t} onPress={events.press} />)}
    </section>
  );
});

interface BoxProps { f: Field; page: { width: number; height: number }; value: string; active: boolean; t: Translate; onPress: (f: Field) => void }

function FieldBox({ f, page, value, active, t, onPress }: BoxProps) {
  const filled = value.trim() !== "";
  const share = (part: number, whole: number) => `${(100 * part) / whole}%`;
  const name = `${t("fieldName", { type: t(f.type), page: f.page })}, ${t(f.required ? "required" : "optional")}`;
  const check = f.type === "checkbox";
  // The value is part of the name: on the page it may be too small to read.
  const shown = check ? "" : filled ? (isPicture(f.type) ? t("filled") : value) : t("empty");
  return (
    <button type="button" id={`f-${f.id}`} dir="ltr" class={`field ${f.type} ${filled ? "filled" : ""} ${f.required ? "" : "optional"} ${active ? "active" : ""}`}
      style={{ left: share(f.x, page.width), top: share(f.y, page.height), width: share(f.w, page.width), height: share(f.h, page.height), "--fh": String(f.h) }}
      role={check ? "checkbox" : undefined} aria-checked={check ? filled : undefined} aria-label={`${f.type === "signature" && !filled ? `${t("signHere")}: ` : ""}${name}${shown ? `: ${shown}` : ""}`} onClick={() => onPress(f)}>
      <FieldValue f={f} value={value} t={t} />
    </button>
  );
}

function FieldValue({ f, value, t }: { f: Field; value: string; t: Translate }) {
  if (!value.trim()) {
    if (f.type === "checkbox") return null;
    return <span class="hint" dir="auto">{t(f.type === "signature" ? "signHere" : f.type === "initial" ? "initialHere" : f.type)}</span>;
  }
  if (isPicture(f.type)) return <img src={value} alt="" draggable={false} />;
  if (f.type === "checkbox") {
    return <svg viewBox="0 0 100 100" aria-hidden="true"><path d="M18 54 L40.4 78 L83.6 22" fill="none" stroke="currentColor" stroke-width="11.2" stroke-linecap="round" stroke-linejoin="round" /></svg>;
  }
  const { lines, size } = fit(value, f.w - 2, f.h);
  return <span class="written" dir="auto" style={{ "--size": String(size) }}>{lines.join("\n")}</span>;
}

const measure = document.createElement("canvas").getContext("2d")!;

/** Sizes text, in points, as the seal does: one line if that stays readable, else as many as fit. */
function fit(text: string, w: number, h: number): { lines: string[]; size: number } {
  measure.font = '100px "Noto Sans", sans-serif';
  const widthOf = (s: string) => measure.measureText(s).width / 100;
  const plain = text.split(/\r\n|\r|\n/);
  const widest = Math.max(0.01, ...plain.map(widthOf));
  const size = Math.min(12, h / 1.2 / plain.length, w / widest);
  if (size >= 8 || h < 9.6) return { lines: plain, size };
  for (let s = Math.min(12, h / 2.4); s >= 4 && s > size; s -= 0.5) {
    const lines = plain.flatMap((line) => wrap(line, w / s, widthOf));
    if (lines.length * s * 1.2 <= h) return { lines, size: s };
  }
  return { lines: plain, size };
}

function wrap(line: string, width: number, widthOf: (s: string) => number): string[] {
  const out: string[] = [];
  let now = "";
  for (const word of line.split(/(?<=\s)/)) {
    if (now && widthOf((now + word).trimEnd()) > width) {
      out.push(now.trimEnd());
      now = "";
    }
    now += word;
  }
  return [...out, now.trimEnd()];
}
