import { ApiError, NetworkError, request } from "../ui/http";
import { passwordHeaders } from "../ui/pdfpassword";
import { fetchFile, type Editor, type Parts, type RecipientContent, type RecipientEdit, type SaveState, type Snapshot, type TemplateTexts } from "./editor";
import { Keeper } from "./history";
import { contentMembers, freshKey, type BuilderField, type DraftDocument, type FieldContent, type Recipient } from "./model";
import { readTemplate, writeTemplate, type Content, type KeptTemplate } from "./templatekept";
import { listed, t } from "./texts";
import { Undo } from "./undo";

interface Role {
  role: string; kind: Recipient["kind"]; routingOrder: number; authMethod: Recipient["authMethod"]; language: string | null; allowDelegation: boolean; notify: boolean; witnessFor: string | null;
}

/** A template as returned by the API. */
interface Template {
  id: string; tenantId: string | null; name: string; version: number; subject: string | null; message: string | null; roles: Role[];
  fields: (Omit<FieldContent, "documentId" | "signerId"> & { documentId: string | null; role: string })[]; documents: DraftDocument[];
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function recipientOf(r: Role, id: string): Recipient {
  return {
    id, name: r.role, email: "", phone: null, role: r.role, kind: r.kind, routingOrder: r.routingOrder, authMethod: r.authMethod, notify: r.notify, allowDelegation: r.allowDelegation,
    language: r.language ?? undefined, witnessFor: r.witnessFor ?? undefined,
  };
}

function roleOf(r: Recipient): Record<string, unknown> {
  return {
    role: r.role, kind: r.kind ?? "signer", language: r.language ?? null, notify: r.notify ?? true,
    ...(r.witnessFor ? { witnessFor: r.witnessFor } : { routingOrder: r.routingOrder }), ...(r.kind === "copy" ? {} : { authMethod: r.authMethod, allowDelegation: r.allowDelegation ?? false }),
  };
}

const numbered = (documents: readonly DraftDocument[]): DraftDocument[] => documents.map((d, i) => ({ ...d, document_order: i + 1 }));

const everybody = (c: Content): Recipient[] => [...c.signers, ...c.copies];

/**
 * The editor of a template. Changes remain on the page until they are saved, and each save creates a version of the
 * template. A recipient represents a role, and the name of the role is used as both name and role.
 */
export class TemplateEditor implements Editor {
  private content: Content;
  private saved: Content;
  private history = new Undo<Content>();
  private files = new Map<string, File>(); // files of documents that were removed
  private state: SaveState = "saved";
  private message = "";
  private problems: ReadonlyMap<string, string> = new Map();
  private theirs: string[] = [];
  // The service's version during a conflict; it is not overwritten until the user has decided.
  private server: { template: Template; etag: string } | null = null;
  private running: Promise<void> | null = null; // the save that is in progress or waiting
  private queue: Promise<unknown> = Promise.resolve();
  private closed = false;
  private kept = true;
  private restored = false;
  private readonly keeper: Keeper;

  private constructor(private template: Template, private etag: string, readonly bearer: string, private readonly onChange: (s: Snapshot) => void) {
    this.content = this.saved = this.read(template, [], []);
    this.keeper = new Keeper(`countersign.template.${template.id}`, (steps) => (
      this.state === "over" || (!this.dirty && this.history.past.length + this.history.future.length === 0) ? null
        : writeTemplate({ etag: this.etag, saved: this.saved, content: this.content, past: this.history.past, future: this.history.future }, steps)
    ), (taken) => {
      if (taken === this.kept) return;
      this.kept = taken;
      this.publish();
    });
    const work = this.keeper.read(readTemplate);
    if (work) this.restore(work);
  }

  /** Restores unsaved work after a reload. If the template has changed since, both versions are displayed. */
  private restore({ etag, saved, content, past, future, lost }: KeptTemplate): void {
    const unsaved = !same(content, saved);
    if (etag !== this.etag && !unsaved) return;
    [this.saved, this.content, this.restored] = [saved, content, unsaved];
    if (lost.length > 0) this.message = t("documentsLost", { names: listed(lost) });
    if (etag === this.etag) this.history = new Undo(past, future);
    else {
      this.etag = etag;
      this.state = "conflict";
      void this.lookAtTheirs();
    }
  }

  static async open(id: string, bearer: string, onChange: (s: Snapshot) => void): Promise<TemplateEditor> {
    let etag = "";
    const template = await request<Template>(`/v1/templates/${id}`, { bearer, onHeaders: (h) => { etag = h.get("ETag") ?? ""; } });
    return new TemplateEditor(template, etag, bearer, onChange);
  }

  get at(): string { return `/v1/templates/${this.template.id}`; }

