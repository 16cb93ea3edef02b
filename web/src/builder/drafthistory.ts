/** The history of a draft in the browser's storage. */
import type { DraftParts, Step, StepData } from "./draftparts";
import { newest, objectsAt, Shared } from "./history";
import type { BuilderField } from "./model";

/** An entry of the history: the fields before a change, or a step that changed recipients or documents. */
export type Entry = readonly BuilderField[] | Step;

interface DraftHistory {
  /** The draft version to which the history belongs. */
  etag: string;
  /** The keys by which the history's entries identify the service's fields. */
  keys: [id: string, key: string][];
  /** The new IDs of recipients and documents that were removed and created again. */
  successors: [old: string, made: string][];
  past: readonly Entry[];
  future: readonly Entry[];
}

interface KeptEntry { step?: StepData; fields?: number[] }

/** Returns the stored form of a history, with at most the given number of steps in each direction. */
export function writeHistory({ etag, keys, successors, past, future }: DraftHistory, steps: number): object {
  const shared = new Shared();
  const write = (entries: readonly Entry[]) => newest(entries, steps, (e) => !("back" in e) || e.data !== undefined)
    .map((e): KeptEntry => ("back" in e ? { step: e.data } : { fields: shared.put(e) }));
  return { etag, keys, successors, past: write(past), future: write(future), objects: shared.objects };
}

/** Returns the history from its stored form. Throws an error if the form is invalid. */
export function readHistory(kept: Record<string, unknown>, parts: DraftParts): { [K in keyof DraftHistory]: K extends "past" | "future" ? Entry[] : DraftHistory[K] } {
  const { etag, keys, successors, past, future, objects } = kept as unknown as Omit<DraftHistory, "past" | "future"> & { past: KeptEntry[]; future: KeptEntry[]; objects: unknown[] };
  const read = (entries: KeptEntry[]): Entry[] => entries.map((e) => (e.step ? parts.step(e.step) : objectsAt<BuilderField>(objects, e.fields)));
  return { etag, keys, successors, past: read(past), future: read(future) };
}
