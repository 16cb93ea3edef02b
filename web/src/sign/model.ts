/** The data of the signing page: the signing context, and what remains to be done. */

import type { Translate } from "../ui/i18n";
import type { Branding } from "./Look";
import type { Host, RecipientKind, Witnessed } from "./roles";
import { visibleFields, type Condition } from "./conditions";

export type FieldType = "signature" | "initial" | "date" | "text" | "checkbox" | "name" | "email" | "company" | "title" | "signed_date" | "number"
  | "select" | "radio" | "attachment" | "stamp";

export interface Field {
  id: string;
  documentId: string;
  type: FieldType;
  /** From 1. */
  page: number;
  /** Points from the left and top edge of the displayed page. */
  x: number;
  y: number;
  w: number;
  h: number;
  required: boolean;
  /** The sender's name for the field. */
  label?: string | null;
  /** The name in conditions and values; fields with one name share one value. */
  name?: string;
  placeholder?: string;
  defaultValue?: string;
  readOnly?: boolean;
  fontSize?: number;
  align?: "left" | "center" | "right";
  maxLength?: number;
  /** One character in each cell, of which there are maxLength. */
  comb?: boolean;
  multiline?: boolean;
  /** The pattern of a date, or the digits after the point of a number. */
  format?: string;
  options?: string[];
  validation?: { min?: string; max?: string; message?: string };
  condition?: Condition | null;
  /** For a radio option: the group in which one is chosen, and the text of this one. */
  group?: string;
  option?: string;
}

/** A file that was uploaded for a field. */
export interface Attached { attachmentId: string; fieldId: string; name: string; size: number; mimeType: string }

/** The entry of another signer. */
export interface FilledField extends Pick<Field, "documentId" | "type" | "page" | "x" | "y" | "w" | "h"> {
  fieldId: string;
  signerId: string;
  signerName: string;
  value: string | null;
  /** SHA-256 of a picture, which identifies it for loading. */
  picture: string | null;
  option?: string;
  attachment?: Attached;
}

/** A field that another signer fills in later. */
export interface LaterField extends Pick<Field, "documentId" | "type" | "page" | "x" | "y" | "w" | "h"> { fieldId: string; signerName: string }

/** The state of the one-time code, and when another one can be requested. */
export interface CodeState {
  /** When the code expires; null: there is no valid code. */
  liveUntil: string | null;
  triesLeft: number | null;
  requestableAt: string | null;
  /** Only a new link helps. */
  locked: boolean;
}

export interface Doc {
  documentId: string;
  name: string;
  pageCount: number;
  order: number;
  size: number;
  sha256: string;
  /** Runs of pages of one size, in points of the displayed page. */
  pages: PageRun[];
  /** The differences between the file to sign and the upload. */
  changes?: FileChange[];
}

/** Content that the service removed from an uploaded file. */
export interface FileChange { kind: string; page: number | null; count: number; detail: string | null }

interface PageRun { from: number; width: number; height: number }

export interface Context {
  envelopeId: string;
  signerId: string;
  signerName: string;
  subject: string | null;
  message: string | null;
  senderName: string;
  expiresAt: string | null;
  fields: Field[];
  documents: Doc[];
  requiresOtpVerification: boolean;
  otpVerified: boolean;
  authMethod: "email_otp" | "sms_otp" | "none";
  maskedEmail: string;
  maskedPhone?: string;
  consentGiven: boolean;
  consent: { version: string; language: string; text: string };
  savedSignatureB64: string | null;
  savedSignatureFontLabel: string | null;
  /** The entries of all earlier signers; empty until the signer is verified. */
  filled: FilledField[];
  /** The fields of later signers; absent before the signer is verified. */
  later?: LaterField[];
  /** Digest of filled. The signature contains it, so that the record proves which entries were shown. */
  shown: string | null;
  /** Encrypts the draft on this device; null until the signer is confirmed. */
  draftKey: string | null;
  code: CodeState | null;
  /** The address for questions. */
  contact?: string | null;
  /** False: the documents are closed until the signer is confirmed. */
  readBeforeCode: boolean;
  /** Values of earlier signers by name, as far as conditions refer to them. */
  conditionValues: Record<string, string>;
  /** Absent: an ordinary signer. */
  kind?: RecipientKind;
  /** The language that the sender chose for the recipient (BCP 47). */
  language?: string;
  host?: Host;
  /** The signer may delegate to another person. */
  mayDelegate?: boolean;
  witnessFor?: Witnessed;
  /** The branding of the sender's pages; absent: the default. */
  branding?: Branding;
  /** Files that wait to be signed with. */
  attachments: Attached[];
}

