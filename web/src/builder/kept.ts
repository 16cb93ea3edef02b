/** The store of this tab, which survives a reload: unsaved work, and the history for undo and redo. */
import type { Saved } from "./content";
import type { FieldContent } from "./model";

export interface Work {
  /** The version of the draft that it was made from. */
  etag: string;
  /** The fields as the service had them. */
  saved: Saved[];
  /** The fields of this page with their keys, and with their ids if the service has them. */
  fields: { id: string | undefined; key: string; content: FieldContent }[];
  /** What of the draft was not its fields. */
  around: string;
}

const longest = 2_000_000; // characters: browsers keep some five millions for a site
const oldest = 24 * 3600 * 1000; // milliseconds

const nameOf = (draftId: string): string => `countersign.draft.${draftId}`;

/** Keeps something under a name, and says whether the browser has taken it: some refuse to where the page is in a frame of another site. No token is among it. */
export function keep(name: string, content: object, most = longest): boolean {
  try {
    const text = JSON.stringify({ ...content, at: Date.now() });
    if (text.length > most) throw new Error("too long to be kept");
    sessionStorage.setItem(name, text);
    return true;
  } catch {
    forget(name); // what was kept before is older
    return false;
  }
}

export function forget(name: string): void {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // What could not be kept need not be forgotten.
  }
}

/** What was kept under a name, if it can be read, is not older than a day and fits. */
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

/** Says who uses the tab now. What somebody else has left in it is forgotten: saved later, it would be theirs who sign in after them. */
export function keepFor(person: string): void {
  try {
    const before = sessionStorage.getItem(owner);
    if (before !== null && before !== person) {
      for (const name of Object.keys(sessionStorage)) if (/^countersign\.(draft|history|template)\./.test(name)) sessionStorage.removeItem(name);
    }
    sessionStorage.setItem(owner, person);
  } catch {
    // Nothing is kept either.
  }
}

export const forgetWork = (draftId: string): void => forget(nameOf(draftId));

/** The work that was kept, if there is any that can be read and is not older than a day. */
export function keptWork(draftId: string): Work | null {
  return kept<Work>(nameOf(draftId), (work) => typeof work.etag === "string" && Array.isArray(work.saved) && Array.isArray(work.fields)
    && work.fields.every((f) => typeof f.content === "object" && typeof f.key === "string") && work.saved.every((s) => typeof s.id === "string" && typeof s.content === "object"));
}