  get version(): number { return this.template.version; }

  get texts(): TemplateTexts { return this.content.texts; }

  get dirty(): boolean { return !same(this.content, this.saved); }

  /** Reports whether saving is currently impossible. */
  private get stopped(): boolean { return this.state === "conflict" || this.state === "ended" || this.state === "over"; }

  isPrepared(documentId: string): boolean {
    return Boolean(this.content.documents.find((d) => d.id === documentId)?.prepared);
  }

  snapshot(): Snapshot {
    const { signers, copies, documents, fields, texts } = this.content;
    const state = this.state === "saved" && this.dirty ? "unsaved" : this.state;
    return {
      draft: { id: this.template.id, tenantId: this.template.tenantId ?? "", status: "draft", subject: texts.name, signers: signers as Recipient[], copies: copies as Recipient[], documents: documents as DraftDocument[], fields: [] },
      fields, state, problems: this.problems, message: this.message, theirs: this.theirs, kept: this.kept, restored: this.restored, canUndo: this.history.past.length > 0, canRedo: this.history.future.length > 0,
    };
  }

  /** Returns the edited part of a version. Known roles and fields keep their keys. */
  private read(t: Template, people: readonly Recipient[], fields: readonly BuilderField[]): Content {
    const known = new Map(people.map((r) => [r.role, r.id]));
    const roles = t.roles.map((r) => recipientOf(r, known.get(r.role) ?? freshKey()));
    const ids = new Map(roles.map((r) => [r.role, r.id]));
    const documents = [...t.documents].sort((a, b) => a.document_order - b.document_order);
    return {
      signers: roles.filter((r) => r.kind !== "copy"), copies: roles.filter((r) => r.kind === "copy"), documents,
      fields: t.fields.map(({ role, ...f }, i) => {
        const out: Record<string, unknown> = { key: t.fields.length === fields.length ? fields[i]!.key : freshKey() };
        for (const name of contentMembers) {
          const value = name === "signerId" ? ids.get(role) : name === "documentId" ? f.documentId ?? documents[0]?.id : f[name];
          if (value !== undefined) out[name] = value;
        }
        return out as unknown as BuilderField;
      }),
      texts: { name: t.name, subject: t.subject ?? "", message: t.message ?? "" },
    };
  }

  private publish(): void {
    this.keeper.soon();
    if (!this.closed) this.onChange(this.snapshot());
  }

  private put(next: Content, merge = ""): void {
    if (same(next, this.content)) return;
    this.history.record(this.content, merge);
    this.set(next);
  }

  private set(next: Content): void {
    this.problems = new Map();
    if (this.state === "refused") this.state = "saved";
    this.message = "";
    this.content = this.available(next);
    this.publish();
  }

  /**
   * Removes the documents whose files neither the service nor this page has anymore, because another user removed them.
   * The message to the user contains their names.
   */
  private available(c: Content): Content {
    const ids = new Set([...this.saved.documents.map((d) => d.id), ...this.files.keys()]);
    const lost = c.documents.filter((d) => !ids.has(d.id));
    if (lost.length === 0) return c;
    this.message = t("documentsRemoved", { names: listed(lost.map((d) => d.name)) });
    return { ...c, documents: numbered(c.documents.filter((d) => ids.has(d.id))), fields: c.fields.filter((f) => ids.has(f.documentId)) };
  }

  change(next: readonly BuilderField[], merge = ""): void { this.put({ ...this.content, fields: next }, merge); }

  setTexts(texts: TemplateTexts): void { this.put({ ...this.content, texts }); }

  undo(): void { this.turn(this.history.past, this.history.future); }

  redo(): void { this.turn(this.history.future, this.history.past); }

  private turn(from: Content[], to: Content[]): void {
    const next = from.pop();
    if (!next) return;
    to.push(this.content);
    this.history.split();
    this.set(next);
  }

  readonly parts: Parts = {
    addRecipient: async (r, also = new Map()) => {
      const id = freshKey();
      this.setRecipients([...this.edited(also), { ...r, id }]);
      return id;
    },
    editRecipients: async (edits) => this.setRecipients(this.edited(edits)),
    removeRecipient: async (id) => {
      const gone = everybody(this.content).find((r) => r.id === id);
      this.setRecipients(everybody(this.content).filter((r) => r.id !== id && !(gone && r.witnessFor === gone.role)));
    },
    addDocument: (file) => this.inTurn(() => this.upload(file)),
    renameDocument: async (id, name) => this.setDocuments(this.content.documents.map((d) => (d.id === id ? { ...d, name } : d))),
    moveDocument: async (id, to) => {
      const rest = this.content.documents.filter((d) => d.id !== id);
      this.setDocuments([...rest.slice(0, to), this.content.documents.find((d) => d.id === id)!, ...rest.slice(to)]);
    },
    removeDocument: async (id) => {
      const d = this.content.documents.find((o) => o.id === id)!;
      if (!this.files.has(id)) this.files.set(id, await fetchFile(this, id, d.name));
      this.setDocuments(this.content.documents.filter((o) => o.id !== id));
    },
  };

