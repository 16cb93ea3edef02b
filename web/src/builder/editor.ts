/** The object that the builder edits: a draft or a template. */
import type { BuilderField, Draft, Recipient } from "./model";
import { t } from "./texts";

/**
 * The state of saving. In the state "ended", the session has expired, but another session can continue. In the state
 * "over", the draft can no longer be edited. In the state "sent", this page has sent the envelope.
 */
export type SaveState = "saved" | "saving" | "unsaved" | "offline" | "conflict" | "refused" | "ended" | "over" | "sent";

export interface Snapshot {
  draft: Draft;
  fields: readonly BuilderField[];
  state: SaveState;
  /** The problem with each field, by key. */
  problems: ReadonlyMap<string, string>;
  /** The service's message about something other than a field. */
  message: string;
  canUndo: boolean;
  canRedo: boolean;
  /** The other user's changes during a conflict. */
  theirs: string[];
  /** Whether the browser keeps unsaved work when the page is reloaded. */
  kept: boolean;
  /** Whether unsaved work was restored after a reload. */
  restored: boolean;
}

/** A recipient without an ID, or the changed members of a recipient. */
export type RecipientContent = Omit<Recipient, "id">;
export type RecipientEdit = Partial<RecipientContent>;

/**
 * Recipients and documents. Each method is one step of the history. A rejected call throws an error with the reason.
 */
export interface Parts {
  addRecipient(r: RecipientContent, also?: ReadonlyMap<string, RecipientEdit>): Promise<string>;
  editRecipients(edits: ReadonlyMap<string, RecipientEdit>): Promise<void>;
  removeRecipient(id: string): Promise<void>;
  addDocument(file: File): Promise<void>;
  renameDocument(id: string, name: string): Promise<void>;
  /** Moves a document to another position, which is counted from 0. */
  moveDocument(id: string, to: number): Promise<void>;
  removeDocument(id: string): Promise<void>;
}

/** The name, subject and message of a template. */
export interface TemplateTexts { name: string; subject: string; message: string }

export interface Editor {
  readonly parts: Parts;
  readonly bearer: string;
  /** The path of the edited draft or template. */
  readonly at: string;
  /** Whether there are changes that the service does not have yet. */
  readonly dirty: boolean;
  /**
   * The name, subject and message of a template. They are undefined for a draft, because its sender enters them in the
   * send dialog.
   */
  readonly texts?: TemplateTexts;
  setTexts?(texts: TemplateTexts): void;
  /** Whether recipients see a file that the service has prepared instead of the uploaded file. */
  isPrepared(documentId: string): boolean;
  snapshot(): Snapshot;
  change(next: readonly BuilderField[], merge?: string): void;
  undo(): void;
  redo(): void;
  save(): Promise<void>;
  resolve(keep: "mine" | "theirs"): void;
  /** Deletes the work in the browser's storage, because the user has chosen to discard it. */
  forget(): void;
  close(): void;
}

/** Returns the path of a document's file. */
const fileOf = (at: string, prepared: boolean, documentId: string): string =>
  `${at}/document?kind=${prepared ? "prepared" : "original"}&documentId=${documentId}`;

/** Downloads a document's file, so that undo can upload it again after its removal. */
export async function fetchFile(editor: Pick<Editor, "at" | "bearer" | "isPrepared">, documentId: string, name: string): Promise<File> {
  const res = await fetch(fileOf(editor.at, editor.isPrepared(documentId), documentId), { headers: { Authorization: `Bearer ${editor.bearer}` } });
  if (!res.ok) throw new Error(t("documentUnread"));
  return new File([await res.blob()], name || "document.pdf", { type: "application/pdf" });
}
