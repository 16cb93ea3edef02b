import { ApiError, NetworkError, request } from "../ui/http";
import { adopt, differences } from "./conflict";
import { aroundFields, contentOf, mergePatch, same, type Saved } from "./content";
import { readHistory, writeHistory, type Entry } from "./drafthistory";
import { DraftParts, type Step } from "./draftparts";
import type { Editor, SaveState, Snapshot } from "./editor";
import { Keeper } from "./history";
import { forgetWork, keepWork, keptWork } from "./kept";
import { freshKey, round, type BuilderField, type Draft, type DraftDocument, type FoundWarning } from "./model";
import { t } from "./texts";

const saveDelay = 500; // milliseconds after the last change
const maxHistory = 500;
const longestWait = 30_000;

/** Whether an error leaves open if the service has performed the request. */
const isUndecided = (e: unknown): boolean => e instanceof NetworkError || (e instanceof ApiError && e.status >= 500);

type PageSize = (document: DraftDocument, page: number) => Promise<{ width: number; height: number }>;

/** Reads a draft and its version. It converts fields whose y is counted from the bottom of the page. */
async function read(path: string, bearer: string, pageSize: PageSize): Promise<{ draft: Draft; etag: string }> {
  let etag = "";
  const draft = await request<Draft>(path, { bearer, onHeaders: (h) => { etag = h.get("ETag") ?? ""; } });
  const fields = await Promise.all(draft.fields.map(async (f) => (
    f.origin === "bottom-left" ? { ...f, origin: "top-left" as const, y: round((await pageSize(draft.documents.find((d) => d.id === f.documentId)!, f.page)).height - f.y - f.h) } : f
  )));
  return { draft: { ...draft, fields, documents: draft.documents.filter((d) => d.kind === "original") }, etag };
}

/**
 * The editor of a draft: fields change here immediately and are saved in the background. Each save sends the
 * difference between the service's fields and those of this page, so that undo, redo and a lost connection need no
 * code in addition.
 */
export class DraftEditor implements Editor {
  readonly parts = new DraftParts(this);
  private fields: readonly BuilderField[] = [];
  private saved = new Map<string, Saved>(); // by key
  private past: Entry[] = [];
  private future: Entry[] = [];
  private turning = false; // a step is taken back or done again
  private successors = new Map<string, string>(); // of recipients and documents that were removed and made again
  private problems = new Map<string, string>();
  private refusedContent = new Map<string, string>();
  private etag = "";
  private around = ""; // the part of that version that is not its fields
  private state: SaveState = "saved";
  private told = "";
  private theirs: string[] = [];
  private server: { draft: Draft; etag: string } | null = null; // the service's version in a conflict: nothing overwrites it before the person has decided
  private timer = 0;
  private running: Promise<void> | null = null; // the save that is under way or waits for its turn
  private queue: Promise<unknown> = Promise.resolve();
  private wait = 1000;
  private stale = false; // an action's result has not been read yet
  private returning: BuilderField[] = []; // fields to put back once that is read
  private sending = false; // the draft may have been sent
  private closed = false;
  private lastMerge = "";
  private kept = true;
  private restored = false;
  private readonly keeper: Keeper;

  private constructor(private draft: Draft, etag: string, readonly bearer: string, private readonly pageSize: PageSize, private readonly onChange: (s: Snapshot) => void) {
    this.keeper = new Keeper(`countersign.history.${draft.id}`, (steps) => (
      this.gone || this.past.length + this.future.length === 0 ? null
        : writeHistory({ etag: this.etag, keys: [...this.saved].map(([key, s]) => [s.id, key]), successors: [...this.successors], past: this.past, future: this.future }, steps)
    ));
    const history = this.keeper.read((content) => readHistory(content, this.parts));
    this.take(draft, etag, new Map(history?.keys));
    this.restore();
    // A history of another version would revert another person's changes.
    if (history && this.state !== "conflict" && (this.restored || history.etag === etag)) {
      [this.past, this.future, this.successors] = [history.past, history.future, new Map(history.successors)];
    }
  }

  static async open(id: string, bearer: string, pageSize: PageSize, onChange: (s: Snapshot) => void): Promise<DraftEditor> {
    const { draft, etag } = await read(`/v1/envelopes/${id}`, bearer, pageSize);
    return new DraftEditor(draft, etag, bearer, pageSize, onChange);
  }

