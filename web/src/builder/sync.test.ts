import { beforeEach, describe, expect, test } from "vitest";
import { contentOf, same } from "./content";
import type { BuilderField, Draft, FieldContent } from "./model";
import { advance, hasUnsaved, isSettled, nextRequest, opened, restore, saveState, workOf, type Sync, type SyncEvent, type SyncRequest } from "./sync";

type Stored = Draft["fields"][number];

const content = (x: number, more: Partial<FieldContent> = {}): FieldContent => ({ documentId: "d", signerId: "ada", type: "text", page: 1, x, y: 0, w: 100, h: 20, required: true, ...more });
const stored = (id: string, x: number, more: Partial<FieldContent> = {}): Stored => ({ ...content(x, more), id, origin: "top-left" });
const draftOf = (fields: Stored[], more: Partial<Draft> = {}): Draft => ({
  id: "e", tenantId: "t", status: "draft", subject: null, fields, documents: [{ id: "d", kind: "original", name: "Lease", document_order: 1, pageCount: 1, size: 1 }],
  signers: [{ id: "ada", name: "Ada", email: "", phone: null, routingOrder: 1, authMethod: "none" }, { id: "bob", name: "Bob", email: "", phone: null, routingOrder: 1, authMethod: "none" }], ...more,
});
const local = (key: string, x: number, more: Partial<FieldContent> = {}): BuilderField => ({ ...content(x, more), key });

const keys = new Map([["1", "a"], ["2", "b"]]);
let s: Sync;
beforeEach(() => { s = opened(draftOf([stored("1", 10), stored("2", 20)]), "v1", keys); });

const after = (from: Sync, ...events: SyncEvent[]): Sync => events.reduce(advance, from);
const changed = (...fields: BuilderField[]): SyncEvent => ({ type: "changed", fields });
const unanswered = (request: SyncRequest | null): SyncEvent => ({ type: "failed", request, failure: { is: "unanswered", after: 0 } });

describe("requests", () => {
  test("there is none while nothing changes", () => {
    expect(nextRequest(s)).toBeNull();
    expect([saveState(s), isSettled(s), workOf(s)]).toEqual(["saved", true, null]);
  });

  test("removals come first, then edits, then all new fields together", () => {
    s = after(s, changed(local("b", 25, { label: "Rent" }), local("c", 30), local("d", 40)));
    expect(saveState(s)).toBe("saving");
    expect(nextRequest(s)).toEqual({ do: "remove", key: "a", id: "1" });
    s = after(s, { type: "removed", key: "a", etag: "v2" });
    expect(nextRequest(s)).toMatchObject({ do: "edit", key: "b", id: "2", patch: { x: 25, label: "Rent" } });
    s = after(s, { type: "edited", key: "b", content: content(25, { label: "Rent" }), etag: "v3" });
    expect(nextRequest(s)).toMatchObject({ do: "add", fields: [{ key: "c" }, { key: "d" }] });
    s = after(s, { type: "added", made: [{ key: "c", id: "3", content: content(30) }, { key: "d", id: "4", content: content(40) }], etag: "v4" });
    expect([nextRequest(s), saveState(s), s.etag]).toEqual([null, "saved", "v4"]);
  });

  test("a field that changes while it is saved is saved again", () => {
    s = after(s, changed(local("a", 11), local("b", 20)), changed(local("a", 12), local("b", 20)), { type: "edited", key: "a", content: content(11), etag: "v2" });
    expect(nextRequest(s)).toMatchObject({ do: "edit", key: "a", patch: { x: 12 } });
  });
});

