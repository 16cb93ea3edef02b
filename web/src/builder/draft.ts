import { ApiError, NetworkError, request } from "../ui/http";
import { passwordHeaders } from "../ui/pdfpassword";
import { readHistory, writeHistory, type Entry } from "./drafthistory";
import { DraftParts, type Step } from "./draftparts";
import type { Editor, Snapshot } from "./editor";
import { Keeper } from "./history";
import { forgetWork, keepWork, keptWork } from "./kept";
import { round, type BuilderField, type Draft, type DraftDocument, type FoundWarning } from "./model";
import { advance, current, hasUnsaved, hasWork, isGone, isSettled, nextRequest, opened, restore, saveState, standing, workOf, type Failure, type Sync, type SyncEvent, type SyncRequest } from "./sync";
import { t } from "./texts";
import { Undo } from "./undo";

const saveDelay = 500; // milliseconds after the last change

type PageSize = (document: DraftDocument, page: number) => Promise<{ width: number; height: number }>;

/** Reads a draft and its version. It converts fields whose y coordinate starts at the bottom of the page. */
async function read(path: string, bearer: string, pageSize: PageSize): Promise<{ draft: Draft; etag: string }> {
  let etag = "";
  const draft = await request<Draft>(path, { bearer, onHeaders: (h) => { etag = h.get("ETag") ?? ""; } });
  const fields = await Promise.all(draft.fields.map(async (f) => (
    f.origin === "bottom-left" ? { ...f, origin: "top-left" as const, y: round((await pageSize(draft.documents.find((d) => d.id === f.documentId)!, f.page)).height - f.y - f.h) } : f
  )));
  return { draft: { ...draft, fields, documents: draft.documents.filter((d) => d.kind === "original") }, etag };
}

/**
 * Returns the kind of failure that an error represents for the synchronization. If isRead is set, "not found" means
 * that the draft does not exist.
 */
function failureOf(e: unknown, isRead = false): Failure {
  if (e instanceof NetworkError) return { is: "unanswered", after: 0 };
  if (!(e instanceof ApiError)) return { is: "other", message: e instanceof Error ? e.message : String(e) };
  if (e.status >= 500) return { is: "unanswered", after: e.retryAfter * 1000 };
  switch (e.status) {
    case 429: return { is: "limited", after: e.retryAfter * 1000 };
    case 412: return { is: "changed" };
    case 404: return isRead ? { is: "over", message: e.message } : { is: "changed" }; // the field or the draft no longer exists
    case 409: return { is: "over", message: e.message };
    case 401: return { is: typeof e.details.status === "string" ? "notDraft" : "sessionEnded" };
    case 400: case 403: {
      const parts = Object.entries(e.errors).map(([name, why]) => `${name.replace(/^fields\[\d+\]\.|^\[\d+\]\./, "")} ${why.join(", ")}`);
      return { is: "invalid", problem: parts.join("; ") || e.message, message: e.message };
    }
  }
  return { is: "other", message: e.message };
}

/**
 * The editor of a draft. Fields change here immediately and are saved in the background. The editor performs the
 * requests of the state machine in sync.ts, one after another.
 */
export class DraftEditor implements Editor {
  readonly parts = new DraftParts(this);
  private sync: Sync;
  private history = new Undo<Entry>();
  private turning = false; // a step is being undone or redone
  private timer = 0;
  private running: Promise<void> | null = null; // the save that is in progress or waiting
  private queue: Promise<unknown> = Promise.resolve();
  private closed = false;
  private kept = true;
  private readonly keeper: Keeper;

  private constructor(draft: Draft, etag: string, readonly bearer: string, private readonly pageSize: PageSize, private readonly onChange: (s: Snapshot) => void) {
    this.sync = opened(draft, etag);
    this.keeper = new Keeper(`countersign.history.${draft.id}`, (steps) => {
      const { past, future } = this.history;
      return isGone(this.sync) || past.length + future.length === 0 ? null
        : writeHistory({ etag: this.sync.etag, keys: [...this.sync.saved].map(([key, s]) => [s.id, key]), successors: [...this.sync.successors], past, future }, steps);
    });
    const history = this.keeper.read((content) => readHistory(content, this.parts));
    this.sync = opened(draft, etag, new Map(history?.keys));
    const work = keptWork(draft.id);
    if (work) this.sync = restore(this.sync, work);
    // The history of another version would revert another user's changes.
    if (history && this.sync.phase.at !== "conflict" && (this.sync.restored || history.etag === etag)) {
      this.history = new Undo(history.past, history.future);
      this.sync = { ...this.sync, successors: new Map(history.successors) };
    }
    if (this.dirty) this.schedule(0);
  }

