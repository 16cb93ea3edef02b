import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Localization } from "../ui/i18n";
import { isPicture, today, writeDate, type Context, type Field, type Values } from "./model";

interface Props {
  zoom: ComponentChildren;
  context: Context;
  speech: Localization;
  names: Map<string, string>;
  active: Field | undefined;
  values: Values;
  days: Record<string, string>;
  missing: Field[];
  unread: number;
  /** The page in sight is shown too small to count as read. */
  small: boolean;
  onValue: (f: Field, value: string, day?: string) => void;
  onNext: () => void;
  onAdvance: (f: Field) => void;
  onPicture: (f: Field) => boolean;
  onChange: (f: Field) => void;
  onLeave: () => void;
}

/** The bar below the pages: what is left, the way to it, and the entry of the field that is being filled. */
export function Bar({ zoom, context, speech, names, active, values, days, missing, unread, small, onValue, onNext, onAdvance, onPicture, onChange, onLeave }: Props) {
  const { t } = speech;
  const required = context.fields.filter((f) => f.required).length;
  const total = required + context.documents.reduce((n, d) => n + d.pageCount, 0);
  const left = missing.length + unread;
  const filled = active ? values[active.id] ?? "" : "";
  // What only takes one decision is done, and left, by the same button.
  const decide = active && active.required && !filled && (isPicture(active.type) || active.type === "checkbox") ? active : null;
  const label = decide ? t(decide.type === "signature" ? "signHere" : decide.type === "initial" ? "initialHere" : "tick")
    : missing.length > 0 ? t(missing.length === required && !active ? "start" : "next") : unread > 0 ? t("readOn") : t("review");
  const act = () => {
    if (!decide) onNext();
    else if (decide.type === "checkbox") {
      onValue(decide, "true");
      onAdvance(decide);
    } else if (onPicture(decide)) onAdvance(decide);
  };
  return (
    <footer class="bar noprint" onKeyDown={(e) => { if (e.key === "Escape" && active) onLeave(); }}>
      {zoom}
      <div class="progress" aria-hidden="true"><span style={{ width: `${total ? (100 * (total - left)) / total : 100}%` }} /></div>
      {active && (active.type === "text" || active.type === "date") && (
        <Entry key={active.id} f={active} name={names.get(active.id) ?? ""} speech={speech} value={filled} day={days[active.id]} onValue={onValue} onDone={() => onAdvance(active)} />
      )}
      {active?.type === "checkbox" && (
        <div class="row entry">
          <label class="check grow"><input type="checkbox" checked={filled !== ""} onChange={(e) => onValue(active, e.currentTarget.checked ? "true" : "")}
            onKeyPress={(e) => { if (e.key === "Enter") { e.preventDefault(); onAdvance(active); } }} /><bdi>{names.get(active.id)}</bdi></label>
        </div>
      )}
      {active && isPicture(active.type) && (
        <div class="row entry">
          <span class="grow"><bdi>{names.get(active.id)}</bdi></span>
          {filled && <button type="button" class="bare small" onClick={() => onValue(active, "")}>{t("remove")}</button>}
          {filled && <button type="button" class="plain small" onClick={() => onChange(active)}>{t("change")}</button>}
        </div>
      )}
      <div class="row main">
        <p class="left" role="status">
          <strong>{missing.length ? t("fieldsLeft", { n: missing.length }) : t("fieldsDone")}</strong>
          <span class="quiet">{!unread ? t("pagesDone") : small ? t("zoomToRead") : t("pagesLeft", { n: unread })}</span>
        </p>
        <button type="button" id="next" onClick={act}>{label}</button>
      </div>
    </footer>
  );
}

interface EntryProps { f: Field; name: string; speech: Localization; value: string; day: string | undefined; onValue: Props["onValue"]; onDone: () => void }

function Entry({ f, name, speech, value, day, onValue, onDone }: EntryProps) {
  const { t, locale } = speech;
  const ref = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  // In the turn of the tap that led here: some phones open the keyboard only then.
  useLayoutEffect(() => ref.current?.focus({ preventScroll: true }), []);
  // Before the next key can come: Enter accepts the day that is shown.
  useLayoutEffect(() => {
    if (f.type === "date" && !value) onValue(f, writeDate(today(), locale), today());
  }, []);
  const tall = f.type === "text" && f.h >= 30;
  const enter = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || e.isComposing || (tall && !e.ctrlKey && !e.metaKey)) return;
    e.preventDefault();
    onDone();
  };
  const shared = { ref, id: `entry-${f.id}`, enterkeyhint: tall ? undefined : "next" as const, onKeyPress: enter, "aria-describedby": f.type === "date" ? "entry-hint" : undefined };
  return (
    <form class="entry" onSubmit={(e) => { e.preventDefault(); onDone(); }}>
      <label for={`entry-${f.id}`}><bdi>{name}</bdi>{f.required ? "" : ` (${t("optional")})`}</label>
      <div class="row">
        {f.type === "date" && (
          <input {...shared} type="date" value={day ?? (value ? "" : today())} required={f.required}
            onInput={(e) => { const d = e.currentTarget.value; onValue(f, d ? writeDate(d, locale) : "", d); }} />
        )}
        {f.type === "text" && !tall && <input {...shared} dir="auto" value={value} maxLength={2000} onInput={(e) => onValue(f, e.currentTarget.value)} />}
        {tall && <textarea {...shared} dir="auto" rows={2} value={value} maxLength={2000} onInput={(e) => onValue(f, e.currentTarget.value)} />}
      </div>
      {f.type === "date" && <p id="entry-hint" class="quiet small hintline">{t("dateHint")}</p>}
    </form>
  );
}
