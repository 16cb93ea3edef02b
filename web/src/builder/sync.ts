/**
 * The synchronization of a draft as a pure state machine. It defines the known state of the service's fields, the next
 * request, and the effect of each response. Each request saves a difference between the service's fields and the page's
 * fields, so undo, redo and a lost connection need no additional code.
 */
import { adopt, differences, type Unanswered } from "./conflict";
import { aroundFields, contentOf, mergePatch, same, type Saved } from "./content";
import type { SaveState } from "./editor";
import type { Work } from "./kept";
import { freshKey, type BuilderField, type Draft, type FieldContent } from "./model";
import { t } from "./texts";

/** A field with the content that a request sends. */
interface Sent { key: string; content: FieldContent }

export type SyncRequest =
  /**
   * Reads the draft, either to apply the result of an action, or to compare the draft because another user may have
   * changed it.
   */
  | { do: "read" | "compare" }
  | { do: "remove"; key: string; id: string }
  | { do: "edit"; key: string; id: string; content: FieldContent; patch: Record<string, unknown> }
  | { do: "add"; fields: readonly Sent[] };

/** The reason why a request failed. */
export type Failure =
  /**
   * It is unknown whether the service performed the request. The service requests a retry after the given number of
   * milliseconds.
   */
  | { is: "unanswered"; after: number }
  /** The request was not performed, and is repeated later. */
  | { is: "limited"; after: number }
  /** The service has another version. */
  | { is: "changed" }
  /** The input is invalid. */
  | { is: "invalid"; problem: string; message: string }
  | { is: "sessionEnded" }
  /** The envelope is no longer a draft. */
  | { is: "notDraft" }
  /** The draft does not exist or cannot be edited. */
  | { is: "over"; message: string }
  | { is: "other"; message: string };

type Phase =
  | { at: "open" }
  /** Requests are repeated after a delay in milliseconds. */
  | { at: "offline"; delay: number }
  /** An error occurred that retrying cannot fix. The next change triggers another attempt. */
  | { at: "halted" }
  /** Another user has changed the draft, and the user must decide. Until then, neither version is overwritten. */
  | { at: "conflict"; draft: Draft; etag: string; theirs: readonly string[] }
  /** The session has ended. Another session can continue. */
  | { at: "ended" }
  | { at: "over" }
  | { at: "sent" };

export interface Sync {
  readonly draft: Draft;
  readonly etag: string;
  /** The parts of that version other than its fields. */
  readonly around: string;
  /** The service's fields by key. */
  readonly saved: ReadonlyMap<string, Saved>;
  readonly fields: readonly BuilderField[];
  /** The fields that the service rejected, with the rejected content. */
  readonly rejected: ReadonlyMap<string, { problem: string; content: FieldContent }>;
  /** Content that was sent after the last response with a version, and to which the service has not responded. */
  readonly unanswered: readonly Unanswered[];
  /** The new IDs of recipients and documents that were removed and created again. */
  readonly successors: ReadonlyMap<string, string>;
  readonly phase: Phase;
  /** The draft must be read before any other request. */
  readonly reading: "read" | "compare" | null;
  /** The fields to restore once the result of an action has been read. */
  readonly returning: readonly BuilderField[];
  /** New fields are added one at a time, because the service rejected them together. */
  readonly oneByOne: boolean;
  /** The draft may have been sent. */
  readonly sending: boolean;
  /** The delay before the next retry. */
  readonly backoff: number;
  /** The service's message about something other than a field. */
  readonly message: string;
  readonly restored: boolean;
}

export type SyncEvent =
  | { type: "changed"; fields: readonly BuilderField[] }
  /** Fields are restored together with their recipient or document. */
  | { type: "returned"; fields: readonly BuilderField[] }
  /** A recipient or document was created again. */
  | { type: "succeeded"; old: string; made: string }
  /** The retry delay has passed, or the user has requested a retry. */
  | { type: "resumed" }
  | { type: "removed"; key: string; etag: string }
  | { type: "edited"; key: string; content: FieldContent; etag: string }
  | { type: "added"; made: readonly (Sent & { id: string })[]; etag: string }
  | { type: "read" | "compared"; draft: Draft; etag: string }
  /** The request is null for an action. */
  | { type: "failed"; request: SyncRequest | null; failure: Failure }
  /** An action took effect, and its result must be read. */
  | { type: "acted"; etag: string }
  | { type: "resolved"; keep: "mine" | "theirs" }
  | { type: "sending"; may: boolean }
  | { type: "sent" }
  | { type: "message"; message: string };

