import type { ApiError } from "../ui/http";
/**
 * The formats of dates and numbers, and the page's own validation of values. The service validates everything again.
 */

import { latinDigits } from "../ui/digits";
import type { Translate } from "../ui/i18n";
import { isWritten, missingFields, writeDate, type Context, type Field, type Values } from "./model";

/**
 * Formats a day for a field: with the field's pattern if there is one, in ISO 8601 format if the field has limits, and
 * in the language's usual format otherwise.
 */
export function writeDay(f: Field, iso: string, locale: string): string {
  if (!f.format) return f.validation?.min || f.validation?.max ? iso : writeDate(iso, locale);
  const [y, m, d] = iso.split("-") as [string, string, string];
  return f.format.replaceAll(/yyyy|MM|M|dd|d/g, (token) => ({ yyyy: y, MM: m, M: String(Number(m)), dd: d, d: String(Number(d)) })[token]!);
}

/**
 * Returns the language's number conventions, which are its separators and the number of digits between two group
 * separators.
 */
function numeralsOf(locale: string): { decimal: string; group: string; between: number } {
  const parts = new Intl.NumberFormat(locale).formatToParts(-123456789.6);
  const sign = (type: "decimal" | "group", otherwise: string) => parts.find((p) => p.type === type)?.value ?? otherwise;
  return {
    decimal: sign("decimal", "."), group: sign("group", ","),
    between: parts.filter((p) => p.type === "integer")[1]?.value.length ?? 3,
  };
}

/**
 * Parses a number typed in the conventions of the language, with digits of any script, and returns it in the sealed
 * form, such as 1234.5. Group separators and spaces are removed only if they actually group digits. Text that is not a
 * number is returned unchanged, and then rejected, so that a number is never mistaken for a different one.
 */
export function readNumber(typed: string, locale: string): string {
  const { decimal, group, between } = numeralsOf(locale);
  // The separators of Arabic digits represent the separators of the language, regardless of the digits used. Fullwidth
  // separators are variants of the normal ones.
  const text = latinDigits(typed.trim()).replaceAll("\u066b", decimal).replaceAll("\u066c", group).replaceAll(/[\uff0b-\uff0e]/g, (c) => c.normalize("NFKC"))
    .replaceAll(/[\u200e\u200f\u061c]/g, "").replaceAll("\u2212", "-").replaceAll(/\s/g, " ").replaceAll("'", "\u2019");
  const at = text.indexOf(decimal);
  const [whole, rest] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + decimal.length)];
  const [, sign, size] = /^([+-]?) ?(.*)$/.exec(whole)!;
  const signs = `[ ${group.replace(/\s/, " ").replace("'", "\u2019")}]`;
  // Digits are grouped as in 1,234,567 or, in India, 12,34,567. A number with a leading zero is never grouped, so 0.500
  // is one half in every language.
  const grouped = [3, between].some((n) => new RegExp(`^[1-9]\\d{0,${n - 1}}(?=(${signs}))(?:\\1\\d{${n}})*\\1\\d{3}$`).test(size!));
  if ((!grouped && !/^\d*$/.test(size!)) || !/^\d*$/.test(rest)) return text;
  return `${sign}${size!.replaceAll(/\D/g, "")}${at < 0 ? "" : `.${rest}`}`;
}

/** Formats a parsed number in the conventions of the language, and preserves every digit. */
export function typedNumber(value: string, locale: string): string {
  return /^[+-]?\d+(\.\d+)?$/.test(value) ? value.replace(".", numeralsOf(locale).decimal) : value;
}

/** Returns the problem with a value, in the signer's language, or "" if the page finds none. */
export function problemOf(f: Field, value: string, t: Translate, locale: string, day?: string): string {
  const text = value.trim();
  if (!text || !isWritten(f.type)) return "";
  const own = f.validation?.message;
  const say = (key: Parameters<Translate>[0], values: Record<string, string | number> = {}) => own ?? t(key, values);
  if (f.maxLength && [...value].length > f.maxLength) return say("tooLong", { n: f.maxLength });
  const { min, max } = f.validation ?? {};
  if (f.type === "email" && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text)) return say("badEmail");
  if (f.type === "number") {
    if (!/^[+-]?\d+(\.\d+)?$/.test(text)) return say("badNumber", { example: new Intl.NumberFormat(locale).format(1234.5) });
    const most = Number(f.format);
    if (f.format && (text.split(".")[1]?.length ?? 0) > most) return say("decimals", { n: most });
    const show = (n: string) => new Intl.NumberFormat(locale, { maximumFractionDigits: 20 }).format(Number(n));
    if (min && Number(text) < Number(min)) return say("tooSmall", { min: show(min) });
    if (max && Number(text) > Number(max)) return say("tooLarge", { max: show(max) });
  }
  if (f.type === "date" && day) {
    const show = (iso: string) => new Intl.DateTimeFormat(locale, { dateStyle: "long", timeZone: "UTC" }).format(new Date(`${iso}T00:00:00Z`));
    if (min && day < min) return say("tooEarly", { min: show(min) });
    if (max && day > max) return say("tooLate", { max: show(max) });
  }
  return "";
}

/** The service's messages about values. Each message applies until the value changes. */
export type FieldErrors = Readonly<Record<string, { value: string; message: string }>>;

/** Returns the problems with values, by field. */
export function problemsOf(fields: readonly Field[], values: Readonly<Record<string, string>>, days: Readonly<Record<string, string>>, fieldErrors: FieldErrors, t: Translate, locale: string): Map<string, string> {
  const out = new Map<string, string>();
  for (const f of fields) {
    const value = values[f.id] ?? "";
    const said = fieldErrors[f.id];
    const problem = said && said.value === value ? said.message : problemOf(f, value, t, locale, days[f.id]);
    if (problem) out.set(f.id, problem);
  }
  return out;
}

/**
 * Returns the fields that require the signer's attention because a required value is missing or a value is invalid,
 * in order.
 */
export function fieldsToDo(context: Context, values: Values, problems: ReadonlyMap<string, string>): Field[] {
  const missing = new Set(missingFields(context, values));
  return context.fields.filter((f) => missing.has(f) || problems.has(f.id));
}

/** Returns the service's messages about individual values, by field. */
export function fieldErrorsOf(e: ApiError, sent: string[], values: Readonly<Record<string, string>>): FieldErrors {
  const out: Record<string, { value: string; message: string }> = {};
  const put = (id: string | undefined, message: string) => { if (id) out[id] = { value: values[id] ?? "", message }; };
  for (const [path, messages] of Object.entries(e.errors)) put(sent[Number(/^fields\[(\d+)\]/.exec(path)?.[1] ?? NaN)], messages.join(" "));
  const named = e.details.fields;
  if (Array.isArray(named)) for (const f of named as { fieldId: string; message: string }[]) put(f.fieldId, f.message);
  return out;
}