/**
 * A picture is a data URL; the text of a checkbox or a radio option is "true" or ""; the text of an attachment is its
 * id.
 */
export type Values = Readonly<Record<string, string>>;

export const isPicture = (type: FieldType): boolean => type === "signature" || type === "initial" || type === "stamp";

/** Whether the field is a mark that is set or not. */
export const isChoice = (type: FieldType): boolean => type === "checkbox" || type === "radio";

/** Whether the signer writes or chooses a text. */
export const isWritten = (type: FieldType): boolean => !isPicture(type) && !isChoice(type) && type !== "attachment" && type !== "signed_date";

/** Whether the sender or the service sets the value. */
export const isFixed = (f: Field): boolean => f.readOnly === true || f.type === "signed_date";

/**
 * Returns the values with which conditions are evaluated when the signer signs: the service fills in the date of
 * signing first.
 */
export function withSigningDate(fields: readonly { id: string; type: FieldType }[], values: Values): Values {
  return { ...values, ...Object.fromEntries(fields.filter((f) => f.type === "signed_date").map((f) => [f.id, today()])) };
}

/** Returns the context with the fields whose conditions are met. */
export function shownContext(c: Context, values: Values): Context {
  if (!c.fields.some((f) => f.condition)) return c;
  const shown = visibleFields(c.fields, withSigningDate(c.fields, values), c.conditionValues);
  return { ...c, fields: c.fields.filter((f) => shown.has(f.id)) };
}

/** Returns the values with the sender's or the service's content in fields that the signer has not changed. */
export function withPrefilled(c: Context, values: Values): Values {
  const out: Record<string, string> = { ...values };
  for (const f of c.fields) {
    if (f.defaultValue && (isFixed(f) || out[f.id] === undefined)) out[f.id] = isChoice(f.type) ? (f.defaultValue === "false" ? "" : "true") : f.defaultValue;
  }
  return out;
}

/** Returns the fields that change together with one: fields of the same name, and the other options of its group. */
export function changedWith(c: Context, f: Field, value: string): Record<string, string> {
  const out: Record<string, string> = { [f.id]: value };
  for (const other of c.fields) {
    if (other.id === f.id) continue;
    if (f.type === "radio" && value && other.type === "radio" && other.group === f.group) out[other.id] = "";
    if (f.name && other.name === f.name && f.type === other.type && f.type !== "radio" && f.type !== "attachment") out[other.id] = value;
  }
  return out;
}

/** A page among all documents. */
export const pageKey = (documentId: string, page: number): string => `${documentId}/${page}`;

/** Whether the signer is identified, as far as the sender requires it. */
export const isIdentified = (c: Context): boolean => !c.requiresOtpVerification || c.otpVerified;

/** Puts documents in their order and fields in reading order. */
export function sortFields(answer: Context): Context {
  // An older service does not have these members.
  const raw: Context = { ...answer, filled: answer.filled ?? [], shown: answer.shown ?? null, draftKey: answer.draftKey ?? null, code: answer.code ?? null, readBeforeCode: answer.readBeforeCode ?? true, conditionValues: answer.conditionValues ?? {}, attachments: answer.attachments ?? [] };
  const documents = [...raw.documents].sort((a, b) => a.order - b.order);
  const rank = new Map(documents.map((d, i) => [d.documentId, i]));
  const place = (f: Field) => rank.get(f.documentId) ?? 0;
  // Fields that share a line, even if not to the point, are read across.
  const fields = [...raw.fields].sort((a, b) =>
    place(a) - place(b) || a.page - b.page || (Math.abs(a.y - b.y) > Math.min(a.h, b.h) / 2 ? a.y - b.y : a.x - b.x));
  return { ...raw, documents, fields };
}