const shortest = 1000; // milliseconds before the first retry
const longest = 30_000;

/** Returns the initial state for the service's draft. Known fields keep their keys. */
export function opened(draft: Draft, etag: string, keys: ReadonlyMap<string, string> = new Map()): Sync {
  const saved = new Map<string, Saved>();
  const fields = draft.fields.map((f) => {
    const key = keys.get(f.id) ?? freshKey();
    const content = contentOf(f);
    saved.set(key, { id: f.id, content });
    return { ...content, key };
  });
  return {
    draft, etag, around: aroundFields(draft), saved, fields, rejected: new Map(), unanswered: [], successors: new Map(), phase: { at: "open" }, reading: null, returning: [],
    oneByOne: false, sending: false, backoff: shortest, message: "", restored: false,
  };
}

/** Returns the work to store, or null if everything is saved. */
export function workOf(s: Sync): Work | null {
  if (!hasUnsaved(s) || isGone(s)) return null;
  return { etag: s.etag, saved: [...s.saved.values()], fields: s.fields.map((f) => ({ id: s.saved.get(f.key)?.id, key: f.key, content: contentOf(f) })), around: s.around };
}

/** Restores stored work. If the draft has changed since, both versions are displayed. */
export function restore(s: Sync, work: Work): Sync {
  const keys = new Map([...[...s.saved].map(([key, { id }]) => [id, key] as const), ...work.fields.map((f) => [f.id ?? "", f.key] as const)]);
  const back: Sync = {
    ...s, etag: work.etag, around: work.around, saved: new Map(work.saved.map((o) => [keys.get(o.id) ?? freshKey(), o])), fields: work.fields.map(({ key, content }) => ({ ...content, key })), restored: true,
  };
  if (!hasUnsaved(back)) return s;
  return work.etag === s.etag ? back : compare(back, s.draft, s.etag);
}

/** Returns the next request, or null if no request is needed or possible. */
export function nextRequest(s: Sync): SyncRequest | null {
  if (s.phase.at !== "open") return null;
  if (s.reading) return { do: s.reading };
  const here = new Set(s.fields.map((f) => f.key));
  for (const [key, { id }] of s.saved) if (!here.has(key)) return { do: "remove", key, id };
  const fresh: Sent[] = [];
  for (const f of s.fields) {
    if (s.rejected.has(f.key)) continue;
    const known = s.saved.get(f.key);
    const content = contentOf(f);
    if (!known) fresh.push({ key: f.key, content });
    else if (!same(content, known.content)) return { do: "edit", key: f.key, id: known.id, content, patch: mergePatch(known.content, content) };
  }
  return fresh.length === 0 ? null : { do: "add", fields: s.oneByOne ? fresh.slice(0, 1) : fresh };
}

/** Reports whether there are unsaved changes that can be saved. */
export const hasWork = (s: Sync): boolean => nextRequest({ ...s, phase: { at: "open" }, reading: null }) !== null;

/** Reports whether any field on the page, even a rejected one, differs from the service's field. */
export const hasUnsaved = (s: Sync): boolean => s.fields.length !== s.saved.size || s.fields.some((f) => !same(contentOf(f), s.saved.get(f.key)?.content));

/** Reports whether the draft no longer exists. */
export const isGone = (s: Sync): boolean => s.phase.at === "over" || s.phase.at === "sent";

/** Reports whether all changes that can be saved have been saved, so that an action may follow. */
export const isSettled = (s: Sync): boolean => s.phase.at === "open" && !s.reading && !hasWork(s);

