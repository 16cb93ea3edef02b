/** The state of a signing session, and its transitions. */
import { emptyDraft, type AdoptedSignature, type Draft } from "./draft";
import type { EndState } from "./EndPage";
import type { FieldErrors } from "./formats";
import { isHosted } from "./HandOver";
import type { Branding } from "./Look";
import { changedWith, isIdentified, pageKey, shownContext, withPrefilled, type Attached, type Context, type Field, type FilledField, type Values } from "./model";
import type { Outcome, Receipt } from "./receipt";

/** The dialog over a screen. The dialogs for adopting and reviewing appear only over the documents. */
export type Dialog = { name: "adopt"; field: Field } | { name: "review" } | { name: "decline" } | { name: "delegate" };

/** The reason why the signing has ended on this page. */
type Over = { why: "end"; end: EndState; outcome: Outcome | null } | { why: "answered"; receipt: Receipt } | { why: "delegated"; to: string };

export interface State {
  /** Null until the context is loaded. */
  context: Context | null;
  over: Over | null;
  dialog: Dialog | null;
  draft: Draft;
  /** The owner of the draft. Before the code is verified, nobody has entered anything. */
  draftOf: string;
  /** Entries of others that this signer has not seen yet. */
  news: readonly FilledField[];
  files: readonly Attached[];
  fieldErrors: FieldErrors;
  branding: Branding | null;
  /** The host has handed over the device. */
  handed: boolean;
  /** The verification has expired. */
  confirmAgain: boolean;
}

export const initial = (): State => ({
  context: null, over: null, dialog: null, draft: emptyDraft(), draftOf: "", news: [], files: [], fieldErrors: {}, branding: null, handed: false, confirmAgain: false,
});

export type Action =
  | { type: "retried" }
  /** The member "found" is the stored draft. */
  | { type: "loaded"; context: Context; found: Draft | null }
  | { type: "branded"; branding: Branding | null }
  | { type: "ended"; end: EndState; outcome: Outcome | null }
  | { type: "answered"; receipt: Receipt }
  | { type: "delegated"; to: string }
  | { type: "handedOver" }
  | { type: "confirmed" }
  | { type: "confirmationExpired" }
  | { type: "consented" }
  | { type: "consentRead"; consent: Context["consent"] }
  | { type: "opened"; dialog: Dialog }
  | { type: "closed" }
  | { type: "entered"; field: Field; value: string; day?: string }
  | { type: "adopted"; field: Field; mark: AdoptedSignature }
  | { type: "reasoned"; reason: string }
  | { type: "pageRead"; key: string }
  | { type: "othersEntered"; filled: readonly FilledField[]; shown: string | null }
  | { type: "newsSeen" }
  | { type: "fileAttached"; file: Attached }
  /** The attempt to sign has failed. The next attempt requires a new key. */
  | { type: "rejected"; fieldErrors: FieldErrors; signKey: string }
  | { type: "misfit"; misfits: FieldErrors };

/** Applies the entries of others to a draft. Pages with new entries have to be read again. */
function take(draft: Draft, filled: readonly FilledField[]): { draft: Draft; fresh: FilledField[] } {
  const fresh = filled.filter((f) => !draft.seen.includes(f.fieldId));
  if (fresh.length === 0) return { draft, fresh };
  const changed = new Set(fresh.map((f) => pageKey(f.documentId, f.page)));
  return { draft: { ...draft, seen: filled.map((f) => f.fieldId), read: draft.read.filter((key) => !changed.has(key)) }, fresh };
}

const withContext = (s: State, change: Partial<Context>): State => (s.context ? { ...s, context: { ...s.context, ...change } } : s);
const withDraft = (s: State, change: Partial<Draft>): State => ({ ...s, draft: { ...s.draft, ...change } });

function load(s: State, context: Context, found: Draft | null): State {
  // The draft in memory is newer than the stored one, and some browsers store nothing for a framed page.
  const kept = s.draftOf === context.signerId ? s.draft : found;
  const { draft, fresh } = take(kept ?? emptyDraft(), context.filled);
  return {
    ...s, context, draft, over: null, files: context.attachments, draftOf: isIdentified(context) ? context.signerId : s.draftOf,
    // The page marks the values that were added since a returning signer's last visit. For a new signer, all values are
    // new, so none are marked.
    news: kept && kept.read.length > 0 ? fresh : [],
  };
}

function enter(s: State, { field, value, day }: Action & { type: "entered" }): State {
  if (!s.context) return s;
  const changed = changedWith(s.context, field, value);
  const days = day === undefined ? s.draft.days : { ...s.draft.days, ...Object.fromEntries(Object.keys(changed).map((id) => [id, day])) };
  return withDraft(s, { values: { ...s.draft.values, ...changed }, days });
}

