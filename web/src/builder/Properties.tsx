import type { Condition, Clause } from "../sign/conditions";
import { align, distribute, onPage, type Alignment, type Size } from "./geometry";
import { describe, fieldTypes, freshContent, isWritten, round, typeName, type BuilderField, type FieldContent, type FieldType, type Recipient } from "./model";
import { t } from "./texts";

interface Props {
  selected: readonly BuilderField[];
  fields: readonly BuilderField[];
  recipients: readonly Recipient[];
  types: readonly FieldType[];
  problem?: string;
  sizeOf: (f: FieldContent) => Size;
  pagesOf: (documentId: string) => number;
  /** Whether each click toggles a field in the selection. */
  several: boolean;
  onSeveral: (on: boolean) => void;
  onSelectPage: () => void;
  onChange: (changed: readonly BuilderField[], merge: string) => void;
  onCopyToAllPages: (f: BuilderField) => void;
  onDuplicate: () => void;
  onDelete: () => void;
}

/** The editable properties of the selected fields. */
export function Properties(props: Props) {
  const { selected, fields, several } = props;
  return (
    <>
      {selected.length === 0 ? <p class="quiet small">{t("howToBegin")}</p>
        : selected.length === 1 ? <One {...props} f={selected[0]!} /> : <Several {...props} />}
      {fields.length > 1 && (
        <div class="row bseveral">
          <button type="button" class={`plain small ${several ? "on" : ""}`} aria-pressed={several} title={t("selectSeveralHint")} onClick={() => props.onSeveral(!several)}>{t("selectSeveral")}</button>
          <button type="button" class="plain small" title={t("selectPageHint")} onClick={props.onSelectPage}>{t("selectPage")}</button>
        </div>
      )}
    </>
  );
}

function Several({ selected, recipients, sizeOf, onChange, onDuplicate, onDelete }: Props) {
  const lined = (how: Alignment) => onChange(align(selected, how).map((f) => onPage(f, sizeOf(f))), "");
  const spread = (along: "x" | "y") => onChange(distribute(selected, along), "");
  const sized = (...what: ("w" | "h")[]) => onChange(selected.map((f) => onPage({ ...f, ...Object.fromEntries(what.map((side) => [side, selected[0]![side]])) }, sizeOf(f))), "");
  const onePage = selected.every((f) => f.page === selected[0]!.page && f.documentId === selected[0]!.documentId);
  const signer = selected.every((f) => f.signerId === selected[0]!.signerId) ? selected[0]!.signerId : "";
  return (
    <div class="stack">
      <h2>{t("fieldCount", { n: selected.length })}</h2>
      <div><label for="pwho">{t("for")}</label><select id="pwho" value={signer} onChange={(e) => onChange(selected.map((f) => ({ ...f, signerId: e.currentTarget.value })), "")}>
        {!signer && <option value="">{t("severalPeople")}</option>}{recipients.map((r) => <option key={r.id} value={r.id}>{r.name}</option>)}</select></div>
      {onePage && (
        <fieldset class="bgrid"><legend>{t("lineUp")}</legend>
          {(["left", "centre", "right", "top", "middle", "bottom"] as const).map((how) => <button key={how} type="button" class="plain small" onClick={() => lined(how)}>{t(how)}</button>)}
        </fieldset>
      )}
      {onePage && selected.length > 2 && (
        <fieldset class="bgrid"><legend>{t("equalGaps")}</legend>
          <button type="button" class="plain small" onClick={() => spread("x")}>{t("across")}</button><button type="button" class="plain small" onClick={() => spread("y")}>{t("downwards")}</button>
        </fieldset>
      )}
      <fieldset class="bgrid"><legend>{t("sameSize")}</legend>
        <button type="button" class="plain small" onClick={() => sized("w")}>{t("width")}</button><button type="button" class="plain small" onClick={() => sized("h")}>{t("height")}</button><button type="button" class="plain small" onClick={() => sized("w", "h")}>{t("both")}</button>
      </fieldset>
      <div class="row"><button type="button" class="plain small" onClick={onDuplicate}>{t("duplicate")}</button><button type="button" class="plain small" onClick={onDelete}>{t("delete")}</button></div>
    </div>
  );
}

