import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Localization } from "../ui/i18n";
import { FileEntry, FileNotices, type FileActions } from "./FileEntry";
import { readNumber, typedNumber, writeDay, type FieldErrors } from "./formats";
import { isChoice, isFixed, isPicture, isWritten, today, type Context, type Field, type Values } from "./model";
import { textFor } from "./roles";

interface Props {
  zoom: ComponentChildren;
  context: Context;
  speech: Localization;
  names: Map<string, string>;
  active: Field | undefined;
  values: Values;
  days: Record<string, string>;
  missing: Field[];
  problems: Map<string, string>;
  fieldErrors: FieldErrors;
  files: FileActions;
  unread: number;
  /** The visible page is too small to count as read. */
  small: boolean;
  onValue: (f: Field, value: string, day?: string) => void;
  onNext: () => void;
  onAdvance: (f: Field) => void;
  onGo: (f: Field) => void;
  onPicture: (f: Field) => boolean;
  onChange: (f: Field) => void;
  onLeave: () => void;
}

/**
 * The bar below the pages. It contains the number of remaining fields, the button to the next field, and the input of
 * the active field.
 */
export function Bar({ zoom, context, speech, names, active, values, days, missing, problems, fieldErrors, files, unread, small, onValue, onNext, onAdvance, onGo, onPicture, onChange, onLeave }: Props) {
  const { t } = speech;
  const required = context.fields.filter((f) => f.required && !isFixed(f)).length;
  const total = required + context.documents.reduce((n, d) => n + d.pageCount, 0);
  const left = missing.length + unread;
  const filled = active ? values[active.id] ?? "" : "";
  // For a field that needs a single decision, the same button fills the field and moves on.
  const decide = active && active.required && !filled && (isPicture(active.type) || isChoice(active.type)) && !isFixed(active) ? active : null;
  const label = decide ? t(decide.type === "signature" ? "signHere" : decide.type === "initial" ? "initialHere" : decide.type === "stamp" ? "stamp" : decide.type === "radio" ? "choose" : "tick")
    : missing.length > 0 ? t(missing.length === required && !active ? "start" : "next") : unread > 0 ? t("readOn") : t(textFor(context.kind, "review"));
  const act = () => {
    if (!decide) onNext();
    else if (isChoice(decide.type)) {
      onValue(decide, "true");
      onAdvance(decide);
    } else if (onPicture(decide)) onAdvance(decide);
  };
  return (
    <footer class="bar noprint" onKeyDown={(e) => { if (e.key === "Escape" && active) onLeave(); }}>
      <div class="progress" aria-hidden="true"><span style={{ width: `${total ? (100 * (total - left)) / total : 100}%` }} /></div>
      <FileNotices fields={context.fields.filter((f) => f !== active)} names={names} files={files} t={t} onGo={onGo} />
      {active && isWritten(active.type) && !isFixed(active) && (
        <Entry key={active.id} f={active} name={names.get(active.id) ?? ""} speech={speech} value={filled} day={days[active.id]} problem={problems.get(active.id) ?? ""} said={fieldErrors[active.id]?.value === (values[active.id] ?? "")} onValue={onValue} onDone={() => onAdvance(active)} />
      )}
      {active?.type === "attachment" && <FileEntry key={active.id} f={active} name={names.get(active.id) ?? ""} speech={speech} files={files} />}
      {active?.type === "radio" && !isFixed(active) && (
        <fieldset class="entry choices">
          <legend><bdi>{t("groupName", { name: active.label?.trim() || active.group || "" })}</bdi></legend>
          <div class="row">
            {context.fields.filter((f) => f.type === "radio" && f.group === active.group).map((f) => (
              <label key={f.id} class="check"><input type="radio" name={`group-${active.group}`} checked={(values[f.id] ?? "") !== ""} onChange={() => onValue(f, "true")}
                onKeyPress={(e) => { if (e.key === "Enter") { e.preventDefault(); onAdvance(active); } }} /><bdi>{f.option}</bdi></label>
            ))}
          </div>
        </fieldset>
      )}
      {active?.type === "checkbox" && !isFixed(active) && (
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
          {context.fields.length > 0 && <strong>{missing.length ? t("fieldsLeft", { n: missing.length }) : t("fieldsDone")}</strong>}
          <span class="quiet">{!unread ? t("pagesDone") : small ? t("zoomToRead") : t("pagesLeft", { n: unread })}</span>
        </p>
        {zoom}
        <button type="button" id="next" onClick={act}>{label}</button>
      </div>
    </footer>
  );
}

interface EntryProps { f: Field; name: string; speech: Localization; value: string; day: string | undefined; problem: string; said: boolean; onValue: Props["onValue"]; onDone: () => void }

function Entry({ f, name, speech, value, day, problem, said, onValue, onDone }: EntryProps) {
  const { t, locale } = speech;
  const ref = useRef<HTMLInputElement & HTMLTextAreaElement & HTMLSelectElement>(null);
  const [left, setLeft] = useState(problem !== "");
  const [typed, setTyped] = useState(() => (f.type === "number" ? typedNumber(value, locale) : value));
  const wrong = left || said ? problem : ""; // the service's message is displayed while the signer is typing
  // The focus must be set in the same turn as the tap, because some phones open the keyboard only then.
  useLayoutEffect(() => ref.current?.focus({ preventScroll: true }), []);
  // The date is entered before the next key press, so that Enter accepts the displayed date.
  useLayoutEffect(() => {
    if (f.type === "date" && !value) onValue(f, writeDay(f, today(), locale), today());
  }, []);
  const tall = f.type === "text" && !f.comb && (f.multiline ?? f.h >= 30);
  const done = () => { setLeft(true); if (!problem) onDone(); };
  const enter = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || e.isComposing || (tall && !e.ctrlKey && !e.metaKey)) return;
    e.preventDefault();
    done();
  };
  const shared = { ref, id: `entry-${f.id}`, enterkeyhint: tall ? undefined : "next" as const, onKeyPress: enter, onBlur: () => setLeft(true), placeholder: f.placeholder,
    "aria-invalid": wrong ? true : undefined, "aria-describedby": [wrong && "entry-problem", f.type === "date" && "entry-hint"].filter(Boolean).join(" ") || undefined };
  const complete: Partial<Record<string, string>> = { name: "name", email: "email", company: "organization", title: "organization-title" };
  const line = { ...shared, dir: "auto" as const, maxLength: f.maxLength ?? 2000, autocomplete: complete[f.type] };
  return (
    <form class="entry" onSubmit={(e) => { e.preventDefault(); done(); }} noValidate>
      <label for={`entry-${f.id}`}><bdi>{name}</bdi>{f.required ? "" : ` (${t("optional")})`}</label>
      <div class="row">
        {f.type === "date" && (
          <input {...shared} type="date" min={f.validation?.min} max={f.validation?.max} value={day ?? (value ? "" : today())} required={f.required}
            onInput={(e) => { const d = e.currentTarget.value; onValue(f, d ? writeDay(f, d, locale) : "", d); }} />
        )}
        {f.type === "select" && (
          <select {...shared} value={value} required={f.required} onChange={(e) => onValue(f, e.currentTarget.value)}>
            <option value="">{t("choose")}</option>
            {(f.options ?? []).map((o) => <option key={o} value={o}>{o}</option>)}
          </select>
        )}
        {f.type === "number" && <input {...line} inputMode="decimal" maxLength={64} value={typed} onInput={(e) => { setTyped(e.currentTarget.value); onValue(f, readNumber(e.currentTarget.value, locale)); }} />}
        {["text", "name", "email", "company", "title"].includes(f.type) && !tall && (
          <input {...line} type={f.type === "email" ? "email" : "text"} value={value} onInput={(e) => onValue(f, e.currentTarget.value)} />
        )}
        {tall && <textarea {...line} rows={2} value={value} onInput={(e) => onValue(f, e.currentTarget.value)} />}
      </div>
      <p id="entry-problem" class="notice bad" role="alert">{wrong}</p>
      {f.type === "date" && <p id="entry-hint" class="quiet small hintline">{t("dateHint")}</p>}
    </form>
  );
}
