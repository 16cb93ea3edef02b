import type { Envelope, SealingCode, Signer } from "./api";
import { t, type TextKey } from "./texts";

/** Returns the name of the user who owns an envelope, or the app's name if there is none. */
export const ownerOf = (e: Pick<Envelope, "ownerId" | "users">, app: string): string => (e.ownerId ? e.users.find((u) => u.id === e.ownerId)?.name ?? t("aUser") : app);

/** Reports whether an envelope ended without everyone's signature. */
export const isClosed = (e: Pick<Envelope, "status">): boolean => ["declined", "voided", "expired"].includes(e.status);

/** Returns the state of a recipient in an envelope, and its text. */
export function stateOf(e: Pick<Envelope, "status" | "undelivered">, s: Signer): { state: string; text: TextKey } {
  if (s.status === "declined") return { state: "bad", text: "personDeclined" };
  if (s.signedAt || s.status === "signed") return { state: "done", text: s.kind === "approver" ? "personApproved" : s.kind === "viewer" ? "personRead" : "personSigned" };
  if (e.undelivered?.includes(s.id)) return { state: "bad", text: "personBounced" };
  if (s.status === "viewed") return { state: "open", text: "personOpened" };
  if (s.status === "sent") return { state: "sent", text: "personInvited" };
  return { state: "", text: e.status === "draft" ? "personDraft" : isClosed(e) ? "personNotInvited" : "personWaiting" };
}

const sealingCauses: Record<SealingCode, TextKey> = {
  original_missing: "sealingOriginalMissing", original_changed: "sealingOriginalChanged", document_refused: "sealingDocumentRefused",
  audit_chain_broken: "sealingAuditChainBroken", sealing_failing: "sealingFailing",
};

/** Returns the cause of a sealing problem. The service's text is returned for a code that this page does not know yet. */
export const sealingCause = (code: SealingCode, text: string): string => (Object.hasOwn(sealingCauses, code) ? t(sealingCauses[code]) : text);
