import { request } from "../ui/http";
import type { Viewer } from "../pages/viewer";
import { boxesIn } from "./boxes";
import { overlaps, type Box } from "./geometry";
import { cleanLabel, typeOf } from "./labels";
import { fieldTypes, typeName, type FieldContent, type FieldType } from "./model";
import { pageContent } from "./pagecontent";
import type { PieceOfText } from "./pagetext";

/** A field that the document seems to need. It is created only if the user accepts it. */
export interface Suggestion extends Box {
  id: string;
  documentId: string;
  page: number;
  type: FieldType;
  label: string;
  name?: string;
  role?: string;
  /** Additional properties of the created field. */
  content?: Partial<FieldContent>;
  /** The confidence. If two suggestions have the same position, the one with the higher rank is offered. */
  rank: number;
}

interface Found { source: string; type: string; name?: string; role?: string; page: number; x: number; y: number; w: number; h: number }

/** Returns the fields that the service has found in the document's text tags and forms. */
export async function foundByService(at: string, bearer: string, documentId: string): Promise<Suggestion[]> {
  const { data } = await request<{ data: Found[] }>(`${at}/documents/${documentId}/suggestions`, { bearer });
  return data.map((f, i) => {
    const type = (fieldTypes as string[]).includes(f.type) ? f.type as FieldType : "text";
    return { id: `${documentId}-${f.source}-${i}`, documentId, page: f.page, x: f.x, y: f.y, w: f.w, h: f.h, type, label: f.name || typeName(type), name: f.name, role: f.role, rank: 2 };
  });
}

const blank = /[_.…]{4,}\s*$/;

/** Returns the lines to fill in, such as "Signature: ________", that the text of a page contains. */
function blanksIn(texts: readonly PieceOfText[], documentId: string, page: number): Suggestion[] {
  const out: Suggestion[] = [];
  texts.forEach((t, i) => {
    const m = blank.exec(t.text);
    if (!m || t.w < 30) return;
    const sameLine = texts.filter((o, j) => j !== i && Math.abs(o.y - t.y) < t.h);
    const beside = t.rtl ? sameLine.filter((o) => o.x >= t.x + t.w - 4).sort((a, b) => b.x - a.x) : sameLine.filter((o) => o.x + o.w <= t.x + 4).sort((a, b) => a.x - b.x);
    const label = cleanLabel(t.text.slice(0, m.index).trim() || beside.at(-1)?.text || "");
    const type = typeOf(label);
    const share = m.index / t.text.length; // part of the line before the blank
    const x = t.rtl ? t.x : t.x + t.w * share;
    const h = type === "signature" ? Math.max(t.h, 28) : Math.max(t.h, 14);
    out.push({ id: `${documentId}-${page}-blank-${i}`, documentId, page, x, y: Math.max(t.y + t.h - h, 0), w: t.w * (1 - share), h, type, label: label || typeName(type), rank: 1 });
  });
  return out;
}

/** Finds blanks in the text of a page, and lines and empty boxes that the page draws. */
export async function foundOnPage(viewer: Viewer, documentId: string, page: number): Promise<Suggestion[]> {
  const { texts, lines } = await pageContent(viewer, documentId, page);
  return [...blanksIn(texts, documentId, page), ...boxesIn(lines, texts).map((b, i): Suggestion => {
    const type = b.type === "text" && !b.content ? typeOf(b.label) : b.type;
    return { ...b, type, id: `${documentId}-${page}-box-${i}`, documentId, page, label: b.label || typeName(type), rank: 0 };
  })];
}

/**
 * Returns the suggestions that are not covered by a field yet. If several suggestions have the same position, only the
 * most reliable one is returned.
 */
export function openOnes(all: readonly Suggestion[], fields: readonly (Box & { documentId: string; page: number })[]): Suggestion[] {
  const taken = new Map<string, Box[]>();
  const on = (b: { documentId: string; page: number }): Box[] => {
    const key = `${b.documentId}/${b.page}`;
    if (!taken.has(key)) taken.set(key, []);
    return taken.get(key)!;
  };
  for (const f of fields) on(f).push(f);
  return [...all].sort((a, b) => b.rank - a.rank).filter((s) => {
    const there = on(s);
    if (there.some((f) => overlaps(s, f))) return false;
    there.push(s);
    return true;
  });
}
