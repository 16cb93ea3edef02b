import { request, ApiError } from "../ui/http";
import type { Client } from "./client";
import type { Branding } from "./Look";
import type { Context } from "./model";
import type { RecipientKind } from "./roles";

/** The outcome of a signing, as displayed to the signer. */
export interface Receipt {
  outcome: "signed" | "declined";
  kind?: RecipientKind;
  at: string | null;
  envelopeId: string;
  subject: string | null;
  senderName: string;
  /** The address for questions. */
  contact?: string | null;
  signerName?: string;
  maskedEmail: string;
  documents: { name: string; sha256?: string }[];
  /** The number of remaining signers, and the names that this client is permitted to receive. */
  awaiting?: number;
  awaitingNames?: string[];
  /** A token that provides access to the outcome of the envelope for one day. */
  token?: string | null;
}

/** The service's report on a link that can no longer be used to sign. */
export interface Outcome {
  outcome: "open" | "signed" | "declined" | "closed";
  at: string | null;
  envelopeId: string;
  envelopeStatus: string;
  subject: string | null;
  senderName: string;
  contact: string | null;
  documents: { name: string; pageCount: number }[];
  maskedEmail: string;
  awaiting: number;
  awaitingNames: string[];
  declinedByOther: boolean;
  receiptToken: string | null;
  branding?: Branding;
}

/** Returns the outcome of the link, or null if the service does not report it. */
export async function findOutcome(client: Client): Promise<Outcome | null> {
  try {
    return await client.ask<Outcome>("/outcome");
  } catch {
    return null;
  }
}

export function receiptOf(o: Outcome, kept: Receipt | null): Receipt | null {
  if (o.outcome !== "signed" && o.outcome !== "declined") return null;
  // The receipt that is stored in this tab contains the hashes of the signed files.
  const same = kept?.envelopeId === o.envelopeId && kept.outcome === o.outcome ? kept : null;
  return {
    outcome: o.outcome, at: o.at ?? same?.at ?? null, envelopeId: o.envelopeId, subject: o.subject, senderName: o.senderName, contact: o.contact,
    maskedEmail: o.maskedEmail, documents: same?.documents ?? o.documents, awaiting: o.awaiting, awaitingNames: o.awaitingNames,
    kind: same?.kind, signerName: same?.signerName, token: o.receiptToken ?? same?.token,
  };
}

export function newReceipt(context: Context, outcome: Receipt["outcome"], at: string | null, token?: string | null): Receipt {
  return {
    outcome, kind: context.kind, at, token, envelopeId: context.envelopeId, subject: context.subject, senderName: context.senderName, contact: context.contact, signerName: context.signerName,
    maskedEmail: context.maskedEmail, documents: context.documents.map((d) => ({ name: d.name, sha256: d.sha256 })),
  };
}

/**
 * The receipt is stored in the tab under a key that contains the last part of the token. That part does not grant
 * access.
 */
const receiptKey = (token: string) => `countersign:receipt:${token.slice(-12)}`;

export function saveReceipt(token: string, r: Receipt): void {
  try {
    sessionStorage.setItem(receiptKey(token), JSON.stringify(r));
  } catch {
    // The page cannot access storage. The outcome is also available from the service.
  }
}

export function loadReceipt(token: string): Receipt | null {
  try {
    return JSON.parse(sessionStorage.getItem(receiptKey(token)) ?? "null") as Receipt | null;
  } catch {
    return null;
  }
}

export interface Copies {
  envelopeStatus: string;
  awaiting?: number;
  documents: { name: string; size: number; sha256: string; downloadUrl: string }[];
}

const first = 1000; // milliseconds between the first two requests; each later pause is 50% longer
const longest = 60_000;

/**
 * Polls for the sealed copies until they exist or can no longer be created. Returns a function that stops polling.
 */
export function watchCopies(token: string, onNews: (c: Copies) => void, onOver: () => void): () => void {
  let [timer, pause, asking, done] = [0, first, false, false];
  const look = async () => {
    if (asking || done) return;
    clearTimeout(timer);
    let wait = 0;
    if (document.visibilityState === "visible") {
      asking = true;
      try {
        const c = await request<Copies>(`/v1/receipts/${encodeURIComponent(token)}`);
        if (done) return;
        onNews(c);
        done = ["completed", "declined", "voided", "expired"].includes(c.envelopeStatus);
      } catch (e) {
        if (e instanceof ApiError) {
          wait = e.retryAfter * 1000;
          done ||= e.status === 401 || e.status === 410;
          if (done) onOver(); // the copies remain available through the email
        }
      }
      asking = false;
    }
    if (done) return;
    timer = window.setTimeout(() => void look(), Math.max(pause, wait));
    pause = Math.min(pause * 1.5, longest);
  };
  const back = () => void look();
  back();
  document.addEventListener("visibilitychange", back);
  return () => {
    done = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", back);
  };
}
