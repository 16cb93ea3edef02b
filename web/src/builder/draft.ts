import { ApiError, NetworkError, request } from "../ui/http";
import { contentMembers, freshKey, round, type BuilderField, type Draft, type DraftDocument, type FieldContent, type Recipient } from "./model";

/** How the work stands with the service. */
export type SaveState = "saved" | "saving" | "offline" | "conflict" | "refused" | "over";

export interface Snapshot {
  draft: Draft;
  fields: readonly BuilderField[];
  state: SaveState;
  /** What is wrong with a field, by its key. */
  problems: ReadonlyMap<string, string>;
  /** What the service said to something that concerns no field. */
  told: string;
  canUndo: boolean;
  canRedo: boolean;
  /** In a conflict: what somebody else has changed. */
  theirs: string[];
}

interface Saved { id: string; content: FieldContent }

const saveDelay = 500; // milliseconds after the last change
const maxHistory = 500;
const longestWait = 30_000;

function contentOf(f: FieldContent): FieldContent {
  const out: Record<string, unknown> = {};
  for (const name of contentMembers) if (f[name] !== undefined) out[name] = f[name];
  return out as unknown as FieldContent;
}

type PageSize = (document: DraftDocument, page: number) => Promise<{ width: number; height: number }>;

/** Reads a draft and its version. Fields whose y was counted from the bottom of the page are counted from its top. */
async function read(path: string, bearer: string, pageSize: PageSize): Promise<{ draft: Draft; etag: string }> {
  let etag = "";
  const draft = await request<Draft>(path, { bearer, onHeaders: (h) => { etag = h.get("ETag") ?? ""; } });
  const fields = await Promise.all(draft.fields.map(async (f) => (
    f.origin === "bottom-left" ? { ...f, origin: "top-left" as const, y: round((await pageSize(draft.documents.find((d) => d.id === f.documentId)!, f.page)).height - f.y - f.h) } : f
  )));
  return { draft: { ...draft, fields, documents: draft.documents.filter((d) => d.kind === "original") }, etag };
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The members of b that differ from a; those that b has no more are null (RFC 7396). */
function mergePatch(a: FieldContent, b: FieldContent): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name of contentMembers) {
    if (same(a[name], b[name])) continue;
    const [was, is] = [a[name], b[name]];
    if (is === undefined) out[name] = null;
    else if (typeof is === "object" && !Array.isArray(is) && was) {
      // A member of an object that is gone has to be named, or it stays.
      const gone = Object.keys(was).filter((k) => !(k in is)).map((k) => [k, null]);
      out[name] = { ...is, ...Object.fromEntries(gone) };
    } else out[name] = is;
  }
  return out;
}

/**
 * A draft that is edited: fields change here at once and are saved behind. What is to be saved is always the difference
 * between what the service has and what is here, so that undo, redo and a lost connection need nothing of their own.
 */
export class DraftEditor {
  private fields: readonly BuilderField[] = [];
  private saved = new Map<string, Saved>(); // by key
  private past: (readonly BuilderField[])[] = [];
  private future: (readonly BuilderField[])[] = [];
  private problems = new Map<string, string>();
  private refusedContent = new Map<string, string>();
  private etag = "";
  private state: SaveState = "saved";
  private told = "";
  private theirs: string[] = [];
  private server: Draft | null = null;
  private timer = 0;
  private running: Promise<void> | null = null;
  private wait = 1000;
  private closed = false;
  private lastMerge = "";

  private constructor(private draft: Draft, etag: string, readonly bearer: string, private readonly pageSize: PageSize, private readonly onChange: (s: Snapshot) => void) {
    this.take(draft, etag);
  }

  static async open(id: string, bearer: string, pageSize: PageSize, onChange: (s: Snapshot) => void): Promise<DraftEditor> {
    const { draft, etag } = await read(`/v1/envelopes/${id}`, bearer, pageSize);
    return new DraftEditor(draft, etag, bearer, pageSize, onChange);
  }

  get at(): string {
    return `/v1/envelopes/${this.draft.id}`;
  }

  snapshot(): Snapshot {
    return {
      draft: this.draft, fields: this.fields, state: this.state, problems: this.problems, told: this.told, theirs: this.theirs,
      canUndo: this.past.length > 0, canRedo: this.future.length > 0,
    };
  }

  private publish(): void {
    if (!this.closed) this.onChange(this.snapshot());
  }

  /** Takes the draft as the service has it. Fields that are here keep their keys. */
  private take(draft: Draft, etag: string): void {
    const keys = new Map([...this.saved].map(([key, s]) => [s.id, key]));
    this.draft = draft;
    this.etag = etag;
    this.saved = new Map();
    this.fields = draft.fields.map((f) => {
      const key = keys.get(f.id) ?? freshKey();
      const content = contentOf(f);
      this.saved.set(key, { id: f.id, content });
      return { ...content, key };
    });
  }

