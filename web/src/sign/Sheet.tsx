import { memo } from "../ui/memo";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { readingOrder } from "../pages/readingorder";
import { placeInText, type TextLayer } from "../pages/textlayer";
import type { Sheet } from "../pages/viewer";
import type { Translate } from "../ui/i18n";
import { fitText } from "./fit";
import { isChoice, isFixed, isPicture, pageSize, type Attached, type Doc, type Field, type FilledField, type LaterField, type Values } from "./model";
import { hitMargins, type HitMargin } from "./hitmargins";

export interface SheetEvents {
  /** Called when the page has been mounted, or with null when it has been removed. */
  place: (key: string, sheet: Sheet, element: HTMLElement | null) => void;
  drawn: (key: string) => void;
  /** Called when the page is no longer rendered, or could not be rendered. */
  erased: (key: string) => void;
  retry: () => void;
  press: (f: Field) => void;
  /** Moves to the next field. Called when the field is complete. */
  advance: (f: Field) => void;
  picture: (sha256: string) => Promise<string>;
  openFile: (a: Attached) => void;
}

interface Props {
  doc: Doc;
  page: number;
  pageKey: string;
  fields: Field[];
  filled: FilledField[];
  later: LaterField[];
  names: Map<string, string>;
  values: Values;
  active: string | null;
  sender: string;
  t: Translate;
  events: SheetEvents;
}

/** A page with its fields and the entries of others, at the positions at which they will be sealed. */
export const PageSheet = memo(function PageSheet({ doc, page, pageKey, fields, filled, later, names, values, active, sender, t, events }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const holder = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const [text, setText] = useState<TextLayer | null>(null);
  const focused = useRef<Element | null>(null);
  const { width, height } = pageSize(doc, page);
  useEffect(() => {
    const sheet: Sheet = {
      documentId: doc.documentId, page, holder: holder.current!, width, alt: t("pageWithoutText", { page, sender }),
      onDrawn: () => { setFailed(false); events.drawn(pageKey); },
      onText: (layer) => { focused.current = document.activeElement; setText(layer); },
      onErased: () => { setText(null); events.erased(pageKey); },
      onFailed: () => { setFailed(true); events.erased(pageKey); },
    };
    events.place(pageKey, sheet, ref.current);
    return () => events.place(pageKey, sheet, null);
  }, []);
  const room = hitMargins(fields);
  const boxes = useMemo(() => inReadingOrder(text, fields, filled, later), [text, fields, filled, later]);
  useLayoutEffect(() => {
    if (text) placeInText(text, boxes);
    // A field that is moved in the document loses the focus.
    const element = focused.current;
    focused.current = null;
    if (element instanceof HTMLElement && element !== document.activeElement && ref.current!.contains(element)) element.focus({ preventScroll: true });
  }, [boxes]);
  return (
    <div ref={ref} class="sheet" id={`p-${pageKey}`} role="group" aria-label={t("pageOf", { page, count: doc.pageCount })} tabIndex={-1}
      style={{ "--pw": String(width), "--ph": String(height) }}>
      <div ref={holder} class="paint" dir="ltr" data-loading={t("pageLoading", { page })} />
      {failed && <div class="failed" role="alert"><p>{t("pageFailed")}</p><button type="button" class="small" onClick={() => { setFailed(false); events.retry(); }}>{t("tryAgain")}</button></div>}
      {boxes.map(({ id, kind, index }) => {
        if (kind === "later") return <LaterBox key={id} id={id} f={later[index]!} t={t} />;
        if (kind === "filled") return <FilledBox key={id} id={id} f={filled[index]!} t={t} events={events} />;
        const f = fields[index]!;
        return <FieldBox key={id} id={id} f={f} room={room[index]!} name={names.get(f.id) ?? ""} value={values[f.id] ?? ""} active={f.id === active} t={t} events={events} />;
      })}
    </div>
  );
}, (a, b) => a.active === b.active && a.t === b.t && a.fields === b.fields && a.filled === b.filled && a.later === b.later && a.names === b.names && a.events === b.events
  && a.fields.every((f) => a.values[f.id] === b.values[f.id]));

/** Returns the boxes of a page in reading order, each with the id of its element and its position in the text. */
function inReadingOrder(text: TextLayer | null, fields: readonly Field[], filled: readonly FilledField[], later: readonly LaterField[]) {
  const boxes = [
    ...fields.map((f, index) => ({ id: `f-${f.id}`, kind: "field" as const, index, f })),
    ...filled.map((f, index) => ({ id: `e-${f.fieldId}`, kind: "filled" as const, index, f })),
    ...later.map((f, index) => ({ id: `l-${f.fieldId}`, kind: "later" as const, index, f })),
  ];
  return readingOrder(text?.lines ?? [], boxes.map(({ f }) => f)).map(({ box, after }) => ({ ...boxes[box]!, after }));
}

/** Returns the position of a field on its page, in points, as CSS variables. */
const placed = (f: Pick<Field, "x" | "y" | "w" | "h">) => ({ "--x": String(f.x), "--y": String(f.y), "--w": String(f.w), "--h": String(f.h) });

interface BoxProps { id: string; f: Field; room: HitMargin; name: string; value: string; active: boolean; t: Translate; events: SheetEvents }

