import type { Key } from "../ui/locales";

/** The kinds of recipients who are not ordinary signers. */
export type RecipientKind = "approver" | "viewer" | "in_person";

/** The person who receives the link for an in-person signer. */
export interface Host { name: string }

/** The signature that a witness confirms. The name is null until the witness is verified. */
export interface Witnessed { signerId: string; role: string; name: string | null; signedAt: string | null }

/** The messages for an approver or viewer, which replace the messages for a signer. */
const instead: Partial<Record<RecipientKind, Partial<Record<Key, Key>>>> = {
  approver: {
    asksYou: "asksApprove", sign: "approve", review: "stepApprove", stepSign: "stepApprove", stepFill: "stepRead", agreeBySigning: "agreeByApproving",
    signedTitle: "approvedTitle", signedAt: "endedAt", signedBy: "confirmedBy", decline: "declineOnly", declineNow: "declineOnly", declineTitle: "declineOnlyTitle",
    delegate: "delegateOnly", consentTitle: "consentTitleAnswer", stepConsent: "stepConsentAnswer", hasAdded: "hasAddedAnswer",
  },
  viewer: {
    asksYou: "asksRead", sign: "haveRead", review: "haveRead", stepSign: "haveRead", stepFill: "stepRead", signedTitle: "readTitle", signedAt: "endedAt",
    signedBy: "confirmedBy", decline: "declineOnly", declineNow: "declineOnly", declineTitle: "declineOnlyTitle",
    delegate: "delegateOnly", consentTitle: "consentTitleAnswer", stepConsent: "stepConsentAnswer", hasAdded: "hasAddedAnswer",
  },
};

/** Returns the key of the message for a recipient of this kind. */
export const textFor = (kind: RecipientKind | undefined, key: Key): Key => (kind && instead[kind]?.[key]) ?? key;