function adopt(s: State, field: Field, mark: AdoptedSignature): State {
  if (!s.context) return s;
  const before = adopted(s.draft, field);
  // A changed signature replaces the previous one in every field to which it was applied.
  const values: Record<string, string> = { ...s.draft.values, ...changedWith(s.context, field, mark.picture) };
  for (const other of s.context.fields) {
    if (other.type === field.type && before && s.draft.values[other.id] === before.picture) values[other.id] = mark.picture;
  }
  return { ...withDraft(s, { values, ...(field.type === "signature" ? { signature: mark } : field.type === "initial" ? { initials: mark } : {}) }), dialog: null };
}

/** Returns the signature or initials that the signer has adopted. A stamp is never adopted. */
export const adopted = (draft: Draft, field: Field): AdoptedSignature | null =>
  field.type === "signature" ? draft.signature : field.type === "initial" ? draft.initials : null;

export function reduce(s: State, a: Action): State {
  switch (a.type) {
    case "retried": return { ...s, over: null };
    case "loaded": return load(s, a.context, a.found);
    case "branded": return { ...s, branding: a.branding };
    case "ended": return { ...s, dialog: null, over: { why: "end", end: a.end, outcome: a.outcome } };
    case "answered": return { ...s, dialog: null, over: { why: "answered", receipt: a.receipt } };
    case "delegated": return { ...s, dialog: null, over: { why: "delegated", to: a.to } };
    case "handedOver": return { ...s, handed: true };
    case "confirmed": return { ...s, confirmAgain: false };
    case "confirmationExpired": return { ...withContext(s, { otpVerified: false, code: null }), confirmAgain: true, dialog: s.dialog?.name === "review" ? null : s.dialog };
    case "consented": return withContext(s, { consentGiven: true });
    case "consentRead": return withContext(s, { consent: a.consent });
    case "opened": return { ...s, dialog: a.dialog };
    case "closed": return { ...s, dialog: null };
    case "entered": return enter(s, a);
    case "adopted": return adopt(s, a.field, a.mark);
    case "reasoned": return withDraft(s, { reason: a.reason });
    case "pageRead": return s.draft.read.includes(a.key) ? s : withDraft(s, { read: [...s.draft.read, a.key] });
    case "othersEntered": {
      const { draft, fresh } = take(s.draft, a.filled);
      return { ...withContext(s, { filled: [...a.filled], shown: a.shown }), draft, news: [...s.news, ...fresh] };
    }
    case "newsSeen": return { ...s, news: [] };
    case "fileAttached": return { ...s, files: [...s.files, a.file] };
    case "rejected": return { ...withDraft(s, { signKey: a.signKey }), fieldErrors: a.fieldErrors };
    case "misfit": return { ...s, fieldErrors: { ...s.fieldErrors, ...a.misfits } };
  }
}

/** The screen to display. */
type Screen =
  | { at: "loading" }
  | { at: "end"; end: EndState; outcome: Outcome | null }
  | { at: "answered"; receipt: Receipt }
  | { at: "delegated"; to: string }
  /** The host hands over the device. */
  | { at: "handOver"; context: Context }
  /** The signer confirms their identity. */
  | { at: "identify"; context: Context }
  | { at: "consent"; context: Context }
  | { at: "reading"; context: Context };

export function screenOf({ context, over, handed }: State): Screen {
  switch (over?.why) {
    case "answered": return { at: "answered", receipt: over.receipt };
    case "delegated": return { at: "delegated", to: over.to };
    case "end": return { at: "end", end: over.end, outcome: over.outcome };
  }
  if (!context) return { at: "loading" };
  const identified = isIdentified(context);
  if (identified && context.consentGiven) return { at: "reading", context };
  // The host only opens the link. All further steps are performed by the signer.
  if (isHosted(context) && !handed && !context.otpVerified) return { at: "handOver", context };
  return { at: identified ? "consent" : "identify", context };
}

/**
 * Returns the current values, with prefilled content in fields that the signer has not changed, and without removed
 * files.
 */
export function valuesOf({ context, draft, files }: Pick<State, "context" | "draft" | "files">): Values {
  if (!context) return draft.values;
  const all: Record<string, string> = { ...withPrefilled(context, draft.values) };
  for (const f of context.fields) if (f.type === "attachment" && !files.some((a) => a.attachmentId === all[f.id])) all[f.id] = "";
  return all;
}

/** Returns the values in readable form, with file names instead of IDs. */
export function readableValues(values: Values, files: readonly Attached[]): Values {
  const names: Record<string, string> = {};
  for (const a of files) if (values[a.fieldId] === a.attachmentId) names[a.fieldId] = a.name;
  return { ...values, ...names };
}

export const visibleOf = (context: Context | null, values: Values): Context | null => context && shownContext(context, values);
