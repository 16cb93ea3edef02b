/** Work that is not saved yet, kept by the browser for this tab, so that it is there again if the page is loaded again. */
import type { Saved } from "./content";
import type { FieldContent } from "./model";

export interface Work {
  /** The version of the draft that it was made from. */
  etag: string;
  /** The fields as the service had them. */
  saved: Saved[];
  /** The fields as they are here, with their id where the service has them. */
  fields: { id: string | undefined; content: FieldContent }[];
  /** What of the draft was not its fields. */
  around: string;
}

const longest = 2_000_000; // characters: browsers keep some five millions for a site
const oldest = 24 * 3600 * 1000; // milliseconds

const nameOf = (draftId: string): string => `countersign.draft.${draftId}`;

/** Keeps work, and says whether the browser has taken it: some refuse to where the page is in a frame of another site. No token is among it. */
export function keepWork(draftId: string, work: Work): boolean {
  try {
    const text = JSON.stringify({ ...work, at: Date.now() });
    if (text.length > longest) throw new Error("too long to be kept");
    sessionStorage.setItem(nameOf(draftId), text);
    return true;
  } catch {
    forgetWork(draftId); // what was kept before is older
    return false;
  }
}

export function forgetWork(draftId: string): void {
  try {
    sessionStorage.removeItem(nameOf(draftId));
  } catch {
    // What could not be kept need not be forgotten.
  }
}

/** The work that was kept, if there is any that can be read and is not older than a day. */
export function keptWork(draftId: string): Work | null {
  try {
    const work = JSON.parse(sessionStorage.getItem(nameOf(draftId)) ?? "null") as (Work & { at: number }) | null;
    const fits = work !== null && Date.now() - work.at < oldest && typeof work.etag === "string" && Array.isArray(work.saved) && Array.isArray(work.fields)
      && work.fields.every((f) => typeof f.content === "object") && work.saved.every((s) => typeof s.id === "string" && typeof s.content === "object");
    return fits ? work : null;
  } catch {
    return null;
  }
}