  static async open(id: string, bearer: string, pageSize: PageSize, onChange: (s: Snapshot) => void): Promise<DraftEditor> {
    const { draft, etag } = await read(`/v1/envelopes/${id}`, bearer, pageSize);
    return new DraftEditor(draft, etag, bearer, pageSize, onChange);
  }

  get at(): string {
    return `/v1/envelopes/${this.sync.draft.id}`;
  }

  get dirty(): boolean {
    return hasWork(this.sync);
  }

  snapshot(): Snapshot {
    const { draft, fields, rejected, message, restored, phase } = this.sync;
    return {
      draft, fields, message, restored, state: saveState(this.sync), problems: new Map([...rejected].map(([key, { problem }]) => [key, problem])), theirs: phase.at === "conflict" ? [...phase.theirs] : [], kept: this.kept,
      canUndo: this.history.past.length > 0 && !this.turning, canRedo: this.history.future.length > 0 && !this.turning,
    };
  }

  private publish(): void {
    const work = workOf(this.sync);
    if (work) this.kept = keepWork(this.sync.draft.id, work);
    else forgetWork(this.sync.draft.id);
    this.keeper.soon();
    if (!this.closed) this.onChange(this.snapshot());
  }

  private dispatch(e: SyncEvent): void {
    this.sync = advance(this.sync, e);
    this.publish();
  }

  change(next: readonly BuilderField[], merge = ""): void {
    if (JSON.stringify(next) === JSON.stringify(this.sync.fields)) return;
    this.history.record(this.sync.fields, merge);
    this.set(next);
  }

  private set(fields: readonly BuilderField[]): void {
    this.dispatch({ type: "changed", fields });
    this.schedule(saveDelay);
  }

  undo(): void {
    this.turn(this.history.past, this.history.future, "back");
  }

  redo(): void {
    this.turn(this.history.future, this.history.past, "again");
  }

  private turn(from: Entry[], to: Entry[], way: "back" | "again"): void {
    const entry = this.turning ? undefined : from.pop();
    if (!entry) return;
    this.history.split();
    if (!("back" in entry)) {
      to.push(this.sync.fields);
      this.set(standing(this.sync, entry));
      return;
    }
    this.turning = true;
    this.publish();
    entry[way]().then(() => to.push(entry), (e: unknown) => {
      from.push(entry);
      this.dispatch({ type: "message", message: e instanceof Error ? e.message : String(e) });
    }).finally(() => { this.turning = false; this.publish(); });
  }

  /** Records a step in the history, so that it can be undone. */
  done(step: Step): void {
    this.history.record(step);
    this.publish();
  }

  /** Returns the current ID of a recipient or document. */
  current(id: string): string {
    return current(this.sync, id);
  }

  /** Records that a recipient or document was created again with another ID. */
  becomes(old: string, made: string): void {
    this.dispatch({ type: "succeeded", old, made });
  }

  /** Restores fields that were removed together with their recipient or document. */
  putBack(fields: readonly BuilderField[]): void {
    this.dispatch({ type: "returned", fields });
    this.schedule(saveDelay);
  }

  isPrepared(documentId: string): boolean {
    return Boolean(this.sync.draft.documents.find((d) => d.id === documentId)?.prepared);
  }

