/** What a signer's page works with: the signing context and what is still to be done. */

export type FieldType = "signature" | "initial" | "date" | "text" | "checkbox";

export interface Field {
  id: string;
  documentId: string;
  type: FieldType;
  /** From 1. */
  page: number;
  /** Points from the left and top edge of the page as it is shown. */
  x: number;
  y: number;
  w: number;
  h: number;
  required: boolean;
}

export interface Doc {
  documentId: string;
  name: string;
  pageCount: number;
  order: number;
  size: number;
  sha256: string;
  /** Runs of pages of one size, in points of the page as it is shown. */
  pages: PageRun[];
}

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
}

/** A picture is a data URL; a checkbox's text is "true" or "". */
export type Values = Readonly<Record<string, string>>;

export const isPicture = (type: FieldType): boolean => type === "signature" || type === "initial";

/** A page among all documents. */
export const pageKey = (documentId: string, page: number): string => `${documentId}/${page}`;

/** Puts documents in their order and fields in reading order. */
export function arrange(raw: Context): Context {
  const documents = [...raw.documents].sort((a, b) => a.order - b.order);
  const rank = new Map(documents.map((d, i) => [d.documentId, i]));
  const place = (f: Field) => rank.get(f.documentId) ?? 0;
  // Fields that share a line, even if not to the point, are read across.
  const fields = [...raw.fields].sort((a, b) =>
    place(a) - place(b) || a.page - b.page || (Math.abs(a.y - b.y) > Math.min(a.h, b.h) / 2 ? a.y - b.y : a.x - b.x));
  return { ...raw, documents, fields };
}

/** The size of a page in points as it is shown. */
export function pageSize(doc: Doc, page: number): { width: number; height: number } {
  let size = { width: 612, height: 792 };
  for (const run of doc.pages) {
    if (run.from > page) break;
    size = run;
  }
  return size;
}

export const missingFields = (context: Context, values: Values): Field[] => context.fields.filter((f) => f.required && !values[f.id]?.trim());

export function unreadPages(context: Context, read: ReadonlySet<string>): { doc: Doc; page: number }[] {
  const out = [];
  for (const doc of context.documents) {
    for (let page = 1; page <= doc.pageCount; page++) {
      if (!read.has(pageKey(doc.documentId, page))) out.push({ doc, page });
    }
  }
  return out;
}

/** The field after the one named, among those given; the first one if none follows. */
export function following(all: readonly Field[], among: readonly Field[], after: string | null): Field | undefined {
  const at = all.findIndex((f) => f.id === after);
  return among.find((f) => all.indexOf(f) > at) ?? among[0];
}

/**
 * Writes a day the way people write it in the language, in one of the forms that the
 * service knows. It is sealed as it is written.
 */
export function writeDate(iso: string, locale: string): string {
  const [y, m, d] = iso.split("-").map(Number) as [number, number, number];
  const two = (n: number) => String(n).padStart(2, "0");
  switch (locale.split("-")[0]) {
    case "de": return `${two(d)}.${two(m)}.${y}`;
    case "fr": case "es": case "pt": return `${two(d)}/${two(m)}/${y}`;
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