/** Returns the size of the displayed page, in points. */
export function pageSize(doc: Doc, page: number): { width: number; height: number } {
  let size = { width: 612, height: 792 };
  for (const run of doc.pages) {
    if (run.from > page) break;
    size = run;
  }
  return size;
}

/**
 * Returns a name for each field: its label or else its type, numbered if a page has several, and its page, and the
 * document if there are several.
 */
export function fieldNames(context: Context, t: Translate): Map<string, string> {
  const names = new Map<string, string>();
  const documents = new Map(context.documents.map((d) => [d.documentId, d.name]));
  for (const f of context.fields) {
    const alike = context.fields.filter((o) => o.documentId === f.documentId && o.page === f.page && o.type === f.type);
    const type = alike.length > 1 ? `${t(f.type)} ${alike.indexOf(f) + 1}` : t(f.type);
    const label = [f.label?.trim(), f.type === "radio" ? f.option : ""].filter(Boolean).join(": ");
    const name = label ? `${label} (${t("fieldName", { type, page: f.page })})` : t("fieldName", { type, page: f.page });
    names.set(f.id, context.documents.length > 1 ? t("fieldIn", { field: name, document: `\u2068${documents.get(f.documentId) ?? ""}\u2069` }) : name);
  }
  return names;
}

/** The fields that still need a value; of a group of choices without one, the first. */
export function missingFields(context: Context, values: Values): Field[] {
  const chosen = new Set(context.fields.filter((f) => f.type === "radio" && values[f.id]).map((f) => f.group));
  return context.fields.filter((f) => {
    if (isFixed(f) || values[f.id]?.trim()) return false;
    if (f.type !== "radio") return f.required;
    if (chosen.has(f.group)) return false;
    const group = context.fields.filter((o) => o.type === "radio" && o.group === f.group);
    return group[0] === f && group.some((o) => o.required);
  });
}

export function unreadPages(context: Context, read: ReadonlySet<string>): { doc: Doc; page: number }[] {
  const out = [];
  for (const doc of context.documents) {
    for (let page = 1; page <= doc.pageCount; page++) {
      if (!read.has(pageKey(doc.documentId, page))) out.push({ doc, page });
    }
  }
  return out;
}

/** Returns the first of the fields in among after the named one, or the first in among if none follows. */
export function nextField(all: readonly Field[], among: readonly Field[], after: string | null): Field | undefined {
  const at = all.findIndex((f) => f.id === after);
  return among.find((f) => all.indexOf(f) > at) ?? among[0];
}

/**
 * Writes a day in the usual form of the language, in one of the formats that the service knows. It is sealed as
 * written.
 */
export function writeDate(iso: string, locale: string): string {
  const [y, m, d] = iso.split("-").map(Number) as [number, number, number];
  const two = (n: number) => String(n).padStart(2, "0");
  switch (locale.split("-")[0]) {
    case "de": case "pl": case "cs": case "tr": case "he": return `${two(d)}.${two(m)}.${y}`;
    case "fr": case "es": case "pt": case "it": return `${two(d)}/${two(m)}/${y}`;
    case "nl": return `${two(d)}-${two(m)}-${y}`;
    case "sv": return iso;
    case "ja": return `${y}年${m}月${d}日`;
    case "ar": return `${y}/${two(m)}/${two(d)}`;
  }
  const month = new Intl.DateTimeFormat("en-US", { month: "short", timeZone: "UTC" }).format(new Date(Date.UTC(y, m - 1, d)));
  return locale.toLowerCase() === "en-us" ? `${month} ${d}, ${y}` : `${d} ${month} ${y}`;
}

/** Today where the signer is, as YYYY-MM-DD. */
export function today(now = new Date()): string {
  return [now.getFullYear(), String(now.getMonth() + 1).padStart(2, "0"), String(now.getDate()).padStart(2, "0")].join("-");
}