  /** Restores unsaved work after a reload. If the draft has changed since, both versions are shown. */
  private restore(): void {
    const work = keptWork(this.draft.id);
    if (!work) return;
    const [now, etag] = [this.draft, this.etag];
    const keys = new Map([...[...this.saved].map(([key, s]) => [s.id, key] as const), ...work.fields.map((f) => [f.id ?? "", f.key] as const)]);
    this.saved = new Map(work.saved.map((s) => [keys.get(s.id) ?? freshKey(), s]));
    this.fields = work.fields.map(({ key, content }) => ({ ...content, key }));
    if (!this.unsaved) return this.take(now, etag);
    [this.etag, this.around] = [work.etag, work.around];
    this.restored = true;
    this.state = "saving";
    if (work.etag !== etag) this.compare(now, etag);
    else this.schedule(0);
  }

  private keep(): void {
    if (!this.unsaved || this.gone) forgetWork(this.draft.id);
    else {
      const fields = this.fields.map((f) => ({ id: this.saved.get(f.key)?.id, key: f.key, content: contentOf(f) }));
      this.kept = keepWork(this.draft.id, { etag: this.etag, saved: [...this.saved.values()], fields, around: this.around });
    }
  }

  get at(): string {
    return `/v1/envelopes/${this.draft.id}`;
  }

  snapshot(): Snapshot {
    return {
      draft: this.draft, fields: this.fields, state: this.state, problems: this.problems, told: this.told, theirs: this.theirs, kept: this.kept, restored: this.restored,
      canUndo: this.past.length > 0 && !this.turning, canRedo: this.future.length > 0 && !this.turning,
    };
  }

  private publish(): void {
    this.keep();
    this.keeper.soon();
    if (!this.closed) this.onChange(this.snapshot());
  }

  /** Replaces the state by the service's draft. Known fields keep their keys. */
  private take(draft: Draft, etag: string, keys = new Map([...this.saved].map(([key, s]) => [s.id, key]))): void {
    [this.draft, this.etag, this.around] = [draft, etag, aroundFields(draft)];
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
    this.turn(this.past, this.future, "back");
  }

  redo(): void {
    this.turn(this.future, this.past, "again");
  }

  private turn(from: Entry[], to: Entry[], way: "back" | "again"): void {
    const entry = this.turning ? undefined : from.pop();
    if (!entry) return;
    this.lastMerge = "";
    if (!("back" in entry)) {
      to.push(this.fields);
      this.set(this.standing(entry));
      return;
    }
    this.turning = true;
    this.publish();
    entry[way]().then(() => to.push(entry), (e: unknown) => {
      from.push(entry);
      this.told = e instanceof Error ? e.message : String(e);
    }).finally(() => { this.turning = false; this.publish(); });
  }

  /** Records a step in the history, so that it can be undone. */
  done(step: Step): void {
    this.past.push(step);
    this.future = [];
    this.lastMerge = "";
    this.publish();
  }

  /** The id that a recipient or a document has now. */
  current(id: string): string {
    let now = id;
    for (let next = this.successors.get(now); next; next = this.successors.get(now)) now = next;
    return now;
  }

  /** Records that a recipient or a document was created again with another id. */
  becomes(old: string, made: string): void {
    this.successors.set(old, made);
  }

  /** Puts fields back that went with their recipient or document. */
  putBack(fields: readonly BuilderField[]): void {
    if (this.stale) this.returning.push(...fields); // theirs was made again, but not read yet
    else this.set(this.standing([...this.fields, ...fields]));
  }

  /** Returns the fields whose recipient and document exist, with the current ids of both. */
  private standing(fields: readonly BuilderField[]): BuilderField[] {
    const signers = new Set(this.draft.signers.map((s) => s.id));
    const documents = new Set(this.draft.documents.map((d) => d.id));
    return fields.map((f) => ({ ...f, signerId: this.current(f.signerId), documentId: this.current(f.documentId) })).filter((f) => signers.has(f.signerId) && documents.has(f.documentId));
  }

  isPrepared(documentId: string): boolean {
    return Boolean(this.draft.documents.find((d) => d.id === documentId)?.prepared);
  }

