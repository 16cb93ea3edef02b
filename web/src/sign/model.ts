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
  /** The page number, starting from 1. */
  page: number;
  /** The position in points from the left and top edges of the displayed page. */
  x: number;
  y: number;
  w: number;
  h: number;
  required: boolean;
  /** The sender's name for the field. */
  label?: string | null;
  /** The name used in conditions and values. Fields with the same name share one value. */
  name?: string;
  placeholder?: string;
  defaultValue?: string;
  readOnly?: boolean;
  fontSize?: number;
  align?: "left" | "center" | "right";
  maxLength?: number;
  /** The value is displayed with one character in each of maxLength cells. */
  comb?: boolean;
  multiline?: boolean;
  /** The pattern of a date, or the number of decimal places of a number. */
  format?: string;
  options?: string[];
  validation?: { min?: string; max?: string; message?: string };
  condition?: Condition | null;
  /** The group of a radio option, in which one option is selected, and the option's text. */
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
  /** The SHA-256 hash of an image, which identifies the image for loading. */
  picture: string | null;
  option?: string;
  attachment?: Attached;
}

/** A field that another signer will fill in later. */
export interface LaterField extends Pick<Field, "documentId" | "type" | "page" | "x" | "y" | "w" | "h"> { fieldId: string; signerName: string }

/** The state of the one-time code, and the time at which another code can be requested. */
export interface CodeState {
  /** The time at which the code expires, or null if there is no valid code. */
  liveUntil: string | null;
  triesLeft: number | null;
  requestableAt: string | null;
  /** No further code can be entered. A new link is required. */
  locked: boolean;
}

export interface Doc {
  documentId: string;
  name: string;
  pageCount: number;
  order: number;
  size: number;
  sha256: string;
  /** Runs of pages that have the same displayed size, in points. */
  pages: PageRun[];
  /** The differences between the file to be signed and the uploaded file. */
  changes?: FileChange[];
}

/** Content that the service removed from an uploaded file. */
interface FileChange { kind: string; page: number | null; count: number; detail: string | null }

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
  /** The entries of all earlier signers. The list is empty until the signer is verified. */
  filled: FilledField[];
  /** The fields of later signers. They are absent until the signer is verified. */
  later?: LaterField[];
  /**
   * The digest of the entries in the member filled. The signature includes the digest, so that the record proves which
   * entries were displayed.
   */
  shown: string | null;
  /** The key that encrypts the draft on this device, or null until the signer is verified. */
  draftKey: string | null;
  code: CodeState | null;
  /** The email address for questions. */
  contact?: string | null;
  /** If this is false, the documents are not accessible until the signer is verified. */
  readBeforeCode: boolean;
  /** The values of earlier signers by name, if conditions refer to them. */
  conditionValues: Record<string, string>;
  /** Absent for an ordinary signer. */
  kind?: RecipientKind;
  /** The language that the sender selected for the recipient (BCP 47). */
  language?: string;
  host?: Host;
  /** The signer may delegate to another person. */
  mayDelegate?: boolean;
  witnessFor?: Witnessed;
  /** The branding of the sender's pages. If it is absent, the default branding applies. */
  branding?: Branding;
  /** Uploaded files that have not been signed yet. */
  attachments: Attached[];
}

/**
 * The value of each field. An image is a data URL. A checkbox or radio option has the value "true" or "". The value
 * of an attachment is its ID.
 */
export type Values = Readonly<Record<string, string>>;

export const isPicture = (type: FieldType): boolean => type === "signature" || type === "initial" || type === "stamp";

/** Reports whether the field is a mark that is either set or not. */
export const isChoice = (type: FieldType): boolean => type === "checkbox" || type === "radio";

/** Reports whether the signer enters or selects text. */
export const isWritten = (type: FieldType): boolean => !isPicture(type) && !isChoice(type) && type !== "attachment" && type !== "signed_date";

