import { documentName } from "../ui/documents";
import { fetchFile, type Editor, type Parts, type RecipientContent, type RecipientEdit } from "./editor";
import type { BuilderField, DraftDocument, Recipient } from "./model";

type Edits = [id: string, edit: Record<string, unknown>][];

/**
 * The data of a step, which can be stored across a reload. It excludes the contents of files. The IDs are the ones at
 * the time of the step.
 */
export type StepData =
  | { kind: "added"; id: string; body: Record<string, unknown>; edits: Edits; changed: Edits; fields: readonly BuilderField[] }
  | { kind: "edited"; was: Edits; is: Edits }
  | { kind: "removed"; list: { id: string; body: Record<string, unknown> }[]; fields: readonly BuilderField[] }
  | { kind: "document"; id: string; was: Record<string, unknown>; is: Record<string, unknown> };

/** A change to recipients or documents at the service, which can be undone and redone. */
export interface Step { back(): Promise<void>; again(): Promise<void>; readonly data?: StepData }

/** The methods of the draft editor that the parts use. */
interface Steps extends Pick<Editor, "at" | "bearer" | "isPrepared" | "snapshot"> {
  act<T>(method: string, path: string, body?: unknown): Promise<T>;
  done(step: Step): void;
  current(id: string): string;
  becomes(old: string, made: string): void;
  putBack(fields: readonly BuilderField[]): void;
}

const members = ["name", "email", "phone", "routingOrder", "authMethod", "role", "kind", "host", "language", "notify", "allowDelegation", "witnessFor"] as const satisfies readonly (keyof RecipientContent)[];

/**
 * Returns the request body for a recipient. A witness belongs to the step of the witnessed signer, and a copy recipient
 * has no authentication.
 */
function bodyOf(r: RecipientContent): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name of members) if (r[name] !== undefined && r[name] !== null) out[name] = r[name];
  if (r.witnessFor) delete out.routingOrder;
  if (r.kind === "copy") for (const name of ["phone", "authMethod", "allowDelegation"]) delete out[name];
  return out;
}

/** Returns the current values of the members that an edit changes, or null for those without a value. */
function before(r: Recipient, edit: RecipientEdit): Record<string, unknown> {
  return Object.fromEntries((Object.keys(edit) as (keyof RecipientEdit)[]).map((name) => [name, r[name] ?? null]));
}

const patchOf = (edit: RecipientEdit): Record<string, unknown> => Object.fromEntries(Object.entries(edit).map(([name, value]) => [name, value ?? null]));

/**
 * The recipients and documents of a draft. Each change is saved immediately and recorded together with the change
 * that reverts it.
 */
export class DraftParts implements Parts {
  constructor(private readonly editor: Steps) {}

  private recipients(): Recipient[] {
    const { draft } = this.editor.snapshot();
    return [...draft.signers, ...(draft.copies ?? [])];
  }

  private async patch(edits: Edits): Promise<void> {
    for (const [id, edit] of edits) await this.editor.act("PATCH", `/signers/${this.editor.current(id)}`, edit);
  }

  private async make(body: Record<string, unknown>): Promise<string> {
    return (await this.editor.act<{ id: string }>("POST", "/signers", body)).id;
  }

  /** Returns the step for the given data, which may have been stored before a reload. */
  step(d: StepData): Step {
    switch (d.kind) {
      case "added": return {
        data: d,
        back: async () => {
          const now = this.editor.current(d.id);
          d.fields = this.editor.snapshot().fields.filter((f) => f.signerId === now);
          await this.editor.act("DELETE", `/signers/${now}`);
          await this.patch(d.changed);
        },
        again: async () => {
          await this.patch(d.edits);
          this.editor.becomes(this.editor.current(d.id), await this.make(d.body));
          this.editor.putBack(d.fields);
        },
      };
      case "edited": return { data: d, back: () => this.patch(d.was), again: () => this.patch(d.is) };
      case "removed": return {
        data: d,
        back: async () => {
          for (const r of d.list) this.editor.becomes(this.editor.current(r.id), await this.make(r.body));
          this.editor.putBack(d.fields);
        },
        again: async () => {
          const now = d.list.map((r) => this.editor.current(r.id));
          d.fields = this.editor.snapshot().fields.filter((f) => now.includes(f.signerId));
          for (const one of [...now].reverse()) await this.editor.act("DELETE", `/signers/${one}`);
        },
      };
      case "document": return { data: d, back: () => this.patchFile(d.id, d.was), again: () => this.patchFile(d.id, d.is) };
    }
  }

