import type { Context, Values } from "./model";

/** What is kept in the tab until the signer has answered, so that a reload loses nothing. */
export interface Draft {
  values: Values;
  /** The day behind each date field, as YYYY-MM-DD. */
  days: Record<string, string>;
  read: string[];
  signature: Mark | null;
  initials: Mark | null;
  reason: string;
  /** Names the one act of signing, so that a repeated request does not sign twice. */
  signKey: string;
}

/** An adopted signature: a PNG as data URL, and the typeface if it was typed. */
export interface Mark { picture: string; fontLabel: string | null }

/** What stays after signing or declining, to be shown again on a reload. */
export interface Receipt {
  outcome: "signed" | "declined";
  at: string | null;
  envelopeId: string;
  subject: string | null;
  senderName: string;
  signerName: string;
  maskedEmail: string;
  documents: { name: string; sha256?: string }[];
  /** Shows what becomes of the envelope, for a day. */
  token?: string;
}

const name = (c: Pick<Context, "envelopeId" | "signerId">) => `countersign:draft:${c.envelopeId}:${c.signerId}`;
const receiptName = "countersign:receipt:";

export function emptyDraft(): Draft {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return { values: {}, days: {}, read: [], signature: null, initials: null, reason: "", signKey: Array.from(random, (b) => b.toString(16).padStart(2, "0")).join("") };
}

export function loadDraft(c: Context): Draft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name(c)) ?? "null") as Partial<Draft> | null;
    if (!kept) return emptyDraft();
    const known = new Set(c.fields.map((f) => f.id));
    const values = Object.fromEntries(Object.entries(kept.values ?? {}).filter(([id]) => known.has(id)));
    return { ...emptyDraft(), ...kept, values };
  } catch {
    return emptyDraft();
  }
}

export function saveDraft(c: Context, d: Draft): void {
  try {
    sessionStorage.setItem(name(c), JSON.stringify(d));
  } catch {
    // Storage is full or closed to this page: signing works without it.
  }
}

export function clearDraft(c: Context): void {
  try {
    sessionStorage.removeItem(name(c));
  } catch {
    // as above
  }
}

/** The receipt is kept under the end of the token, which opens nothing. */
const receiptKey = (token: string) => receiptName + token.slice(-12);

export function saveReceipt(token: string, r: Receipt): void {
  try {
    sessionStorage.setItem(receiptKey(token), JSON.stringify(r));
  } catch {
    // as above
  }
}

export function loadReceipt(token: string): Receipt | null {
  try {
    return JSON.parse(sessionStorage.getItem(receiptKey(token)) ?? "null") as Receipt | null;
  } catch {
    return null;
  }
}
