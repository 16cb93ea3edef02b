/** The saved properties of a field, and the differences between two states. */
import { contentMembers, type Draft, type FieldContent } from "./model";

/** A field as stored by the service. */
export interface Saved { id: string; content: FieldContent }

export function contentOf(f: FieldContent): FieldContent {
  const out: Record<string, unknown> = {};
  for (const name of contentMembers) if (f[name] !== undefined) out[name] = f[name];
  return out as unknown as FieldContent;
}

export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns the members of b that differ from a. Members that are missing in b are null (RFC 7396). */
export function mergePatch(a: FieldContent, b: FieldContent): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name of contentMembers) {
    if (same(a[name], b[name])) continue;
    const [was, is] = [a[name], b[name]];
    if (is === undefined) out[name] = null;
    else if (typeof is === "object" && !Array.isArray(is) && was) {
      // A removed member of an object must be specified as null. Otherwise it would remain.
      const gone = Object.keys(was).filter((k) => !(k in is)).map((k) => [k, null]);
      out[name] = { ...is, ...Object.fromEntries(gone) };
    } else out[name] = is;
  }
  return out;
}

/**
 * Returns the parts of a draft other than its fields, as text for comparisons. The warnings of its documents are
 * excluded, because they depend on the fields.
 */
export const aroundFields = ({ signers, documents, subject, message }: Draft): string =>
  JSON.stringify([signers, documents.map((d) => ({ ...d, warnings: undefined })), subject, message]);