  private set(next: readonly BuilderField[]): void {
    this.fields = next;
    const wrong = [...this.problems].filter(([key]) => next.some((f) => f.key === key && JSON.stringify(contentOf(f)) === this.refusedContent.get(key)));
    if (wrong.length < this.problems.size) this.problems = new Map(wrong);
    if (this.state === "saved" || this.state === "refused") this.state = "saving";
    this.publish();
    this.schedule(saveDelay);
  }

  private schedule(ms: number): void {
    if (this.closed || this.stopped) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.save(), ms);
  }

  /** Whether something here is not at the service yet. */
  get dirty(): boolean {
    return this.work().length > 0;
  }

  /** Whether nothing can be saved at present. */
  private get stopped(): boolean {
    return this.state === "conflict" || this.state === "ended" || this.gone;
  }

  /** Whether the draft no longer exists. */
  private get gone(): boolean {
    return this.state === "over" || this.state === "sent";
  }

  /** Whether a field of this page, rejected ones included, differs from the service's. */
  private get unsaved(): boolean {
    return this.fields.length !== this.saved.size || this.fields.some((f) => !same(contentOf(f), this.saved.get(f.key)?.content));
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

  /** Saves all changes, and resolves when everything is saved or saving is not possible. */
  async save(): Promise<void> {
    clearTimeout(this.timer);
    this.running ??= this.inTurn(() => this.saveAll()).finally(() => { this.running = null; });
    return this.running;
  }

  /** Does one thing after the other at the service: each needs the version that the one before has made. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => undefined);
    return done;
  }

  private async saveAll(): Promise<void> {
    try {
      if (this.stale && !this.closed && !this.stopped) await this.reload();
      while (!this.closed && !this.stopped) {
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
      await this.failed(e);
    }
    this.publish();
  }

  /** Handles a failed request. looked is set if it was the reading of another person's changes that failed. */
  private async failed(e: unknown, looked = false): Promise<void> {
    if (isUndecided(e) || (e instanceof ApiError && e.status === 429)) {
      this.state = "offline";
      const after = e instanceof ApiError && e.retryAfter ? e.retryAfter * 1000 : this.wait;
      this.wait = Math.min(this.wait * 2, longestWait);
      this.schedule(after);
    } else if (e instanceof ApiError && (e.status === 412 || (e.status === 404 && !looked))) { // a field that is gone, or the draft
      this.state = "conflict";
      await this.lookAtTheirs();
    } else if (e instanceof ApiError && e.status === 401 && typeof e.details.status === "string") {
      this.endDraft();
    } else if (e instanceof ApiError && e.status === 401) {
      this.state = "ended"; // this page's fields are kept for the next session
    } else if (e instanceof ApiError && (e.status === 404 || e.status === 409)) {
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
      for (const f of fresh) await this.add([f]); // one by one, so that valid fields are saved
    }
  }

  /** Records why the service rejected a field. The field is saved again only after it changes. */
  private note(f: BuilderField, e: unknown): void {
    if (!(e instanceof ApiError && (e.status === 400 || e.status === 403))) throw e;
    const parts = Object.entries(e.errors).map(([name, why]) => `${name.replace(/^fields\[\d+\]\.|^\[\d+\]\./, "")} ${why.join(", ")}`);
    this.problems = new Map(this.problems).set(f.key, parts.join("; ") || e.message);
    this.refusedContent.set(f.key, JSON.stringify(contentOf(f)));
  }

  /**
   * Reads another person's changes to the draft, and reports how they differ from the version last saved by this page.
   */
  private async lookAtTheirs(): Promise<void> {
    try {
      const { draft, etag } = await read(this.at, this.bearer, this.pageSize);
      if (draft.status === "draft") this.compare(draft, etag);
      else this.endDraft();
    } catch (e) {
      await this.failed(e, true);
    }
    this.publish();
  }

  /**
   * Compares the service's draft with the version last saved by this page. A field that this page saved without
   * getting the response is no difference.
   */
  private compare(draft: Draft, etag: string): void {
    adopt(draft.fields, this.saved, this.fields);
    const theirs = differences(draft.fields, this.saved);
    if (aroundFields(draft) !== this.around) theirs.push(t("aroundFields"));
    this.theirs = theirs;
    if (theirs.length > 0) {
      this.server = { draft, etag };
      this.state = "conflict";
      return;
    }
    this.etag = etag;
    this.state = "saving";
    this.schedule(0);
  }

  /** Resolves a conflict: saves this page's fields over the service's, or takes the service's. */
  resolve(keep: "mine" | "theirs"): void {
    if (!this.server) return;
    const mine = this.fields;
    this.past.push(mine);
    this.take(this.server.draft, this.server.etag);
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
   * Performs an action on the draft that does not concern a field, such as adding a recipient, and applies the result.
   * Fields are saved first. Those that change while the action runs are saved afterwards.
   */
  act<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.inTurn(() => this.actNow<T>(method, path, body));
  }

  private async actNow<T>(method: string, path: string, body?: unknown): Promise<T> {
    await this.saveAll();
    if (this.dirty || this.stale || this.stopped) throw new Error(t("notYetSaved"));
    let out: T;
    try {
      out = await this.call<T>(path, method, body);
    } catch (e) {
      await this.refused(e);
      throw e;
    }
    this.stale = true;
    try {
      await this.reload();
    } catch (e) {
      // The action has succeeded; repeating it would duplicate it. Its result is read before anything else is saved.
      await this.failed(e);
      this.publish();
    }
    return out;
  }

  /**
   * Handles an error of an action after which nothing can be saved until the person has decided, or opens the builder
   * again.
   */
  private async refused(e: unknown): Promise<void> {
    if (!(e instanceof ApiError) || (e.status !== 412 && e.status !== 401)) return;
    await this.failed(e);
    this.publish();
  }

  /** Returns the service's warnings about the saved draft. */
  async warnings(): Promise<FoundWarning[]> {
    await this.save();
    const { draft } = await read(this.at, this.bearer, this.pageSize);
    return draft.documents.flatMap((document) => (document.warnings ?? []).map((warning) => ({ document, warning, field: draft.fields.find((f) => f.id === warning.field) })));
  }

  /** Sends the draft as it is saved. It cannot be edited afterwards. */
  send(): Promise<void> {
    return this.inTurn(async () => {
      await this.saveAll();
      if (this.stopped || this.stale) throw new Error(t("notYetSaved"));
      if (this.dirty || this.problems.size > 0) throw new Error(t("fixFirst"));
      this.sending = true;
      try {
        await this.call("/send", "POST", {});
        this.endDraft();
      } catch (e) {
        // Without a response the draft may have been sent: its state is read now, or by the next request.
        if (isUndecided(e)) await this.lookAtTheirs();
        else await this.refused(e);
        if (!this.gone) {
          this.sending = isUndecided(e);
          throw e;
        }
      }
      this.publish();
    });
  }

  /** Records that the envelope is no longer a draft: it was sent, from here or elsewhere. */
  private endDraft(): void {
    this.state = this.sending ? "sent" : "over";
    this.told = this.sending ? "" : t("envelopeSent");
  }

  /** Reads the draft from the service, and applies this page's unsaved and rejected changes to it. */
  private async reload(): Promise<void> {
    const { draft, etag } = await read(this.at, this.bearer, this.pageSize);
    this.stale = false;
    const [was, mine] = [this.saved, new Map(this.fields.map((f) => [f.key, f]))];
    this.take(draft, etag);
    const came = this.fields.flatMap((f) => {
      const before = was.get(f.key);
      if (!before) return [f]; // added by the action
      const own = mine.get(f.key);
      if (!own) return []; // removed here
      return [same(contentOf(own), before.content) ? f : this.standing([own])[0] ?? f];
    });
    this.fields = [...came, ...this.standing([...[...mine.values()].filter((f) => !was.has(f.key)), ...this.returning])];
    this.returning = [];
    this.publish();
  }

  forget(): void {
    forgetWork(this.draft.id);
    this.keeper.forget();
  }

  /** Ends the work on a page that stays open. If everything is saved, nothing is kept. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.keeper.close();
    if (!this.unsaved || this.gone) this.forget();
  }
}

/** Moves and sizes are kept to a hundredth of a point. */
export const rounded = (f: BuilderField): BuilderField => ({ ...f, x: round(f.x), y: round(f.y), w: round(f.w), h: round(f.h) });
