/** The store of this tab, which survives a reload: unsaved work, and the history for undo and redo. */
import type { Saved } from "./content";
import type { FieldContent } from "./model";

export interface Work {
  /** The version of the draft on which the work is based. */
  etag: string;
  /** The service's fields. */
  saved: Saved[];
  /** The fields of this page with their keys, and with their ids if the service has them. */
  fields: { id: string | undefined; key: string; content: FieldContent }[];
  /** The part of the draft that is not its fields. */
  around: string;
}

const longest = 2_000_000; // characters: browsers keep some five millions for a site
const oldest = 24 * 3600 * 1000; // milliseconds

const nameOf = (draftId: string): string => `countersign.draft.${draftId}`;

/**
 * Keeps content under a name, and reports whether the browser stored it: some do not in a frame of another site. The
 * content includes no token.
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
    // There is no storage, so nothing was kept.
  }
}

/** Returns the content kept under a name, if it can be read, is at most a day old and is valid. */
export function kept<T extends object>(name: string, fits: (content: T) => boolean): T | null {
  try {
    const content = JSON.parse(sessionStorage.getItem(name) ?? "null") as (T & { at: number }) | null;
    return content !== null && Date.now() - content.at < oldest && fits(content) ? content : null;
  } catch {
    return null;
  }
}

export const keepWork = (draftId: string, work: Work): boolean => keep(nameOf(draftId), work);

/** Forgets all that is kept of a draft or a template. */
export function forgetAll(id: string): void {
  for (const kind of ["draft", "history", "template"]) forget(`countersign.${kind}.${id}`);
}

const owner = "countersign.kept-for";

/**
 * Names the current user of the tab, and deletes another person's work: saving it later would attribute it to this
 * user.
 */
export function keepFor(person: string): void {
  try {
    const before = sessionStorage.getItem(owner);
    if (before !== null && before !== person) {
      for (const name of Object.keys(sessionStorage)) if (/^countersign\.(draft|history|template)\./.test(name)) sessionStorage.removeItem(name);
    }
    sessionStorage.setItem(owner, person);
  } catch {
    // There is no storage, so nothing is kept.
  }
}

export const forgetWork = (draftId: string): void => forget(nameOf(draftId));

/** The work that was kept, if there is any that can be read and is not older than a day. */
export function keptWork(draftId: string): Work | null {
  return kept<Work>(nameOf(draftId), (work) => typeof work.etag === "string" && Array.isArray(work.saved) && Array.isArray(work.fields)
    && work.fields.every((f) => typeof f.content === "object" && typeof f.key === "string") && work.saved.every((s) => typeof s.id === "string" && typeof s.content === "object"));
}