describe("rejected fields", () => {
  const invalid = (request: SyncRequest): SyncEvent => ({ type: "failed", request, failure: { is: "invalid", problem: "x is too large", message: "invalid" } });

  test("do not keep the others from being saved, and are sent again once they change", () => {
    const all = [local("a", 10), local("b", 20), local("c", 999), local("d", 40)];
    s = after(s, changed(...all));
    s = after(s, invalid(nextRequest(s)!));
    expect(nextRequest(s)).toMatchObject({ do: "add", fields: [{ key: "c" }] });
    s = after(s, invalid(nextRequest(s)!));
    expect(nextRequest(s)).toMatchObject({ do: "add", fields: [{ key: "d" }] });
    s = after(s, { type: "added", made: [{ key: "d", id: "4", content: content(40) }], etag: "v2" });
    expect([nextRequest(s), saveState(s), hasUnsaved(s)]).toEqual([null, "refused", true]);
    s = after(s, changed(local("a", 10), local("b", 20), local("c", 30), local("d", 40)));
    expect(nextRequest(s)).toMatchObject({ do: "add", fields: [{ key: "c" }] });
  });

  test("are no obstacle once they are gone", () => {
    s = after(s, changed(local("a", 999), local("b", 20)));
    s = after(s, invalid(nextRequest(s)!));
    expect(saveState(s)).toBe("refused");
    // The recipient is removed together with the field.
    s = after(s, { type: "acted", etag: "v2" }, { type: "read", draft: draftOf([stored("2", 20, { signerId: "bob" })], { signers: s.draft.signers.slice(1) }), etag: "v2" });
    expect([saveState(s), s.rejected.size]).toEqual(["saved", 0]);
  });

  test("are no obstacle once the other version is taken", () => {
    s = after(s, changed(local("a", 999), local("b", 20)));
    s = after(s, invalid(nextRequest(s)!), changed(local("a", 999), local("b", 21)), { type: "failed", request: nextRequest(s), failure: { is: "changed" } },
      { type: "compared", draft: draftOf([stored("1", 50), stored("2", 20)]), etag: "v2" });
    expect(saveState(s)).toBe("conflict");
    expect(saveState(after(s, { type: "resolved", keep: "theirs" }))).toBe("saved");
  });
});

describe("a lost connection", () => {
  test("is tried again after longer and longer delays, and nothing is requested meanwhile", () => {
    s = after(s, changed(local("a", 11), local("b", 20)));
    const delays = Array.from({ length: 7 }, () => {
      s = after(s, unanswered(nextRequest(s)));
      expect([nextRequest(s), saveState(s)]).toEqual([null, "offline"]);
      const { phase } = s;
      s = after(s, { type: "resumed" });
      return phase.at === "offline" ? phase.delay : 0;
    });
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    s = after(s, { type: "failed", request: nextRequest(s), failure: { is: "limited", after: 7000 } });
    expect(s.phase).toEqual({ at: "offline", delay: 7000 });
    expect(workOf(s)).toMatchObject({ etag: "v1", fields: [{ key: "a", id: "1" }, { key: "b" }] });
  });

  test("what was saved without a response is not taken for another person's change", () => {
    // The edit of field "a" took effect, and the field has been changed again since.
    s = after(s, changed(local("a", 11), local("b", 20)));
    s = after(s, unanswered(nextRequest(s)), changed(local("a", 12), local("b", 20)), { type: "resumed" });
    s = after(s, { type: "failed", request: nextRequest(s), failure: { is: "changed" } });
    expect(nextRequest(s)).toEqual({ do: "compare" });
    s = after(s, { type: "compared", draft: draftOf([stored("1", 11), stored("2", 20)]), etag: "v2" });
    expect(nextRequest(s)).toMatchObject({ do: "edit", key: "a", patch: { x: 12 } });
    // The addition of field "c" also took effect, and the field has since been removed here.
    s = after(s, { type: "edited", key: "a", content: content(12), etag: "v3" }, changed(local("a", 12), local("b", 20), local("c", 30)));
    s = after(s, unanswered(nextRequest(s)), changed(local("a", 12), local("b", 20)), { type: "resumed" }, { type: "failed", request: null, failure: { is: "changed" } },
      { type: "compared", draft: draftOf([stored("1", 12), stored("2", 20), stored("3", 30)]), etag: "v4" });
    expect(nextRequest(s)).toMatchObject({ do: "remove", id: "3" });
    // The removal of field "c" also took effect, and undo has since restored the field.
    s = after(s, unanswered(nextRequest(s)), changed(local("a", 12), local("b", 20), local("c", 30)), { type: "resumed" }, { type: "failed", request: null, failure: { is: "changed" } },
      { type: "compared", draft: draftOf([stored("1", 12), stored("2", 20)]), etag: "v5" });
    expect(nextRequest(s)).toMatchObject({ do: "add", fields: [{ content: { x: 30 } }] });
  });

  test("a version that is called outdated and is not does not make the page ask at once again", () => {
    s = after(s, changed(local("a", 11), local("b", 20)), { type: "failed", request: null, failure: { is: "changed" } }, { type: "compared", draft: s.draft, etag: "v1" });
    expect([saveState(s), nextRequest(s)]).toEqual(["offline", null]);
  });
});