/** Returns the state of saving for display. */
export function saveState(s: Sync): SaveState {
  if (s.phase.at === "halted") return "refused";
  if (s.phase.at !== "open") return s.phase.at;
  return s.reading || hasWork(s) ? "saving" : s.rejected.size > 0 ? "refused" : "saved";
}

/** Returns the current ID of a recipient or document. */
export function current(s: Sync, id: string): string {
  let now = id;
  for (let next = s.successors.get(now); next; next = s.successors.get(now)) now = next;
  return now;
}

/** Returns the fields whose recipient and document exist, with the current IDs of both. */
export function standing(s: Sync, fields: readonly BuilderField[]): BuilderField[] {
  const signers = new Set(s.draft.signers.map((o) => o.id));
  const documents = new Set(s.draft.documents.map((d) => d.id));
  return fields.map((f) => ({ ...f, signerId: current(s, f.signerId), documentId: current(s, f.documentId) })).filter((f) => signers.has(f.signerId) && documents.has(f.documentId));
}

/** Returns the state after an event. */
export function advance(s: Sync, e: SyncEvent): Sync {
  const next = step(s, e);
  if (next.fields === s.fields && next.rejected === s.rejected) return next;
  // A rejection applies to a field only as long as the field contains the rejected content.
  const here = new Map(next.fields.map((f) => [f.key, f]));
  const rejected = [...next.rejected].filter(([key, { content }]) => here.has(key) && same(contentOf(here.get(key)!), content));
  return rejected.length === next.rejected.size ? next : { ...next, rejected: new Map(rejected) };
}

function step(s: Sync, e: SyncEvent): Sync {
  switch (e.type) {
    case "changed": return { ...s, fields: e.fields, message: "", oneByOne: false, phase: s.phase.at === "halted" ? { at: "open" } : s.phase };
    case "returned": return s.reading === "read" ? { ...s, returning: [...s.returning, ...e.fields] } : { ...s, fields: standing(s, [...s.fields, ...e.fields]) };
    case "succeeded": return { ...s, successors: new Map(s.successors).set(e.old, e.made) };
    case "resumed": return s.phase.at === "offline" || s.phase.at === "halted" ? { ...s, phase: { at: "open" } } : s;
    case "removed": {
      const saved = new Map(s.saved);
      saved.delete(e.key);
      return { ...answered(s, e.etag), saved };
    }
    case "edited": return { ...answered(s, e.etag), saved: new Map(s.saved).set(e.key, { id: s.saved.get(e.key)!.id, content: e.content }) };
    case "added": return { ...answered(s, e.etag), saved: new Map([...s.saved, ...e.made.map(({ key, id, content }) => [key, { id, content }] as const)]) };
    case "read": return merge(s, e.draft, e.etag);
    case "compared": return e.draft.status === "draft" ? compare({ ...s, reading: null }, e.draft, e.etag) : notDraft(s);
    case "failed": return fail(s, e.request, e.failure);
    case "acted": return { ...answered(s, e.etag), reading: "read" };
    case "resolved": return s.phase.at === "conflict" ? resolve(s, s.phase.draft, s.phase.etag, e.keep) : s;
    case "sending": return { ...s, sending: e.may };
    case "sent": return { ...s, phase: { at: "sent" }, message: "" };
    case "message": return { ...s, message: e.message };
  }
}

/** A request based on the known version took effect, so no earlier unanswered request took effect. */
const answered = (s: Sync, etag: string): Sync => ({ ...s, etag: etag || s.etag, unanswered: [], backoff: shortest });

const notDraft = (s: Sync): Sync => ({ ...s, reading: null, phase: { at: s.sending ? "sent" : "over" }, message: s.sending ? "" : t("envelopeSent") });

const later = (s: Sync, after = 0): Sync => ({ ...s, phase: { at: "offline", delay: after || s.backoff }, backoff: Math.min(s.backoff * 2, longest) });