function FieldBox({ id, f, room, name, value, active, t, events }: BoxProps) {
  const filled = value.trim() !== "";
  const check = isChoice(f.type);
  const fixed = isFixed(f);
  // The value is part of the accessible name, because it may be too small to read on the page.
  const shown = check ? "" : filled ? (isPicture(f.type) ? t("filled") : value) : t("empty");
  // The handler is for keypress rather than keydown, because the events that follow keydown would be sent to the field
  // that then has the focus.
  const enter = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || !(check || fixed || (filled && isPicture(f.type)))) return;
    e.preventDefault();
    events.advance(f);
  };
  return (
    <button type="button" id={id} dir="ltr" class={`field ${f.type} ${filled ? "filled" : ""} ${fixed ? "fixed" : f.required ? "" : "optional"} ${active ? "active" : ""}`}
      style={{ ...placed(f), "--rl": String(room.left), "--rr": String(room.right), "--rt": String(room.above), "--rb": String(room.below) }}
      role={f.type === "radio" ? "radio" : check ? "checkbox" : undefined} aria-disabled={fixed || undefined} aria-checked={check ? filled : undefined} onKeyPress={enter} onClick={() => events.press(f)}
      aria-label={`${f.type === "signature" && !filled ? `${t("signHere")}: ` : ""}${name}, ${t(fixed ? (f.type === "signed_date" ? "signedDateHint" : "readOnly") : f.required ? "required" : "optional")}${shown ? `: ${shown}` : ""}`}>
      <span class="box"><FieldValue f={f} value={value} t={t} /></span>
    </button>
  );
}

function FieldValue({ f, value, t }: { f: Field; value: string; t: Translate }) {
  if (!value.trim()) {
    if (isChoice(f.type)) return null;
    return <span class="hint" dir="auto">{f.placeholder || f.label?.trim() || t(f.type === "signature" ? "signHere" : f.type === "initial" ? "initialHere" : f.type)}</span>;
  }
  if (isPicture(f.type)) return <img src={value} alt="" draggable={false} />;
  return <Written f={f} value={value} />;
}

/** A check mark or text, rendered as in the sealed file. */
function Written({ f, value }: { f: Pick<Field, "type" | "w" | "h"> & Partial<Field>; value: string }) {
  if (f.type === "radio") return <svg viewBox="0 0 100 100" aria-hidden="true"><circle cx="50" cy="50" r="30" fill="currentColor" /></svg>;
  if (f.comb && f.maxLength) {
    const size = Math.min(12, f.h / 1.2, (f.w / f.maxLength) * 1.4);
    return (
      <span class="comb" style={{ "--size": String(size), gridTemplateColumns: `repeat(${f.maxLength}, 1fr)` }}>
        {[...value].map((c, i) => <span key={i}>{c}</span>)}
      </span>
    );
  }
  if (f.type === "checkbox") {
    return <svg viewBox="0 0 100 100" aria-hidden="true"><path d="M18 54 L40.4 78 L83.6 22" fill="none" stroke="currentColor" stroke-width="11.2" stroke-linecap="round" stroke-linejoin="round" /></svg>;
  }
  const { lines, size } = fitText(value, f.w - 2, f.h, f.fontSize);
  return <span class={`written ${f.align ?? ""}`} dir="auto" style={{ "--size": String(size) }}>{lines.join("\n")}</span>;
}

/** The box of a later signer's field, which may cover page content. */
function LaterBox({ id, f, t }: { id: string; f: LaterField; t: Translate }) {
  const what = t("laterOf", { type: t(f.type), name: `\u2068${f.signerName}\u2069` });
  return <div id={id} class={`later ${f.w < 48 || f.h < 14 ? "slim" : ""}`} dir="ltr" style={placed(f)} role="img" aria-label={what} title={what}><span class="whose" dir="auto" aria-hidden="true">{what}</span></div>;
}

/** The entry of another signer, with that signer's name. */
function FilledBox({ id, f, t, events }: { id: string; f: FilledField; t: Translate; events: SheetEvents }) {
  const [picture, setPicture] = useState("");
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let stale = false;
    if (f.picture) events.picture(f.picture).then((p) => { if (!stale) setPicture(p); }, () => { if (!stale) setFailed(true); });
    return () => { stale = true; };
  }, [f.picture]);
  const check = isChoice(f.type);
  const value = check ? (f.value === "true" ? "true" : "") : f.value ?? "";
  const said = f.picture ? t(f.type) : check ? t(value ? "checked" : "unchecked") : value || t("empty");
  const whose = t("enteredBy", { name: `\u2068${f.signerName}\u2069` });
  return (
    <div id={id} class={`entered ${f.w < 48 ? "slim" : ""}`} dir="ltr" style={placed(f)} role={f.attachment ? "group" : "img"} aria-label={`${whose}: ${said}`} title={whose} tabIndex={-1}>
      {picture && <img src={picture} alt="" draggable={false} />}
      {failed && <span class="hint">{t("pictureFailed")}</span>}
      {!f.picture && value && <Written f={f} value={value} />}
      {f.attachment && <button type="button" class="bare small file" aria-label={t("openFile", { name: f.attachment.name })} onClick={() => events.openFile(f.attachment!)}>↓</button>}
      <span class="whose" dir="auto" aria-hidden="true">{f.signerName}</span>
    </div>
  );
}