describe("another person's changes", () => {
  const theirs = draftOf([stored("1", 50), stored("2", 20)]);
  const met = () => after(s, changed(local("a", 10), local("b", 21), local("c", 30)), { type: "failed", request: nextRequest(s), failure: { is: "changed" } }, { type: "compared", draft: theirs, etag: "v9" });

  test("are shown, and nothing is saved before the person decides", () => {
    s = met();
    expect([saveState(s), nextRequest(s), s.phase.at === "conflict" && s.phase.theirs.length]).toEqual(["conflict", null, 1]);
    s = after(s, changed(local("a", 10), local("b", 22), local("c", 30)), { type: "resumed" });
    expect([nextRequest(s), s.fields[1]!.x]).toEqual([null, 22]);
  });

  test("are kept, or saved over", () => {
    const [kept, over] = [after(met(), { type: "resolved", keep: "theirs" }), after(met(), { type: "resolved", keep: "mine" })];
    expect([nextRequest(kept), kept.fields.map((f) => f.x), kept.etag]).toEqual([null, [50, 20], "v9"]);
    expect(nextRequest(over)).toMatchObject({ do: "edit", key: "a", patch: { x: 10 } });
    expect(over.fields.map((f) => [f.key, f.x])).toEqual([["a", 10], ["b", 21], ["c", 30]]);
  });

  test("are shown if they meet a field that changed here while an action ran", () => {
    s = after(s, { type: "acted", etag: "v2" }, changed(local("a", 12), local("b", 20)), { type: "read", draft: theirs, etag: "v3" });
    expect(saveState(s)).toBe("conflict");
  });

  test("that made the draft an envelope end the work", () => {
    const sent = draftOf([], { status: "sent" });
    expect(saveState(after(s, { type: "failed", request: null, failure: { is: "changed" } }, { type: "compared", draft: sent, etag: "" }))).toBe("over");
    expect(saveState(after(s, { type: "sending", may: true }, { type: "failed", request: null, failure: { is: "changed" } }, { type: "compared", draft: sent, etag: "" }))).toBe("sent");
  });
});

describe("an action", () => {
  test("has its result read before anything else is saved, and keeps what changed meanwhile", () => {
    s = after(s, { type: "acted", etag: "v2" }, changed(local("a", 12), local("c", 30)));
    expect(nextRequest(s)).toEqual({ do: "read" });
    s = after(s, { type: "read", draft: draftOf([stored("1", 10), stored("2", 20), stored("9", 90)]), etag: "v2" });
    expect(s.fields.map((f) => f.x)).toEqual([12, 90, 30]);
    expect(nextRequest(s)).toMatchObject({ do: "remove", id: "2" });
  });

  test("puts fields back with a recipient that was made again", () => {
    const gone = local("b", 20, { signerId: "bob" });
    s = after(s, { type: "acted", etag: "v2" }, { type: "succeeded", old: "bob", made: "bob2" }, { type: "returned", fields: [gone] });
    const draft = draftOf([stored("1", 10)], { signers: [s.draft.signers[0]!, { ...s.draft.signers[1]!, id: "bob2" }] });
    s = after(s, { type: "read", draft, etag: "v2" });
    expect(s.fields.map((f) => [f.key, f.signerId])).toEqual([["a", "ada"], ["b", "bob2"]]);
  });
});

describe("kept work", () => {
  test("continues after a reload", () => {
    const work = workOf(after(s, changed(local("a", 11), local("c", 30))))!;
    const back = restore(opened(draftOf([stored("1", 10), stored("2", 20)]), "v1"), work);
    expect([back.restored, back.fields.map((f) => f.key)]).toEqual([true, ["a", "c"]]);
    expect(nextRequest(back)).toMatchObject({ do: "remove", id: "2" });
    expect(saveState(restore(opened(draftOf([stored("1", 10), stored("2", 77)]), "v2"), work))).toBe("conflict");
  });
});