/** Returns undefined for an empty string, so that the member is omitted. */
const orNone = (text: string): string | undefined => text || undefined;

function One({ f, fields, recipients, types, problem, sizeOf, pagesOf, onChange, onCopyToAllPages, onDuplicate, onDelete }: Props & { f: BuilderField }) {
  const set = (change: Partial<FieldContent>, what: string) => onChange([{ ...f, ...change }], `${what}:${f.key}`);
  /**
   * Applies a complete entry. The input then displays the result, which is the entered number, limited by the edges of
   * the page, or the previous number if the input was empty.
   */
  const place = (name: "x" | "y" | "w" | "h", box: HTMLInputElement) => {
    const next = box.value === "" ? f : onPage({ ...f, [name]: Number(box.value) }, sizeOf(f));
    box.value = String(round(next[name]));
    if (next !== f) onChange([next], `${name}:${f.key}`);
  };
  const turnTo = (box: HTMLInputElement) => {
    const page = Number(box.value);
    if (Number.isInteger(page) && page >= 1 && page <= pagesOf(f.documentId)) set({ page }, "");
    else box.value = String(f.page);
  };
  const text = (name: "label" | "name" | "placeholder" | "defaultValue" | "format" | "group" | "option", label: string, hint?: string) => (
    <div><label for={`p${name}`}>{label}</label><input id={`p${name}`} value={f[name] ?? ""} aria-describedby={hint ? `p${name}h` : undefined} onInput={(e) => set({ [name]: orNone(e.currentTarget.value) }, name)} />{hint && <p id={`p${name}h`} class="quiet small bhint">{hint}</p>}</div>
  );
  const written = isWritten(f.type);
  return (
    <div class="stack">
      <h2>{typeName(f.type)}</h2>
      {problem && <p class="notice bad small" role="alert">{t("notSavedWhy", { problem })}</p>}
      <div><label for="pwho">{t("for")}</label><select id="pwho" value={f.signerId} onChange={(e) => set({ signerId: e.currentTarget.value }, "")}>{recipients.map((r) => <option key={r.id} value={r.id}>{r.name}</option>)}</select></div>
      <div><label for="ptype">{t("type")}</label><select id="ptype" value={f.type} onChange={(e) => onChange([retyped(f, e.currentTarget.value as FieldType)], "")}>
        {fieldTypes.filter((type) => types.includes(type) || type === f.type).map((type) => <option key={type} value={type}>{typeName(type)}</option>)}</select></div>
      {text("label", t("label"))}
      {f.type === "radio" ? <>{text("group", t("group"))}{text("option", t("option"))}</> : text("name", t("fieldName"), t("fieldNameHint"))}
      <div class="ticks2">
        <label class="check"><input type="checkbox" checked={f.required} onChange={(e) => set({ required: e.currentTarget.checked }, "")} /> {t("required")}</label>
        {f.type !== "attachment" && f.type !== "signature" && <label class="check"><input type="checkbox" checked={f.readOnly ?? false} onChange={(e) => set({ readOnly: e.currentTarget.checked || undefined }, "")} /> {t("readOnly")}</label>}
        {f.type === "text" && <label class="check"><input type="checkbox" checked={f.multiline ?? false} onChange={(e) => set({ multiline: e.currentTarget.checked || undefined }, "")} /> {t("multiline")}</label>}
      </div>
      {f.type === "select" && <div><label for="poptions">{t("options")}</label><textarea id="poptions" rows={4} value={(f.options ?? []).join("\n")} onInput={(e) => set({ options: e.currentTarget.value.split("\n").slice(0, 100) }, "options")} onBlur={(e) => set({ options: e.currentTarget.value.split("\n").map((o) => o.trim()).filter(Boolean) }, "options")} /></div>}
      {(written || f.type === "select") && text("defaultValue", t("defaultValue"))}
      {written && text("placeholder", t("placeholder"))}
      {f.type === "date" && text("format", t("dateFormat"), t("dateFormatHint"))}
      {f.type === "number" && <div><label for="pdec">{t("decimals")}</label><input id="pdec" type="number" min={0} max={6} value={f.format ?? ""} onInput={(e) => set({ format: orNone(e.currentTarget.value) }, "format")} /></div>}
      {written && (
        <details><summary>{t("rules")}</summary>
          <div class="stack">
            <div class="bpair">
              <div><label for="pfont">{t("fontSize")}</label><input id="pfont" type="number" min={4} max={72} step={0.5} value={f.fontSize ?? ""} onInput={(e) => set({ fontSize: Number(e.currentTarget.value) || undefined }, "fontSize")} /></div>
              <div><label for="palign">{t("aligned")}</label><select id="palign" value={f.align ?? ""} onChange={(e) => set({ align: (e.currentTarget.value || undefined) as FieldContent["align"] }, "")}><option value="">{t("alignDefault")}</option><option value="left">{t("left")}</option><option value="center">{t("centre")}</option><option value="right">{t("right")}</option></select></div>
            </div>
            {f.type === "text" && <div><label for="pmax">{t("maxLength")}</label><input id="pmax" type="number" min={1} max={4000} value={f.maxLength ?? ""} onInput={(e) => set({ maxLength: Number(e.currentTarget.value) || undefined }, "maxLength")} /></div>}
            <Rules f={f} set={set} />
          </div>
        </details>
      )}
      <ConditionEditor f={f} fields={fields} recipients={recipients} set={set} />
      <details><summary>{t("place")}</summary>
        <div class="bpair">
          {(["x", "y", "w", "h"] as const).map((name, i) => <div key={name}><label for={`p${name}`}>{t((["fromLeft", "fromTop", "fieldWidth", "fieldHeight"] as const)[i]!)}</label><input id={`p${name}`} type="number" step={0.5} value={round(f[name])} onChange={(e) => place(name, e.currentTarget)} /></div>)}
          <div><label for="ppage">{t("page")}</label><input id="ppage" type="number" min={1} max={pagesOf(f.documentId)} value={f.page} onChange={(e) => turnTo(e.currentTarget)} /></div>
        </div>
      </details>
      <div class="row">
        <button type="button" class="plain small" onClick={onDuplicate}>{t("duplicate")}</button>
        {pagesOf(f.documentId) > 1 && <button type="button" class="plain small" onClick={() => onCopyToAllPages(f)}>{t("copyToAllPages")}</button>}
        <button type="button" class="plain small" onClick={onDelete}>{t("delete")}</button>
      </div>
    </div>
  );
}

