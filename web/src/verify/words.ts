import english from "../../../locales/en/verification.json";
import { translator, type Language } from "../ui/i18n";

export type VerifyKey = keyof typeof english;
export type VerifyTranslate = (key: VerifyKey, values?: Record<string, string | number>) => string;

const files = import.meta.glob(["../../../locales/*/verification.json", "!../../../locales/en/*"], { import: "default" }) as Record<string, () => Promise<typeof english>>;

/** Reports whether the page has a message with this key. */
export const hasText = (key: string): key is VerifyKey => key in english;

/** Returns the page's messages in a language, or in English if they cannot be loaded. */
export async function loadTexts(language: Language): Promise<VerifyTranslate> {
  let all = english;
  try {
    all = await files[`../../../locales/${language}/verification.json`]?.() ?? english;
  } catch {
    language = "en";
  }
  return translator<VerifyKey>(all, language);
}

/** The message for the code of each finding. A code that is not listed here is described by its check and result. */
export const findingTexts: Record<string, VerifyKey> = {
  "structure.readable": "readable", "structure.not_pdf": "notPDF", "structure.damaged": "damaged",
  "signature.none": "noSeal", "signature.remains": "sealRemains", "signature.does_not_fit": "sealRemains", "signature.rewritten": "rewrittenText", "signature.rewritten_unknown": "sealRemains", "signature.several": "sealSeveral",
  "signature.malformed": "sealWrong", "signature.wrong": "sealWrong", "signature.sound": "sealSound",
  "byte_range.whole": "coversFile", "byte_range.earlier": "coversSealed", "byte_range.malformed": "coversWrong", "byte_range.cut_off": "cutOff",
  "digest.unchanged": "unchanged", "digest.changed": "changed",
  "timestamp.confirmed": "timeConfirmed", "timestamp.absent": "timeOwn", "timestamp.malformed": "timeWrong", "timestamp.wrong": "timeWrong", "timestamp.missing": "timeRemoved",
  "timestamp.untrusted": "timeUnknown",
  "timestamp.not_confirmed": "timeNotConfirmed", "timestamp.times_fall": "timeOrder", "timestamp.before_seal": "timeOrder", "timestamp.not_valid_then": "stampThen", "timestamp.wrong_usage": "stampUsage",
  "timestamp.revoked": "stampRevoked",
  "revocation.authority_unknown": "revocationUnknown", "revocation.older": "revocationUnknown", "revocation.not_proven": "revocationUnknown",
  "revocation.good": "notRevoked", "revocation.absent": "revocationUnknown", "revocation.not_offered": "revocationUnknown", "revocation.revoked": "revoked",
  "later_changes.none": "nothingLater", "later_changes.archive": "ownLater", "later_changes.annotations": "laterComments", "later_changes.form": "laterForm",
  "later_changes.signature": "laterSignature", "later_changes.pages": "laterPages", "later_changes.saved": "laterSaved", "later_changes.unknown": "laterUnknown",
  "archive_timestamp.confirmed": "archived", "archive_timestamp.absent": "notArchived", "archive_timestamp.untrusted": "archiveUnknown",
  "archive_timestamp.not_confirmed": "timeNotConfirmed", "archive_timestamp.times_fall": "timeOrder", "archive_timestamp.before_seal": "timeOrder", "archive_timestamp.not_valid_then": "stampThen",
  "archive_timestamp.wrong_usage": "stampUsage", "archive_timestamp.revoked": "stampRevoked",
  "certificate.pinned": "sealerKnown", "certificate.other_organisation": "sealerOther", "certificate.wrong_usage": "sealerUsage", "certificate.revoked_here": "sealerRevoked",
  "certificate.trusted": "sealerKnown", "certificate.untrusted": "sealerUnknown", "certificate.not_valid_then": "sealerThen",
  "manifest.signed": "recordSound", "manifest.missing": "recordWrong", "manifest.malformed": "recordWrong", "manifest.contradiction": "recordContradicts",
  "manifest_key.published": "keyKnown", "manifest_key.covered": "keyKnown", "manifest_key.unknown": "keyUnknown", "manifest_key.not_covered": "keyUnknown", "manifest_key.other": "keyOther", "manifest_key.revoked_here": "keyRevoked",
  "original.found": "originalThere", "original.prepared": "originalThere", "original.rewritten": "originalThere", "original.prepared_otherwise": "originalWrong", "original.missing": "originalWrong", "original.changed": "originalWrong",
  "attachments.found": "filesThere", "attachments.missing": "filesWrong", "attachments.changed": "filesWrong",
  "audit_chain.complete": "chainComplete", "audit_chain.missing": "chainBroken", "audit_chain.broken": "chainBroken",
  "recorded.same": "recordedSame", "recorded.earlier": "recordedEarlier", "recorded.other": "recordedOther", "recorded.unknown": "recordedNone",
};

export const checks: Record<string, VerifyKey> = {
  structure: "structure", signature: "sealSignature", byte_range: "byteRange", digest: "digest", certificate: "certificate", timestamp: "timestamp", revocation: "revocation",
  later_changes: "laterChanges", archive_timestamp: "archive", manifest: "record", manifest_key: "recordKey", original: "original", attachments: "files", audit_chain: "chain", recorded: "recorded",
};
