/**
 * The messages of the console. They are loaded before the console is displayed, and all its modules read them when they
 * render.
 */
import type { ComponentChildren } from "preact";
import english from "../../../locales/en/console.json";
import { catalogue } from "../ui/texts";

export type TextKey = keyof typeof english;

export const { load: loadTexts, language, locale, t, listed, numeral, percent } = catalogue<TextKey>(english, import.meta.glob(["../../../locales/*/console.json", "!../../../locales/en/*"], { import: "default" }));

/**
 * Returns a message whose placeholders are replaced by elements, such as links. The number n selects the plural form.
 */
export function rich(key: TextKey, values: Record<string, ComponentChildren>, n?: number): ComponentChildren[] {
  return t(key, n === undefined ? {} : { n }).split(/\{(\w+)\}/).map((part, i) => (i % 2 ? values[part] : part));
}

/** Formats a date and time, or returns "–" for null. */
export const formatTime = (s: string | null): string => (s ? new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "medium" }).format(new Date(s)) : "–");

/** Formats a date without a time. */
export const formatDate = (s: string): string => new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeZone: s.length > 10 ? undefined : "UTC" }).format(new Date(s));

const units: [Intl.RelativeTimeFormatUnit, number][] = [["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60]];

/** Formats a time relative to now: "2 hours ago", "in 3 days", "now". */
export function formatRelative(s: string, now = Date.now()): string {
  const seconds = (Date.parse(s) - now) / 1000;
  const [unit, length] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", Infinity];
  return new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "short" }).format(Math.trunc(seconds / length) || 0, unit as Intl.RelativeTimeFormatUnit);
}
