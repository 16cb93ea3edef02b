/** The storage of this tab, which survives a reload. It contains unsaved work, and the history for undo and redo. */
import type { Saved } from "./content";
import type { FieldContent } from "./model";

export interface Work {
  /** The version of the draft on which the work is based. */
  etag: string;
  /** The service's fields. */
  saved: Saved[];
  /** The fields of this page with their keys, and with their IDs if the service has them. */
  fields: { id: string | undefined; key: string; content: FieldContent }[];
  /** The parts of the draft other than its fields. */
  around: string;
}

const longest = 2_000_000; // in characters; browsers store about five million per site
const oldest = 24 * 3600 * 1000; // in milliseconds

const nameOf = (draftId: string): string => `countersign.draft.${draftId}`;

/**
 * Stores content under a name, and reports whether the browser has stored it. Some browsers do not store data for a
 * frame of another site. The content must not include a token.
 */
export function keep(name: string, content: object, most = longest): boolean {
  try {
    const text = JSON.stringify({ ...content, at: Date.now() });
    if (text.length > most) throw new Error("too long to be kept");
    sessionStorage.setItem(name, text);
    return true;
  } catch {
    forget(name); // the previous content is outdated
    return false;
  }
}

export function forget(name: string): void {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // There is no storage, so nothing was stored.
  }
}

/** Returns the content stored under a name if it can be read, is at most one day old, and is valid. */
export function kept<T extends object>(name: string, fits: (content: T) => boolean): T | null {
  try {
    const content = JSON.parse(sessionStorage.getItem(name) ?? "null") as (T & { at: number }) | null;
    return content !== null && Date.now() - content.at < oldest && fits(content) ? content : null;
  } catch {
    return null;
  }
}

export const keepWork = (draftId: string, work: Work): boolean => keep(nameOf(draftId), work);

/** Deletes everything that is stored for a draft or template. */
export function forgetAll(id: string): void {
  for (const kind of ["draft", "history", "template"]) forget(`countersign.${kind}.${id}`);
}

const owner = "countersign.kept-for";

/**
 * Sets the current user of the tab, and deletes another user's work, because saving that work later would attribute it
 * to this user.
 */
export function keepFor(person: string): void {
  try {
    const before = sessionStorage.getItem(owner);
    if (before !== null && before !== person) {
      for (const name of Object.keys(sessionStorage)) if (/^countersign\.(draft|history|template)\./.test(name)) sessionStorage.removeItem(name);
    }
    sessionStorage.setItem(owner, person);
  } catch {
    // There is no storage, so nothing is stored.
  }
}

export const forgetWork = (draftId: string): void => forget(nameOf(draftId));

/** Returns the stored work if it can be read and is not older than one day. */
export function keptWork(draftId: string): Work | null {
  return kept<Work>(nameOf(draftId), (work) => typeof work.etag === "string" && Array.isArray(work.saved) && Array.isArray(work.fields)
    && work.fields.every((f) => typeof f.content === "object" && typeof f.key === "string") && work.saved.every((s) => typeof s.id === "string" && typeof s.content === "object"));
}
