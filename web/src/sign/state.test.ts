import { describe, expect, test } from "vitest";
import { emptyDraft } from "./draft";
import type { Context, Field, FilledField } from "./model";
import type { Receipt } from "./receipt";
import { initial, readableValues, reduce, screenOf, valuesOf, type Action, type State } from "./state";

const field = (id: string, more: Partial<Field> = {}): Field => ({ id, documentId: "d", type: "text", page: 1, x: 0, y: 0, w: 100, h: 20, required: true, ...more });

const entry = (fieldId: string, page: number): FilledField => ({ fieldId, signerId: "other", signerName: "Grace", documentId: "d", type: "text", page, x: 0, y: 0, w: 9, h: 9, value: "x", picture: null });

const context = (more: Partial<Context> = {}): Context => ({
  envelopeId: "e", signerId: "ada", signerName: "Ada", subject: null, message: null, senderName: "Harbour", expiresAt: null, fields: [field("a"), field("b", { name: "n" }), field("c", { name: "n" })],
  documents: [], requiresOtpVerification: true, otpVerified: true, authMethod: "email_otp", maskedEmail: "", consentGiven: true, consent: { version: "1", language: "en", text: "" },
  savedSignatureB64: null, savedSignatureFontLabel: null, filled: [], shown: null, draftKey: null, code: null, readBeforeCode: true, conditionValues: {}, attachments: [], ...more,
});

const after = (...actions: Action[]): State => actions.reduce(reduce, initial());
const loaded = (more: Partial<Context> = {}): Action => ({ type: "loaded", context: context(more), found: null });
const receipt = { outcome: "signed" } as Receipt;

describe("the screen", () => {
  test.each<[string, Action[]]>([
    ["loading", []],
    ["identify", [loaded({ otpVerified: false, consentGiven: false })]],
    ["identify", [loaded(), { type: "confirmationExpired" }]],
    ["consent", [loaded({ consentGiven: false })]],
    ["reading", [loaded()]],
    ["reading", [loaded({ consentGiven: false }), { type: "consented" }]],
    ["handOver", [loaded({ kind: "in_person", host: { name: "Hugh" }, otpVerified: false, consentGiven: false })]],
    ["identify", [loaded({ kind: "in_person", host: { name: "Hugh" }, otpVerified: false, consentGiven: false }), { type: "handedOver" }]],
    ["end", [{ type: "ended", end: "expired", outcome: null }]],
    ["reading", [loaded(), { type: "ended", end: "offline", outcome: null }, { type: "retried" }]],
    ["answered", [loaded(), { type: "answered", receipt }]],
    ["delegated", [loaded(), { type: "delegated", to: "Grace" }]],
  ])("is %s (case %#)", (at, actions) => expect(screenOf(after(...actions)).at).toBe(at));

  test("has one dialog, which ends with it", () => {
    const review = after(loaded(), { type: "opened", dialog: { name: "adopt", field: field("a") } }, { type: "opened", dialog: { name: "review" } });
    expect(review.dialog).toEqual({ name: "review" });
    for (const over of [{ type: "answered", receipt }, { type: "ended", end: "used", outcome: null }, { type: "delegated", to: "" }, { type: "closed" }, { type: "confirmationExpired" }] satisfies Action[]) {
      expect(reduce(review, over).dialog).toBeNull();
    }
  });
});

describe("entries", () => {
  test("fields of one name hold one value and one day", () => {
    const s = after(loaded(), { type: "entered", field: context().fields[1]!, value: "9 May", day: "2026-05-09" });
    expect(s.draft.values).toEqual({ b: "9 May", c: "9 May" });
    expect(s.draft.days).toEqual({ b: "2026-05-09", c: "2026-05-09" });
  });

  test("a changed signature is changed wherever it was applied", () => {
    const fields = ["s", "t", "u"].map((id) => field(id, { type: "signature" }));
    const mark = (picture: string) => ({ picture, fontLabel: null });
    const s = after(loaded({ fields }), { type: "adopted", field: fields[0]!, mark: mark("old") }, { type: "entered", field: fields[1]!, value: "old" }, { type: "adopted", field: fields[0]!, mark: mark("new") });
    expect(s.draft.values).toEqual({ s: "new", t: "new" });
    expect(s.draft.signature).toEqual(mark("new"));
  });

  test("outlive a renewed verification, and not another signer", () => {
    const entered = reduce(after(loaded()), { type: "entered", field: field("a"), value: "kept" });
    expect(reduce(entered, loaded()).draft.values).toEqual({ a: "kept" });
    expect(reduce(entered, loaded({ signerId: "grace" })).draft.values).toEqual({});
  });

  test("what is not yet anybody's gives way to the stored draft", () => {
    const before = after(loaded({ otpVerified: false }), { type: "reasoned", reason: "typed" });
    expect(reduce(before, { type: "loaded", context: context(), found: { ...emptyDraft(), values: { a: "stored" } } }).draft.values).toEqual({ a: "stored" });
  });

  test("a removed file is no value", () => {
    const file = { attachmentId: "f1", fieldId: "p", name: "passport.pdf", size: 1, mimeType: "application/pdf" };
    const s = after(loaded({ fields: [field("p", { type: "attachment" })] }), { type: "fileAttached", file }, { type: "entered", field: field("p"), value: "f1" });
    expect(readableValues(valuesOf(s), s.files)).toEqual({ p: "passport.pdf" });
    expect(valuesOf({ ...s, files: [] })).toEqual({ p: "" });
  });

  test("a rejected attempt has its key replaced", () => {
    const s = after(loaded());
    expect(reduce(s, { type: "rejected", fieldErrors: { a: { value: "x", message: "no" } }, signKey: "next" })).toMatchObject({ fieldErrors: { a: { message: "no" } }, draft: { signKey: "next" } });
  });
});

describe("entries of others", () => {
  test("are news to a signer who has read, whose pages with them are unread again", () => {
    const s = after(loaded(), { type: "pageRead", key: "d/1" }, { type: "pageRead", key: "d/2" }, { type: "othersEntered", filled: [entry("x", 2)], shown: "digest" });
    expect(s.news.map((f) => f.fieldId)).toEqual(["x"]);
    expect(s.draft.read).toEqual(["d/1"]);
    expect(s.context?.shown).toBe("digest");
    const again = reduce(s, { type: "othersEntered", filled: [entry("x", 2)], shown: "digest" });
    expect(again.news).toHaveLength(1);
    expect(reduce(again, { type: "newsSeen" }).news).toEqual([]);
  });

  test("are no news to a signer who begins", () => {
    expect(after({ type: "loaded", context: context({ filled: [entry("x", 1)] }), found: null }).news).toEqual([]);
    const found = { ...emptyDraft(), read: ["d/1"] };
    expect(after({ type: "loaded", context: context({ filled: [entry("x", 1)] }), found }).news).toHaveLength(1);
  });
});
