import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Speech } from "../ui/i18n";
import { isPicture, today, writeDate, type Context, type Field, type Values } from "./model";

interface Props {
  zoom: ComponentChildren;
  context: Context;
  speech: Speech;
  active: Field | undefined;
  values: Values;
  days: Record<string, string>;
  missing: Field[];
  unread: number;
  onValue: (f: Field, value: string, day?: string) => void;
  onNext: () => void;
  onPicture: (f: Field) => void;
  onChange: (f: Field) => void;
  onLeave: () => void;
}

/** The bar below the pages: what is left, the way to it, and the entry of the field that is being filled. */
export function Bar({ zoom, context, speech, active, values, days, missing, unread, onValue, onNext, onPicture, onChange, onLeave }: Props) {
  const { t } = speech;
  const required = context.fields.filter((f) => f.required).length;
  const total = required + context.documents.reduce((n, d) => n + d.pageCount, 0);
  const left = missing.length + unread;
  const writing = active && (active.type === "text" || active.type === "date") ? active : null;
  // A signature field that was gone to is signed by the same button.
  const toSign = active && active.required && isPicture(active.type) && !values[active.id] ? active : null;
  const label = toSign ? t(toSign.type === "signature" ? "signHere" : "initialHere")
    : missing.length > 0 ? t(missing.length === required && !active ? "start" : "next") : unread > 0 ? t("readOn") : t("review");
  return (
    <footer class="bar noprint" onKeyDown={(e) => { if (e.key === "Escape" && writing) onLeave(); }}>
      {zoom}
      <div class="progress" aria-hidden="true"><span style={{ width: `${total ? (100 * (total - left)) / total : 100}%` }} /></div>
      {writing && <Entry key={writing.id} f={writing} speech={speech} value={values[writing.id] ?? ""} day={days[writing.id]} onValue={onValue} onDone={onNext} />}
      {active && isPicture(active.type) && values[active.id] && (
        <div class="row entry">
          <span class="grow">{t(active.type)}</span>
          <button type="button" class="bare small" onClick={() => onValue(active, "")}>{t("remove")}</button>
          <button type="button" class="plain small" onClick={() => onChange(active)}>{t("change")}</button>
        </div>
      )}
      <div class="row main">
        <p class="left" role="status">
          <strong>{missing.length ? t("fieldsLeft", { n: missing.length }) : t("fieldsDone")}</strong>
          <span class="quiet">{unread ? t("pagesLeft", { n: unread }) : t("pagesDone")}</span>
        </p>
        <button type="button" id="next" onClick={() => (toSign ? onPicture(toSign) : onNext())}>{label}</button>
      </div>
    </footer>
  );
}

interface EntryProps { f: Field; speech: Speech; value: string; day: string | undefined; onValue: Props["onValue"]; onDone: () => void }

function Entry({ f, speech, value, day, onValue, onDone }: EntryProps) {
  const { t, locale } = speech;
  const ref = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  useEffect(() => {
    if (f.type === "date" && !value) onValue(f, writeDate(today(), locale), today());
    ref.current?.focus({ preventScroll: true });
  }, []);
  const label = `${t("fieldName", { type: t(f.type), page: f.page })}${f.required ? "" : ` (${t("optional")})`}`;
  const tall = f.type === "text" && f.h >= 30;
  return (
    <form class="entry" onSubmit={(e) => { e.preventDefault(); onDone(); }}>
      <label for="entry">{label}</label>
      <div class="row">
        {f.type === "date" && (
          <input ref={ref} id="entry" type="date" value={day ?? (value ? "" : today())} required={f.required}
            onInput={(e) => { const d = e.currentTarget.value; onValue(f, d ? writeDate(d, locale) : "", d); }} />
        )}
        {f.type === "text" && !tall && <input ref={ref} id="entry" dir="auto" value={value} maxLength={2000} onInput={(e) => onValue(f, e.currentTarget.value)} />}
        {tall && <textarea ref={ref} id="entry" dir="auto" rows={2} value={value} maxLength={2000} onInput={(e) => onValue(f, e.currentTarget.value)} />}
      </div>
    </form>
  );
}