  private edited(edits: ReadonlyMap<string, RecipientEdit>): (RecipientContent & { id: string })[] {
    const all = everybody(this.content);
    const renamed = new Map([...edits].flatMap(([id, e]) => (e.role === undefined ? [] : [[all.find((r) => r.id === id)?.role, e.role]])));
    return all.map((r) => {
      const next = { ...r, ...edits.get(r.id) };
      return { ...next, name: next.role ?? next.name, witnessFor: next.witnessFor === r.witnessFor ? renamed.get(r.witnessFor) ?? r.witnessFor : next.witnessFor };
    });
  }

  private setRecipients(all: readonly Recipient[]): void {
    const names = all.map((r) => r.role);
    if (names.some((n, i) => names.indexOf(n) !== i)) throw new Error(t("sameRole"));
    const orders = new Map(all.map((r) => [r.role, r.routingOrder]));
    const placed = all.map((r) => (r.witnessFor ? { ...r, routingOrder: orders.get(r.witnessFor) ?? r.routingOrder } : r));
    const ids = new Set(all.map((r) => r.id));
    this.put({ ...this.content, signers: placed.filter((r) => r.kind !== "copy"), copies: placed.filter((r) => r.kind === "copy"), fields: this.content.fields.filter((f) => ids.has(f.signerId)) });
  }

  private setDocuments(documents: readonly DraftDocument[]): void {
    const ids = new Set(documents.map((d) => d.id));
    this.put({ ...this.content, documents: numbered(documents), fields: this.content.fields.filter((f) => ids.has(f.documentId)) });
  }

  /** Saves all changes as one version. It first re-uploads documents that were removed, saved and restored. */
  async save(): Promise<void> {
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
    if (!this.dirty || this.stopped) return;
    this.state = "saving";
    this.publish();
    try {
      for (let d = this.unknown()[0]; d; d = this.unknown()[0]) await this.giveBack(d);
      if (this.dirty) {
        const sent = this.content;
        await this.patch(this.body(sent), sent);
        // Changes made during the request are not saved yet.
        if (same(sent, this.content)) this.content = this.saved;
      }
      this.state = "saved";
      this.message = "";
    } catch (e) {
      this.failed(e);
    }
    this.publish();
  }

  private unknown(): DraftDocument[] {
    const ids = new Set(this.saved.documents.map((d) => d.id));
    return this.content.documents.filter((d) => !ids.has(d.id));
  }

  /**
   * Returns the members that differ from the saved version. The session might not be permitted to change the other
   * members.
   */
  private body(c: Content): Record<string, unknown> {
    const names = new Map(everybody(c).map((r) => [r.id, r.role]));
    const [is, was] = [c.texts, this.saved.texts];
    const roles = everybody(c).map(roleOf);
    const documents = c.documents.map((d) => ({ id: d.id, name: d.name }));
    return {
      ...(same(roles, everybody(this.saved).map(roleOf)) ? {} : { roles }),
      ...(same(documents, this.saved.documents.map((d) => ({ id: d.id, name: d.name }))) ? {} : { documents }),
      ...(same([c.fields, roles, documents], [this.saved.fields, everybody(this.saved).map(roleOf), this.saved.documents.map((d) => ({ id: d.id, name: d.name }))]) ? {} : {
        fields: c.fields.map((f) => {
          const out: Record<string, unknown> = { role: names.get(f.signerId), origin: "top-left" };
          for (const name of contentMembers) if (name !== "signerId" && f[name] !== undefined) out[name] = f[name];
          return out;
        }),
      }),
      ...(is.name === was.name ? {} : { name: is.name }), ...(is.subject === was.subject ? {} : { subject: is.subject || null }), ...(is.message === was.message ? {} : { message: is.message || null }),
    };
  }

  /** Creates a version with the given roles and fields. */
  private async patch(body: unknown, sent: Content, headers: Record<string, string> = {}): Promise<void> {
    let etag = "";
    this.template = await request<Template>(this.at, { method: "PATCH", body, bearer: this.bearer, headers: { "If-Match": this.etag, ...headers }, onHeaders: (h) => { etag = h.get("ETag") ?? ""; } });
    this.etag = etag || this.etag;
    this.saved = this.read(this.template, everybody(sent), sent.fields);
  }

