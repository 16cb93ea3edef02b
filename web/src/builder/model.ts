/** The data of the builder, which is a draft in the format of the API. */

import type { Condition } from "../sign/conditions";
import type { FieldType } from "../sign/model";
import { t, type TextKey } from "./texts";

export type { FieldType } from "../sign/model";

export type AuthMethod = "none" | "email_otp" | "sms_otp";

export type RecipientKind = "signer" | "approver" | "viewer" | "in_person" | "copy";

/** The text for each kind of recipient. */
export const recipientKinds: Record<RecipientKind, TextKey> = {
  signer: "kindSigner", approver: "kindApprover", viewer: "kindViewer", in_person: "kindInPerson", copy: "kindCopy",
};

export interface Recipient {
  id: string;
  name: string;
  email: string;
  phone: string | null;
  routingOrder: number;
  authMethod: AuthMethod;
  role?: string;
  kind?: RecipientKind;
  host?: { name: string; email: string };
  language?: string;
  notify?: boolean;
  allowDelegation?: boolean;
  /** The role of the signer whose signature a witness confirms. */
  witnessFor?: string;
}

/** A warning from the service before a draft is sent. */
interface DocumentWarning { code: string; message: string; page?: number; field?: string }

export interface FoundWarning { document: DraftDocument; warning: DocumentWarning; field?: FieldContent }

export interface DraftDocument {
  id: string;
  kind: "original" | "sealed";
  name: string;
  document_order: number;
  pageCount: number;
  size: number;
  warnings?: DocumentWarning[];
  prepared?: { changes: { kind: string; page: number; count: number; detail: string | null }[] } | null;
}

interface Validation { pattern?: string; min?: string | number; max?: string | number; message?: string }

/**
 * The properties of a field in the API, without its ID. Positions are in points from the upper left corner of the
 * displayed page.
 */
export interface FieldContent {
  documentId: string;
  signerId: string;
  type: FieldType;
  page: number;
  x: number;
  y: number;
  w: number;
  h: number;
  required: boolean;
  name?: string;
  label?: string;
  placeholder?: string;
  defaultValue?: string;
  readOnly?: boolean;
  fontSize?: number;
  align?: "left" | "center" | "right";
  maxLength?: number;
  multiline?: boolean;
  comb?: boolean;
  format?: string;
  options?: string[];
  group?: string;
  option?: string;
  validation?: Validation;
  condition?: Condition;
}

export const contentMembers = [
  "documentId", "signerId", "type", "page", "x", "y", "w", "h", "required", "name", "label", "placeholder", "defaultValue", "readOnly", "fontSize", "align",
  "maxLength", "multiline", "comb", "format", "options", "group", "option", "validation", "condition",
] as const satisfies readonly (keyof FieldContent)[];

/**
 * A field in the builder. Its key is stable, but the service assigns a new ID each time the field is created again.
 */
export interface BuilderField extends FieldContent { key: string }

export interface Draft {
  id: string;
  tenantId: string;
  status: string;
  subject: string | null;
  message?: string;
  createdAt?: string;
  expiresAt?: string | null;
  reminderHours?: number;
  signers: Recipient[];
  copies?: Recipient[];
  documents: DraftDocument[];
  fields: (FieldContent & { id: string; origin: "top-left" | "bottom-left" })[];
}

/** The features that the session permits. */
export interface Features { recipients: boolean; documents: boolean; send: boolean; fieldTypes: FieldType[] }

interface Kind { name: TextKey; w: number; h: number; content?: Partial<FieldContent> }

/** The field types in the order of the palette, with the size of a new field in points. */
export const kinds: Record<FieldType, Kind> = {
  signature: { name: "signature", w: 160, h: 40 },
  initial: { name: "initial", w: 60, h: 30 },
  signed_date: { name: "signedDate", w: 100, h: 20 },
  name: { name: "nameField", w: 160, h: 20 },
  email: { name: "emailField", w: 160, h: 20 },
  company: { name: "company", w: 160, h: 20, content: { required: false } },
  title: { name: "title", w: 140, h: 20, content: { required: false } },
  text: { name: "text", w: 160, h: 20 },
  number: { name: "number", w: 80, h: 20 },
  date: { name: "date", w: 100, h: 20 },
  checkbox: { name: "checkbox", w: 14, h: 14, content: { required: false } },
  radio: { name: "radio", w: 14, h: 14 },
  select: { name: "select", w: 140, h: 20 },
  attachment: { name: "attachment", w: 160, h: 24 },
  stamp: { name: "stamp", w: 90, h: 90 },
};

export const typeName = (type: FieldType): string => t(kinds[type].name);

/** Returns the properties of a new field of a type, except its position. */
export const freshContent = (type: FieldType): Partial<FieldContent> => (type === "select" ? { options: [t("firstChoice"), t("secondChoice")] } : kinds[type].content ?? {});

export const fieldTypes = Object.keys(kinds) as FieldType[];

/**
 * Reports whether values of the type are text that the recipient enters, so that properties such as font size and
 * length apply.
 */
export const isWritten = (t: FieldType): boolean => ["text", "name", "email", "company", "title", "number", "date"].includes(t);

/** Returns the color for a recipient's position. The colors are distinct, and text on them is legible. */
export const colourOf = (recipients: readonly Recipient[], id: string): string => {
  const i = recipients.findIndex((r) => r.id === id);
  return `c${i < 0 ? "x" : i % 8}`;
};

/** Returns an unused name for a field of the type, such as signature_1 or signature_2. */
export function freshName(type: FieldType, fields: readonly FieldContent[]): string {
  const taken = new Set(fields.map((f) => f.name));
  let n = 1;
  while (taken.has(`${type}_${n}`)) n++;
  return `${type}_${n}`;
}

/** Returns the name of an unused group of choices. */
export function freshGroup(fields: readonly FieldContent[]): string {
  const taken = new Set(fields.map((f) => f.group));
  let n = 1;
  while (taken.has(`choice_${n}`)) n++;
  return `choice_${n}`;
}

const loaded = Date.now().toString(36); // distinguishes new keys from those stored before a reload
let made = 0;
export const freshKey = (): string => `k${loaded}-${++made}`;

export const round = (n: number): number => Math.round(n * 100) / 100;

/** Returns a name of a field for display. */
export const describe = (f: FieldContent): string => f.label || (f.type === "radio" ? `${f.group}: ${f.option}` : f.name) || typeName(f.type);