  private schedule(ms: number): void {
    if (this.closed || !["open", "offline"].includes(this.sync.phase.at)) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.save(), ms);
  }

  /** Saves all changes. Resolves when everything is saved or saving is not possible. */
  async save(): Promise<void> {
    clearTimeout(this.timer);
    this.running ??= this.inTurn(() => this.saveAll()).finally(() => { this.running = null; });
    return this.running;
  }

  /**
   * Performs one request after another, because each request needs the version that results from the previous one.
   */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => undefined);
    return done;
  }

  private async saveAll(): Promise<void> {
    this.sync = advance(this.sync, { type: "resumed" });
    await this.pump();
  }

  /** Performs the requests of the state machine until none are left. */
  private async pump(): Promise<void> {
    for (let next = nextRequest(this.sync); next && !this.closed; next = nextRequest(this.sync)) {
      let event: SyncEvent;
      try {
        event = await this.perform(next);
      } catch (e) {
        event = { type: "failed", request: next, failure: failureOf(e, next.do === "read" || next.do === "compare") };
      }
      this.sync = advance(this.sync, event);
    }
    if (this.sync.phase.at === "offline") this.schedule(this.sync.phase.delay);
    this.publish();
  }

  private async perform(r: SyncRequest): Promise<SyncEvent> {
    switch (r.do) {
      case "read": return { type: "read", ...await this.read() };
      case "compare": return { type: "compared", ...await this.read() };
      case "edit": return { type: "edited", key: r.key, content: r.content, etag: (await this.call(`/fields/${r.id}`, "PATCH", { ...r.patch, origin: "top-left" })).etag };
      case "add": {
        const { out, etag } = await this.call<{ id: string }[]>("/fields", "POST", r.fields.map(({ content }) => ({ ...content, origin: "top-left" })));
        return { type: "added", made: r.fields.map((f, i) => ({ ...f, id: out[i]!.id })), etag };
      }
      case "remove": {
        try {
          return { type: "removed", key: r.key, etag: (await this.call(`/fields/${r.id}`, "DELETE")).etag };
        } catch (e) {
          if (!(e instanceof ApiError && e.status === 404)) throw e;
          return { type: "removed", key: r.key, etag: "" }; // the object was already removed
        }
      }
    }
  }

  private read(): Promise<{ draft: Draft; etag: string }> {
    return read(this.at, this.bearer, this.pageSize);
  }

  private async call<T>(path: string, method: string, body?: unknown): Promise<{ out: T; etag: string }> {
    let etag = "";
    const out = await request<T>(this.at + path, { method, body, bearer: this.bearer, headers: { "If-Match": this.sync.etag, ...passwordHeaders(body) }, onHeaders: (h) => { etag = h.get("ETag") ?? ""; } });
    return { out, etag };
  }

  /**
   * Resolves a conflict by overwriting the service's fields with this page's fields, or by accepting the service's
   * fields.
   */
  resolve(keep: "mine" | "theirs"): void {
    if (this.sync.phase.at !== "conflict") return;
    this.history.past.push(this.sync.fields);
    this.history.split();
    this.dispatch({ type: "resolved", keep });
    this.schedule(0);
  }

  /**
   * Performs an action on the draft that does not affect a field, such as adding a recipient, and applies the result.
   * Fields are saved first. Fields that change while the action is running are saved afterwards.
   */
  act<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.inTurn(async () => {
      await this.saveAll();
      if (!isSettled(this.sync)) throw new Error(t("notYetSaved"));
      try {
        const { out, etag } = await this.call<T>(path, method, body);
        this.sync = advance(this.sync, { type: "acted", etag });
        await this.pump();
        return out;
      } catch (e) {
        await this.acknowledge(e);
        throw e;
      }
    });
  }

  /** Handles an action error after which nothing can be saved: a version conflict, or the end of the session. */
  private async acknowledge(e: unknown): Promise<void> {
    if (!(e instanceof ApiError && (e.status === 412 || e.status === 401))) return;
    this.sync = advance(this.sync, { type: "failed", request: null, failure: failureOf(e) });
    await this.pump();
  }

  /** Returns the service's warnings about the saved draft. */
  async warnings(): Promise<FoundWarning[]> {
    await this.save();
    const { draft } = await this.read();
    return draft.documents.flatMap((document) => (document.warnings ?? []).map((warning) => ({ document, warning, field: draft.fields.find((f) => f.id === warning.field) })));
  }

  /** Sends the saved draft. The draft cannot be edited afterwards. */
  send(): Promise<void> {
    return this.inTurn(async () => {
      await this.saveAll();
      if (this.sync.rejected.size > 0 && this.sync.phase.at === "open") throw new Error(t("fixFirst"));
      if (!isSettled(this.sync)) throw new Error(t("notYetSaved"));
      const mayBefore = this.sync.sending; // there was no response to an earlier request
      this.dispatch({ type: "sending", may: true });
      try {
        await this.call("/send", "POST", {});
        this.dispatch({ type: "sent" });
      } catch (e) {
        // If there was no response, the draft may have been sent. The status is read now or by the next request.
        const isOpen = failureOf(e).is === "unanswered";
        if (isOpen) {
          this.sync = advance(this.sync, { type: "failed", request: null, failure: { is: "changed" } });
          await this.pump();
        } else {
          this.sync = advance(this.sync, { type: "sending", may: mayBefore }); // the request was rejected; if the draft is sent, another user sent it
          await this.acknowledge(e);
        }
        if (isGone(this.sync)) return;
        throw isOpen ? new Error(t("sendUnanswered")) : e;
      }
    });
  }

  forget(): void {
    forgetWork(this.sync.draft.id);
    this.keeper.forget();
  }

  /** Ends editing while the page stays open. If all changes are saved, nothing remains in the browser's storage. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.keeper.close();
    if (!hasUnsaved(this.sync) || isGone(this.sync)) this.forget();
  }
}

/** Rounds positions and sizes to a hundredth of a point. */
export const rounded = (f: BuilderField): BuilderField => ({ ...f, x: round(f.x), y: round(f.y), w: round(f.w), h: round(f.h) });