  private async upload(file: File): Promise<void> {
    await this.saveAll();
    if (this.stopped || (this.dirty && this.state !== "saved")) throw new Error(this.message || t("notYetSaved"));
    const [before, unchanged] = [this.content, !this.dirty];
    let made: DraftDocument;
    try {
      made = await this.give(file, file.name);
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 400)) this.failed(e);
      this.publish();
      throw e;
    }
    // The document is added to the current content, because fields and text may have changed during the upload.
    this.history.record(this.content);
    this.content = unchanged && same(this.content, before) ? this.saved : { ...this.content, documents: numbered([...this.content.documents, made]) };
    this.publish();
  }

  /** Uploads a file to the template as its last document. */
  private async give(file: File, name: string): Promise<DraftDocument> {
    const form = new FormData();
    form.append("data", JSON.stringify({ documents: this.saved.documents.map((d) => ({ id: d.id, name: d.name })) }));
    form.append("file", file, name || file.name);
    await this.patch(form, this.saved, passwordHeaders(file));
    const made = this.saved.documents.at(-1)!;
    this.files.set(made.id, file);
    return made;
  }

  /** Re-uploads a document that was removed, saved and restored. */
  private async giveBack(again: DraftDocument): Promise<void> {
    const made = await this.give(this.files.get(again.id)!, again.name);
    const swap = (c: Content): Content => ({
      ...c, documents: c.documents.map((d) => (d.id === again.id ? { ...made, name: d.name, document_order: d.document_order } : d)),
      fields: c.fields.map((f) => (f.documentId === again.id ? { ...f, documentId: made.id } : f)),
    });
    this.content = swap(this.content);
    this.history.map(swap);
  }

  private failed(e: unknown): void {
    this.message = e instanceof Error ? e.message : String(e);
    if (e instanceof NetworkError || (e instanceof ApiError && (e.status >= 500 || e.status === 429))) this.state = "offline";
    else if (e instanceof ApiError && (e.status === 412 || e.code === "template_changed")) {
      this.state = "conflict";
      void this.lookAtTheirs();
    } else if (e instanceof ApiError && e.status === 401) this.state = "ended"; // the content is stored for the next session
    else if (e instanceof ApiError && [404, 409].includes(e.status)) this.state = "over";
    else {
      this.state = "refused";
      if (e instanceof ApiError) this.note(e);
    }
  }

  /** Records which fields or roles the service rejected. */
  private note(e: ApiError): void {
    const out = new Map<string, string>();
    const rest: string[] = [];
    for (const [path, why] of Object.entries(e.errors)) {
      const [, list, i, member] = /^(fields|roles)\[(\d+)\]\.?(.*)$/.exec(path) ?? [];
      const key = list === "fields" ? this.content.fields[Number(i)]?.key : list === "roles" ? everybody(this.content)[Number(i)]?.id : undefined;
      if (key) out.set(key, `${member} ${why.join(", ")}`.trim());
      else rest.push(`${path} ${why.join(", ")}`);
    }
    this.problems = out;
    if (rest.length > 0) this.message = rest.join("; ");
  }

  private async lookAtTheirs(): Promise<void> {
    try {
      let etag = "";
      const template = await request<Template>(this.at, { bearer: this.bearer, onHeaders: (h) => { etag = h.get("ETag") ?? ""; } });
      this.server = { template, etag };
      const theirs = this.read(template, everybody(this.content), []);
      const fields = (c: Content) => JSON.stringify(c.fields.map(({ key: _, ...f }) => f));
      this.theirs = [t("versionSaved", { version: template.version }), ...(same(everybody(theirs).map(roleOf), everybody(this.saved).map(roleOf)) ? [] : [t("changedRoles")]),
        ...(same(theirs.documents, this.saved.documents) ? [] : [t("changedDocuments")]), ...(fields(theirs) === fields(this.saved) ? [] : [t("changedFields")]), ...(same(theirs.texts, this.saved.texts) ? [] : [t("changedTexts")])];
    } catch (e) {
      this.failed(e); // without a connection, the next save compares the fields again
    }
    this.publish();
  }

  resolve(keep: "mine" | "theirs"): void {
    if (!this.server) return;
    const mine = this.content;
    [this.template, this.etag] = [this.server.template, this.server.etag];
    this.saved = this.read(this.template, everybody(mine), []);
    this.message = "";
    if (keep === "theirs") {
      this.history.past.push(mine);
      this.content = this.saved;
    } else this.content = this.available(mine);
    this.server = null;
    this.theirs = [];
    this.state = "saved";
    this.publish();
  }

  forget(): void { this.keeper.forget(); }

  /** Ends editing while the page stays open. If all changes are saved, nothing remains in the browser's storage. */
  close(): void {
    this.closed = true;
    this.keeper.close();
    if (!this.dirty || this.state === "over") this.forget();
  }
}