/** Returns the field with another type, without the properties that the other type does not have. */
function retyped(f: BuilderField, type: FieldType): BuilderField {
  const { key, documentId, signerId, page, x, y, w, h, required, name, label, condition } = f;
  const kept: BuilderField = { key, documentId, signerId, page, x, y, w, h, required, type, label, condition, ...freshContent(type) };
  if (type === "radio") return { ...kept, group: f.group ?? `choice_of_${name ?? "field"}`, option: f.option ?? t("choice") };
  return { ...kept, name: name ?? f.group };
}

type Set = (change: Partial<FieldContent>, what: string) => void;

function Rules({ f, set }: { f: BuilderField; set: Set }) {
  const v = f.validation ?? {};
  const change = (name: "pattern" | "min" | "max" | "message", value: string) => {
    const next = { ...v, [name]: value || undefined };
    if (!value) delete next[name];
    set({ validation: Object.keys(next).length ? next : undefined }, name);
  };
  const bounded = f.type === "number" || f.type === "date";
  return (
    <>
      {bounded && (
        <div class="bpair">
          <div><label for="pmin">{t("min")}</label><input id="pmin" value={v.min ?? ""} onInput={(e) => change("min", e.currentTarget.value)} /></div>
          <div><label for="pmaxv">{t("max")}</label><input id="pmaxv" value={v.max ?? ""} onInput={(e) => change("max", e.currentTarget.value)} /></div>
        </div>
      )}
      {!bounded && <div><label for="ppat">{t("pattern")}</label><input id="ppat" class="mono" maxLength={200} value={v.pattern ?? ""} onInput={(e) => change("pattern", e.currentTarget.value)} /></div>}
      <div><label for="pmsg">{t("ruleMessage")}</label><input id="pmsg" maxLength={200} value={v.message ?? ""} onInput={(e) => change("message", e.currentTarget.value)} /></div>
    </>
  );
}