function fail(s: Sync, request: SyncRequest | null, f: Failure): Sync {
  switch (f.is) {
    case "unanswered": return { ...later(s, f.after), unanswered: [...s.unanswered, ...sentBy(request)] };
    case "limited": return later(s, f.after);
    case "changed": return { ...s, reading: "compare" };
    case "invalid": {
      // If the fields are added one at a time, the valid ones are saved.
      if (request?.do === "add" && request.fields.length > 1) return { ...s, oneByOne: true };
      const sent = request?.do === "add" ? request.fields[0] : request?.do === "edit" ? request : undefined;
      if (!sent) return { ...s, phase: { at: "halted" }, message: f.message };
      return { ...s, rejected: new Map(s.rejected).set(sent.key, { problem: f.problem, content: sent.content }) };
    }
    case "sessionEnded": return { ...s, phase: { at: "ended" } };
    case "notDraft": return notDraft(s);
    case "over": return { ...s, phase: { at: "over" }, message: f.message };
    case "other": return { ...s, phase: { at: "halted" }, message: f.message };
  }
}

function sentBy(request: SyncRequest | null): readonly Unanswered[] {
  switch (request?.do) {
    case "remove": return [{ key: request.key, content: null }];
    case "edit": return [request];
    case "add": return request.fields;
  }
  return [];
}

/**
 * Compares the service's draft with the version that the page last saved. Content that the page has saved without
 * receiving the response is not a difference.
 */
function compare(s: Sync, draft: Draft, etag: string): Sync {
  const saved = adopt(draft.fields, s.saved, s.fields, s.unanswered);
  const theirs = differences(draft.fields, saved);
  if (aroundFields(draft) !== s.around) theirs.push(t("aroundFields"));
  const now: Sync = { ...s, saved, unanswered: [] };
  if (theirs.length > 0) return { ...now, phase: { at: "conflict", draft, etag, theirs } };
  // The service reported this version as outdated. An immediate retry would have the same result.
  return etag === s.etag ? later(now) : { ...now, etag, backoff: shortest };
}

/** Applies the result of an action, and then the changes that the page has not saved yet. */
function merge(s: Sync, draft: Draft, etag: string): Sync {
  const mine = new Map(s.fields.map((f) => [f.key, f]));
  // These fields have changed both here and at the service since the action.
  const keys = new Map([...s.saved].map(([key, { id }]) => [id, key]));
  const clashing = draft.fields.filter((f) => {
    const known = s.saved.get(keys.get(f.id) ?? "");
    const own = mine.get(keys.get(f.id) ?? "");
    return known && !same(contentOf(f), known.content) && !(own && (same(contentOf(own), known.content) || same(contentOf(own), contentOf(f))));
  });
  const now = { ...take(s, draft, etag), reading: null, backoff: shortest };
  if (clashing.length > 0) {
    const ids = new Set(clashing.map((f) => f.id));
    const theirs = differences(clashing, new Map([...s.saved].filter(([, o]) => ids.has(o.id))));
    return { ...s, reading: null, phase: { at: "conflict", draft, etag, theirs } };
  }
  const came = now.fields.flatMap((f) => {
    const before = s.saved.get(f.key);
    if (!before) return [f]; // added by the action
    const own = mine.get(f.key);
    if (!own) return []; // removed here
    return [same(contentOf(own), before.content) ? f : standing(now, [own])[0] ?? f];
  });
  return { ...now, fields: [...came, ...standing(now, [...s.fields.filter((f) => !s.saved.has(f.key)), ...s.returning])], returning: [] };
}

/** Returns the state with the fields of the service's draft. */
function take(s: Sync, draft: Draft, etag: string): Sync {
  const { saved, fields, around } = opened(draft, etag, new Map([...s.saved].map(([key, { id }]) => [id, key])));
  return { ...s, draft, etag, around, saved, fields, unanswered: [] };
}

/**
 * Resolves a conflict. Either the page's fields are saved over the service's, or the service's fields are accepted.
 */
function resolve(s: Sync, draft: Draft, etag: string, keep: "mine" | "theirs"): Sync {
  const now: Sync = { ...take(s, draft, etag), phase: { at: "open" }, message: "", backoff: shortest };
  return keep === "mine" ? { ...now, fields: standing(now, [...s.fields, ...s.returning]), returning: [] } : { ...now, returning: [] };
}