/** Reports whether the value is set by the sender or the service. */
export const isFixed = (f: Field): boolean => f.readOnly === true || f.type === "signed_date";

/**
 * Returns the values used to evaluate conditions. They include the signing date, because the service fills it in
 * before it evaluates the conditions.
 */
export function withSigningDate(fields: readonly { id: string; type: FieldType }[], values: Values): Values {
  return { ...values, ...Object.fromEntries(fields.filter((f) => f.type === "signed_date").map((f) => [f.id, today()])) };
}

/** Returns the context with only those fields whose conditions are met. */
export function shownContext(c: Context, values: Values): Context {
  if (!c.fields.some((f) => f.condition)) return c;
  const shown = visibleFields(c.fields, withSigningDate(c.fields, values), c.conditionValues);
  return { ...c, fields: c.fields.filter((f) => shown.has(f.id)) };
}

/** Returns the values, with content from the sender or the service in fields that the signer has not changed. */
export function withPrefilled(c: Context, values: Values): Values {
  const out: Record<string, string> = { ...values };
  for (const f of c.fields) {
    if (f.defaultValue && (isFixed(f) || out[f.id] === undefined)) out[f.id] = isChoice(f.type) ? (f.defaultValue === "false" ? "" : "true") : f.defaultValue;
  }
  return out;
}

/**
 * Returns the values that change together with a field: the values of fields with the same name, and of the other
 * options in its group.
 */
export function changedWith(c: Context, f: Field, value: string): Record<string, string> {
  const out: Record<string, string> = { [f.id]: value };
  for (const other of c.fields) {
    if (other.id === f.id) continue;
    if (f.type === "radio" && value && other.type === "radio" && other.group === f.group) out[other.id] = "";
    if (f.name && other.name === f.name && f.type === other.type && f.type !== "radio" && f.type !== "attachment") out[other.id] = value;
  }
  return out;
}

/** Returns a key that identifies a page among all documents. */
export const pageKey = (documentId: string, page: number): string => `${documentId}/${page}`;

/** Reports whether the signer is verified, if the sender requires verification. */
export const isIdentified = (c: Context): boolean => !c.requiresOtpVerification || c.otpVerified;

/** Sorts the documents by their order numbers, and the fields in reading order. */
export function sortFields(answer: Context): Context {
  // An older version of the service does not return these members.
  const raw: Context = { ...answer, filled: answer.filled ?? [], shown: answer.shown ?? null, draftKey: answer.draftKey ?? null, code: answer.code ?? null, readBeforeCode: answer.readBeforeCode ?? true, conditionValues: answer.conditionValues ?? {}, attachments: answer.attachments ?? [] };
  const documents = [...raw.documents].sort((a, b) => a.order - b.order);
  const rank = new Map(documents.map((d, i) => [d.documentId, i]));
  const place = (f: Field) => rank.get(f.documentId) ?? 0;
  // Fields on the same line, even if they are not exactly aligned, are ordered from left to right.
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
 * Returns a name for each field. It consists of the label, if any, the type (numbered if there are several on the
 * page), the page, and the document if there are several documents.
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

/**
 * Returns the fields that still need a value. For a group of radio options without a selection, it returns the first
 * option.
 */
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

/** Returns the first of the given fields that follows the named field, or the first of them if none follows. */
export function nextField(all: readonly Field[], among: readonly Field[], after: string | null): Field | undefined {
  const at = all.findIndex((f) => f.id === after);
  return among.find((f) => all.indexOf(f) > at) ?? among[0];
}

/**
 * Formats a day in the language's usual format, which is one of the formats that the service supports. The day is
 * sealed in this format.
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

/** Returns the current day in the signer's time zone, as YYYY-MM-DD. */
export function today(now = new Date()): string {
  return [now.getFullYear(), String(now.getMonth() + 1).padStart(2, "0"), String(now.getDate()).padStart(2, "0")].join("-");
}
