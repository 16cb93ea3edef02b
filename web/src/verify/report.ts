/** The service's response for a file. See VerifyReport in the contract. */
export type Status = "passed" | "failed" | "untrusted" | "absent";
export type Verdict = "valid" | "altered" | "broken" | "untrusted" | "not_sealed";

export interface Finding { check: string; code: string; status: Status; detail: string; values?: Record<string, string> }

interface RecordDocument { id: string; name?: string; order: number; of: number; pageCount: number; sha256: string }
export interface RecordSigner { id: string; name: string; email: string; authMethod: string; verifiedAt?: string; consentAt?: string; signedAt?: string; ip?: string; previous?: PreviousSigner[];
  /** Whether the service displayed pages of this document to the signer as images. */
  pagesShown: boolean;
  /**
   * The member kind specifies the kind of a recipient other than an ordinary signer. For in_person, host is the person
   * who received the link and handed over the device. The member witnessFor is the ID of the signer whose signature was
   * witnessed.
   */
  kind?: "approver" | "viewer" | "in_person"; host?: { name: string; email: string }; witnessFor?: string;
}

/** A replaced signer. */
export interface PreviousSigner { name: string; email: string; until: string; reason?: string }

export interface RecordValue { fieldId: string; signerId: string; kind: string; page: number; text?: string; checked?: boolean; imageSha256?: string }
interface RecordEvent { seq: number; event: string; actor: string; timestamp: string; ip?: string; detail?: Record<string, unknown> }

/** An image of a page that was displayed to signers. */
export interface ShownPage { page: number; level: number; sha256: string }

/** The seal record, as read and verified by the service. */
export interface SealRecord {
  confirmed: boolean; sealedBy: string; sender?: string; envelopeId: string; subject?: string; sealedAt: string;
  document: RecordDocument; documents: RecordDocument[]; signers: RecordSigner[]; values: RecordValue[]; events: RecordEvent[];
  pages: { total: number; certificate: number };
  attachments?: { fieldId: string; name: string; sha256: string }[];
  appearance?: { pages: ShownPage[] };
}

interface OtherSignature { by?: string; wholeFile: boolean }

export interface Report {
  verdict: Verdict; findings: Finding[]; sealedBy?: string; stampedAt?: string; record?: SealRecord;
  additions?: { from: number; bytes: number; kind: string }; signatures?: OtherSignature[];
}

const order: Record<Status, number> = { failed: 0, untrusted: 1, passed: 2, absent: 3 };

/** Returns the findings with failures first, and otherwise in the order of the checks. */
export const bySeverity = (findings: Finding[]): Finding[] => [...findings].sort((a, b) => order[a.status] - order[b.status]);
