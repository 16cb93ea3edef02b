import { request } from "../ui/http";
import type { Viewer } from "../sign/viewer";
import { overlaps, type Box } from "./geometry";
import { fieldTypes, kinds, type FieldType } from "./model";

/** A field that the document seems to want. Nothing is made of it until somebody takes it. */
export interface Suggestion extends Box { id: string; documentId: string; page: number; type: FieldType; label: string; name?: string; role?: string }

interface Found { source: string; type: string; name?: string; role?: string; page: number; x: number; y: number; w: number; h: number }

/** What tags and forms of the document say, as the service found it. */
export async function foundByService(at: string, bearer: string, documentId: string): Promise<Suggestion[]> {
  const { data } = await request<{ data: Found[] }>(`${at}/documents/${documentId}/suggestions`, { bearer });
  return data.map((f, i) => {
    const type = (fieldTypes as string[]).includes(f.type) ? f.type as FieldType : "text";
    return { id: `${documentId}-${f.source}-${i}`, documentId, page: f.page, x: f.x, y: f.y, w: f.w, h: f.h, type, label: f.name || kinds[type].name, name: f.name, role: f.role };
  });
}

// What stands before a line to fill in, and the field it wants; the first that matches counts.
const words: [RegExp, FieldType][] = [
  [/initial|paraph|iniciales/i, "initial"],
  [/sign(ed|ature)?\b|unterschrift|firma|assinatura|handtekening|podpis|imza|underskrift/i, "signature"],
  [/date|datum|fecha|data|dato|tarih/i, "date"],
  [/e-?mail/i, "email"],
  [/company|firm\b|société|empresa|unternehmen|organi[sz]ation/i, "company"],
  [/title|position|funktion|fonction|cargo/i, "title"],
  [/name|nom\b|nombre|naam|ad soyad|imię/i, "name"],
];

const blank = /[_.…]{4,}\s*$/;

/** Lines that are to be filled in, such as "Signature: ________", by the text of a page. */
export function blanksIn(texts: readonly (Box & { text: string })[], documentId: string, page: number): Suggestion[] {
  const out: Suggestion[] = [];
  texts.forEach((t, i) => {
    const m = blank.exec(t.text);
    if (!m || t.w < 30) return;
    const before = t.text.slice(0, m.index).trim() || texts.filter((o, j) => j !== i && Math.abs(o.y - t.y) < t.h && o.x + o.w <= t.x + 4).at(-1)?.text.trim() || "";
    const label = before.replace(/[:\s_.]+$/, "").slice(-60);
    const type = words.find(([word]) => word.test(label))?.[1] ?? "text";
    const share = m.index / t.text.length; // of the line: what stands before the blank
    const x = t.x + t.w * share;
    const h = type === "signature" ? Math.max(t.h, 28) : Math.max(t.h, 14);
    out.push({ id: `${documentId}-${page}-blank-${i}`, documentId, page, x, y: Math.max(t.y + t.h - h, 0), w: t.w * (1 - share), h, type, label: label || kinds[type].name });
  });
  return out;
}

/** Looks for blanks on a page. */
export async function foundOnPage(viewer: Viewer, documentId: string, page: number): Promise<Suggestion[]> {
  return blanksIn(await viewer.texts(documentId, page), documentId, page);
}

/** Those that no field covers yet. */
export const openOnes = (all: readonly Suggestion[], fields: readonly (Box & { documentId: string; page: number })[]): Suggestion[] =>
  all.filter((s) => !fields.some((f) => f.documentId === s.documentId && f.page === s.page && overlaps(s, f)));