  async addRecipient(r: RecipientContent, also: ReadonlyMap<string, RecipientEdit> = new Map()): Promise<string> {
    const changed: Edits = [...also].map(([id, edit]) => [id, before(this.recipients().find((o) => o.id === id)!, edit)]);
    const edits: Edits = [...also].map(([id, edit]) => [id, patchOf(edit)]);
    await this.patch(edits);
    const id = await this.make(bodyOf(r));
    this.editor.done(this.step({ kind: "added", id, body: bodyOf(r), edits, changed, fields: [] }));
    return id;
  }

  async editRecipients(edits: ReadonlyMap<string, RecipientEdit>): Promise<void> {
    const all = this.recipients();
    const was: Edits = [...edits].map(([id, edit]) => [id, before(all.find((r) => r.id === id)!, edit)]);
    const is: Edits = [...edits].map(([id, edit]) => [id, patchOf(edit)]);
    await this.patch(is);
    this.editor.done(this.step({ kind: "edited", was, is }));
  }

  async removeRecipient(id: string): Promise<void> {
    const all = this.recipients();
    const gone = all.find((r) => r.id === id)!;
    // The witnesses of a removed recipient are removed as well.
    const witnesses = gone.role ? all.filter((r) => r.witnessFor === gone.role) : [];
    const step = this.step({ kind: "removed", list: [gone, ...witnesses].map((r) => ({ id: r.id, body: bodyOf(r) })), fields: [] });
    await step.again();
    this.editor.done(step);
  }

  /**
   * Uploads a file to the draft, and then sets the name of the document. If only the second request fails, the document
   * remains and can be renamed. Repeating the upload would add the document a second time.
   */
  private async upload(file: File): Promise<string> {
    const { documentId } = await this.editor.act<{ documentId: string }>("POST", "/document", file);
    await this.editor.act("PATCH", `/documents/${documentId}`, { name: documentName(file) }).catch(() => undefined);
    return documentId;
  }

  async addDocument(file: File): Promise<void> {
    const id = await this.upload(file);
    let fields: BuilderField[] = [];
    this.editor.done({
      back: async () => {
        const now = this.editor.current(id);
        fields = this.editor.snapshot().fields.filter((f) => f.documentId === now);
        await this.editor.act("DELETE", `/documents/${now}`);
      },
      again: async () => {
        this.editor.becomes(this.editor.current(id), await this.upload(file));
        this.editor.putBack(fields);
      },
    });
  }

  private async patchFile(id: string, edit: Record<string, unknown>): Promise<void> {
    await this.editor.act("PATCH", `/documents/${this.editor.current(id)}`, edit);
  }

  private async patchDocument(id: string, was: Record<string, unknown>, is: Record<string, unknown>): Promise<void> {
    await this.patchFile(id, is);
    this.editor.done(this.step({ kind: "document", id, was, is }));
  }

  private document(id: string): DraftDocument {
    return this.editor.snapshot().draft.documents.find((d) => d.id === id)!;
  }

  renameDocument(id: string, name: string): Promise<void> {
    return this.patchDocument(id, { name: this.document(id).name }, { name });
  }

  moveDocument(id: string, to: number): Promise<void> {
    return this.patchDocument(id, { document_order: this.document(id).document_order }, { document_order: to + 1 });
  }

  async removeDocument(id: string): Promise<void> {
    const d = this.document(id);
    const file = await fetchFile(this.editor, id, d.name);
    let fields: BuilderField[] = [];
    const remove = async () => {
      const now = this.editor.current(id);
      fields = this.editor.snapshot().fields.filter((f) => f.documentId === now);
      await this.editor.act("DELETE", `/documents/${now}`);
    };
    await remove();
    this.editor.done({
      back: async () => {
        const made = await this.upload(file);
        this.editor.becomes(this.editor.current(id), made);
        await this.editor.act("PATCH", `/documents/${made}`, { name: d.name, document_order: d.document_order });
        this.editor.putBack(fields);
      },
      again: remove,
    });
  }
}