/** A description of the condition under which the field is displayed. All or any of the comparisons must be true. */
function ConditionEditor({ f, fields, recipients, set }: { f: BuilderField; fields: readonly BuilderField[]; recipients: readonly Recipient[]; set: Set }) {
  const orderOf = (id: string) => recipients.find((r) => r.id === id)?.routingOrder ?? 0;
  const own = orderOf(f.signerId);
  const usable = new Map(fields.filter((o) => o.key !== f.key && (o.signerId === f.signerId || orderOf(o.signerId) < own))
    .flatMap((o) => { const name = o.type === "radio" ? o.group : o.name; return name ? [[name, describe(o)] as const] : []; }));
  const how = f.condition?.any ? "any" : "all";
  const clauses: Clause[] = (how === "any" ? f.condition?.any : f.condition?.all) ?? [];
  const put = (next: Clause[], as: "all" | "any" = how) => set({ condition: next.length ? ({ [as]: next } as Condition) : undefined }, "condition");
  const at = (i: number, c: Clause) => put(clauses.map((old, j) => (j === i ? c : old)));
  const kindOf = (c: Clause) => (c.is !== undefined ? "is" : c.isNot !== undefined ? "isNot" : c.filled === false ? "empty" : "filled");
  const made = (field: string, kind: string, value: string): Clause =>
    kind === "is" ? { field, is: value } : kind === "isNot" ? { field, isNot: value } : { field, filled: kind === "filled" };
  return (
    <details open={clauses.length > 0}><summary>{t("condition")}</summary>
      {clauses.length > 1 && (
        <div><label for="chow">{t("shownIf")}</label><select id="chow" value={how} onChange={(e) => put(clauses, e.currentTarget.value as "all" | "any")}><option value="all">{t("ifAll")}</option><option value="any">{t("ifAny")}</option></select></div>
      )}
      {clauses.map((c, i) => {
        const kind = kindOf(c);
        const value = c.is ?? c.isNot ?? "";
        return (
          <div key={i} class="bclause">
            <select aria-label={t("field")} value={c.field} onChange={(e) => at(i, made(e.currentTarget.value, kind, value))}>
              {!usable.has(c.field) && <option value={c.field}>{t("unusable", { name: c.field })}</option>}{[...usable].map(([name, label]) => <option key={name} value={name}>{label}</option>)}</select>
            <select aria-label={t("how")} value={kind} onChange={(e) => at(i, made(c.field, e.currentTarget.value, value))}>
              <option value="is">{t("is")}</option><option value="isNot">{t("isNot")}</option><option value="filled">{t("isFilled")}</option><option value="empty">{t("isEmpty")}</option></select>
            {(kind === "is" || kind === "isNot") && <input aria-label={t("value")} value={value} placeholder="true" onInput={(e) => at(i, made(c.field, kind, e.currentTarget.value))} />}
            <button type="button" class="bare small" aria-label={t("removeCondition")} onClick={() => put(clauses.filter((_, j) => j !== i))}>×</button>
          </div>
        );
      })}
      {usable.size === 0 ? <p class="quiet small">{t("nothingToDependOn")}</p>
        : <button type="button" class="plain small" onClick={() => put([...clauses, made([...usable.keys()][0]!, "filled", "")])}>{t("addCondition")}</button>}
    </details>
  );
}