/** A service with one draft, a network that loses requests and responses, and another user. */
class Service {
  private version = 1;
  private ids = 2;
  fields: Stored[] = [stored("1", 10), stored("2", 20)];
  edited = false; // changed by the other user since the page last read it

  constructor(private readonly random: () => number) {}

  get etag(): string { return `v${this.version}`; }

  meddle(): void {
    if (this.fields.length === 0) return;
    const i = Math.floor(this.random() * this.fields.length);
    this.fields = this.fields.map((f, n) => (n === i ? { ...f, y: f.y + 1 } : f));
    this.version++;
    this.edited = true;
  }

  ask(r: SyncRequest, etag: string): SyncEvent {
    const luck = this.random();
    if (luck < 0.15) return unanswered(r);
    if (r.do === "read" || r.do === "compare") return { type: r.do === "read" ? "read" : "compared", draft: draftOf(this.fields), etag: this.etag };
    if (etag !== this.etag) return { type: "failed", request: r, failure: { is: "changed" } };
    const response = this.perform(r);
    return luck < 0.3 ? unanswered(r) : response;
  }

  private perform(r: SyncRequest): SyncEvent {
    this.version++;
    switch (r.do) {
      case "remove": this.fields = this.fields.filter((f) => f.id !== r.id); return { type: "removed", key: r.key, etag: this.etag };
      case "edit": this.fields = this.fields.map((f) => (f.id === r.id ? { ...r.content, id: f.id, origin: "top-left" } : f)); return { type: "edited", key: r.key, content: r.content, etag: this.etag };
      case "add": {
        const made = r.fields.map((f) => ({ ...f, id: String(++this.ids) }));
        this.fields = [...this.fields, ...made.map(({ id, content: c }) => ({ ...c, id, origin: "top-left" as const }))];
        return { type: "added", made, etag: this.etag };
      }
    }
    throw new Error(r.do);
  }
}

function seeded(seed: number): () => number {
  let n = seed;
  return () => {
    n = (n * 1664525 + 1013904223) % 2 ** 32;
    return n / 2 ** 32;
  };
}

test.each([[false], [true]])("no edit is lost, whatever the network loses (another person: %s)", (others) => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = seeded(seed);
    const service = new Service(random);
    let state = opened(draftOf(service.fields), service.etag, keys);
    let made = 0;
    for (let i = 0; i < 60; i++) {
      const fields = [...state.fields];
      const at = Math.floor(random() * fields.length);
      const way = random();
      if (way < 0.3) fields.push(local(`n${seed}-${++made}`, Math.floor(random() * 500)));
      else if (way < 0.5) fields.splice(at, 1);
      else if (way < 0.8 && fields[at]) fields[at] = { ...fields[at]!, x: fields[at]!.x + 1 };
      if (!same(fields, state.fields)) state = advance(state, changed(...fields));
      if (others && random() < 0.05) service.meddle();
      for (let n = random() * 3; n > 0; n--) {
        const next = nextRequest(state);
        if (next) state = advance(state, service.ask(next, state.etag));
      }
      if (random() < 0.5) state = advance(state, { type: "resumed" });
    }
    for (let n = 0; !isSettled(state); n++) {
      expect(n, `seed ${seed} comes to rest`).toBeLessThan(500);
      state = advance(state, { type: "resumed" });
      if (state.phase.at === "conflict") {
        expect(service.edited, `seed ${seed}: a conflict needs another person`).toBe(true);
        state = advance(state, { type: "resolved", keep: "mine" });
      }
      const next = nextRequest(state);
      if (next) state = advance(state, service.ask(next, state.etag));
    }
    const sorted = (all: FieldContent[]) => all.map((f) => JSON.stringify(contentOf(f))).sort();
    expect(sorted(service.fields), `seed ${seed}`).toEqual(sorted([...state.fields]));
    expect(hasUnsaved(state)).toBe(false);
  }
});