  /**
   * Replaces the fields. Changes of one kind that follow each other, such as the steps of a move by keys, are undone in one
   * step: they have the same merge.
   */
  change(next: readonly BuilderField[], merge = ""): void {
    if (same(next, this.fields)) return;
    if (!merge || merge !== this.lastMerge) {
      this.past.push(this.fields);
      if (this.past.length > maxHistory) this.past.shift();
    }
    this.lastMerge = merge;
    this.future = [];
    this.set(next);
  }

  undo(): void {
    const before = this.past.pop();
    if (!before) return;
    this.future.push(this.fields);
    this.lastMerge = "";
    this.set(before);
  }

  redo(): void {
    const after = this.future.pop();
    if (!after) return;
    this.past.push(this.fields);
    this.lastMerge = "";
    this.set(after);
  }

  private set(next: readonly BuilderField[]): void {
    this.fields = next;
    for (const key of [...this.problems.keys()]) {
      const f = next.find((x) => x.key === key);
      if (!f || JSON.stringify(contentOf(f)) !== this.refusedContent.get(key)) this.problems.delete(key);
    }
    if (this.state === "saved" || this.state === "refused") this.state = "saving";
    this.publish();
    this.schedule(saveDelay);
  }

  private schedule(ms: number): void {
    if (this.closed || this.state === "conflict" || this.state === "over") return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.save(), ms);
  }

  /** Whether something here is not at the service yet. */
  get dirty(): boolean {
    return this.work().length > 0;
  }

  private work(): BuilderField[] | string[] {
    const here = new Set(this.fields.map((f) => f.key));
    const gone = [...this.saved.keys()].filter((key) => !here.has(key));
    if (gone.length > 0) return gone;
    return this.fields.filter((f) => {
      const s = this.saved.get(f.key);
      return !this.problems.has(f.key) && (!s || !same(contentOf(f), s.content));
    });
  }

  /** Saves all that is to be saved, and resolves when nothing is left or something stands in the way. */
  async save(): Promise<void> {
    clearTimeout(this.timer);
    this.running ??= this.saveAll().finally(() => { this.running = null; });
    return this.running;
  }

  private async saveAll(): Promise<void> {
    try {
      while (!this.closed && this.state !== "conflict" && this.state !== "over") {
        const here = new Map(this.fields.map((f) => [f.key, f]));
        const gone = [...this.saved].find(([key]) => !here.has(key));
        if (gone) {
          await this.remove(gone[0], gone[1].id);
          continue;
        }
        const edited = this.fields.find((f) => this.saved.has(f.key) && !this.problems.has(f.key) && !same(contentOf(f), this.saved.get(f.key)!.content));
        if (edited) {
          await this.edit(edited);
          continue;
        }
        const fresh = this.fields.filter((f) => !this.saved.has(f.key) && !this.problems.has(f.key));
        if (fresh.length === 0) break;
        await this.add(fresh);
      }
      this.wait = 1000;
      if (this.state === "saving" || this.state === "offline" || this.state === "refused") this.state = this.problems.size ? "refused" : "saved";
    } catch (e) {
      this.failed(e);
    }
    this.publish();
  }

  private failed(e: unknown): void {
    if (e instanceof NetworkError || (e instanceof ApiError && (e.status >= 500 || e.status === 429))) {
      this.state = "offline";
      const after = e instanceof ApiError && e.retryAfter ? e.retryAfter * 1000 : this.wait;
      this.wait = Math.min(this.wait * 2, longestWait);
      this.schedule(after);
    } else if (e instanceof ApiError && e.status === 412) {
      this.state = "conflict";
      void this.lookAtTheirs();
    } else if (e instanceof ApiError && (e.status === 401 || e.status === 404 || e.status === 409)) {
      this.state = "over";
      this.told = e.message;
    } else {
      this.state = "refused";
      this.told = e instanceof Error ? e.message : String(e);
    }
  }

  private async call<T>(path: string, method: string, body?: unknown): Promise<T> {
    let etag = "";
    const out = await request<T>(this.at + path, { method, body, bearer: this.bearer, headers: { "If-Match": this.etag }, onHeaders: (h) => { etag = h.get("ETag") ?? ""; } });
    if (etag) this.etag = etag;
    return out;
  }

  private async remove(key: string, id: string): Promise<void> {
    try {
      await this.call(`/fields/${id}`, "DELETE");
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 404)) throw e; // gone already
    }
    this.saved.delete(key);
  }

  private async edit(f: BuilderField): Promise<void> {
    const s = this.saved.get(f.key)!;
    const content = contentOf(f);
    try {
      await this.call(`/fields/${s.id}`, "PATCH", { ...mergePatch(s.content, content), origin: "top-left" });
      s.content = content;
    } catch (e) {
      this.note(f, e);
    }
  }

  private async add(fresh: BuilderField[]): Promise<void> {
    const bodies = fresh.map((f) => ({ ...contentOf(f), origin: "top-left" }));
    try {
      const made = await this.call<{ id: string }[]>("/fields", "POST", bodies);
      fresh.forEach((f, i) => this.saved.set(f.key, { id: made[i]!.id, content: contentOf(f) }));
    } catch (e) {
      if (fresh.length === 1) return this.note(fresh[0]!, e);
      if (!(e instanceof ApiError && (e.status === 400 || e.status === 403))) throw e;
      for (const f of fresh) await this.add([f]); // all or nothing: the ones that are right are kept
    }
  }

  /** Notes what is wrong with a field; it is not saved again until it changes. */
  private note(f: BuilderField, e: unknown): void {
    if (!(e instanceof ApiError && (e.status === 400 || e.status === 403))) throw e;
    const parts = Object.entries(e.errors).map(([name, why]) => `${name.replace(/^fields\[\d+\]\.|^\[\d+\]\./, "")} ${why.join(", ")}`);
    this.problems.set(f.key, parts.join("; ") || e.message);
    this.refusedContent.set(f.key, JSON.stringify(contentOf(f)));
  }

  /** Reads what somebody else made of the draft, and says how it differs from what was saved from here. */
  private async lookAtTheirs(): Promise<void> {
    try {
      const { draft, etag } = await read(this.at, this.bearer, this.pageSize);
      const known = new Map([...this.saved.values()].map((s) => [s.id, s.content]));
      const theirs: string[] = [];
      const say = (f: FieldContent) => `${f.label || f.name || f.type} on page ${f.page}`;
      for (const f of draft.fields) {
        const was = known.get(f.id);
        if (!was) theirs.push(`added: ${say(f)}`);
        else if (!same(was, contentOf(f))) theirs.push(`changed: ${say(f)}`);
        known.delete(f.id);
      }
      for (const f of known.values()) theirs.push(`removed: ${say(f)}`);
      if (!same(draft.signers, this.draft.signers)) theirs.push("recipients");
      if (!same(draft.documents, this.draft.documents)) theirs.push("documents");
      if (draft.subject !== this.draft.subject || draft.message !== this.draft.message) theirs.push("subject or message");
      this.server = draft;
      this.theirs = theirs;
      this.etag = etag;
    } catch (e) {
      this.told = e instanceof Error ? e.message : String(e);
    }
    this.publish();
  }

  /** Ends a conflict: what is here is saved over theirs, or theirs is taken. */
  resolve(keep: "mine" | "theirs"): void {
    if (!this.server) return;
    const mine = this.fields;
    this.past.push(mine);
    this.take(this.server, this.etag);
    if (keep === "mine") {
      const signers = new Set(this.draft.signers.map((s) => s.id));
      const documents = new Set(this.draft.documents.map((d) => d.id));
      this.fields = mine.filter((f) => signers.has(f.signerId) && documents.has(f.documentId));
    }
    this.server = null;
    this.theirs = [];
    this.state = "saving";
    this.publish();
    this.schedule(0);
  }

  /**
   * Does something to the draft that is not a field's, such as adding a recipient, and takes what came of it. Fields are saved first.
   */
  async act<T>(method: string, path: string, body?: unknown): Promise<T> {
    await this.save();
    if (this.dirty) throw new Error("Something could not be saved yet; try again in a moment.");
    try {
      const out = await this.call<T>(path, method, body);
      await this.reload();
      return out;
    } catch (e) {
      if (e instanceof ApiError && e.status === 412) this.failed(e);
      throw e;
    }
  }

  /** Sends the draft as it is saved; it cannot be edited any more then. */
  async send(): Promise<void> {
    await this.save();
    if (this.dirty || this.problems.size > 0) throw new Error("Some fields could not be saved: they are marked. Mend or remove them first.");
    await this.call("/send", "POST", {});
    this.state = "over";
    this.told = "The envelope was sent.";
    this.publish();
  }

  /** Takes the draft as the service has it; what was undone before concerned fields that may be gone. */
  async reload(): Promise<void> {
    const { draft, etag } = await read(this.at, this.bearer, this.pageSize);
    const before = new Set(this.fields.map((f) => f.key));
    const unsaved = this.fields.filter((f) => !this.saved.has(f.key) && this.problems.has(f.key));
    this.take(draft, etag);
    this.fields = [...this.fields, ...unsaved];
    const signers = new Set(draft.signers.map((s: Recipient) => s.id));
    const documents = new Set(draft.documents.map((d: DraftDocument) => d.id));
    const still = (list: readonly BuilderField[]) => list.filter((f) => signers.has(f.signerId) && documents.has(f.documentId));
    const fresh = this.fields.filter((f) => !before.has(f.key));
    this.past = this.past.map((list) => [...still(list), ...fresh]);
    this.future = this.future.map((list) => [...still(list), ...fresh]);
    this.publish();
  }

  /** A page that is left for good saves what it can. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }
}

/** Moves and sizes are kept to a hundredth of a point. */
export const rounded = (f: BuilderField): BuilderField => ({ ...f, x: round(f.x), y: round(f.y), w: round(f.w), h: round(f.h) });
