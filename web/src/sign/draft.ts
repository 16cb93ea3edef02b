import { newKey } from "../ui/http";
import { isPicture, type Context, type Values } from "./model";

/**
 * The entries of a signer before signing. They are stored in the tab, where they survive a reload. After the tab is
 * closed, the device retains them for one day. They are encrypted with a key that the service returns only to the
 * verified signer.
 */
export interface Draft {
  values: Values;
  /** The day of each date field, as YYYY-MM-DD. */
  days: Record<string, string>;
  read: string[];
  /** The fields of other signers whose entries were displayed on the pages that count as read. */
  seen: string[];
  signature: AdoptedSignature | null;
  initials: AdoptedSignature | null;
  reason: string;
  /** Identifies one act of signing, so that a repeated request does not sign twice. */
  signKey: string;
}

/** An adopted signature: a PNG image as a data URL, and the typeface if the signature was typed. */
export interface AdoptedSignature { picture: string; fontLabel: string | null }

const prefix = "countersign:draft:";
const lifetime = 24 * 3600 * 1000; // in milliseconds
const name = (c: Pick<Context, "envelopeId" | "signerId">) => `${prefix}${c.envelopeId}:${c.signerId}`;

export function emptyDraft(): Draft {
  return { values: {}, days: {}, read: [], seen: [], signature: null, initials: null, reason: "", signKey: newKey() };
}

interface Packed { at: number; draft: Draft; pictures: string[] }

/** An image that is used in several fields is stored only once. */
function pack(c: Context, draft: Draft): Packed {
  const pictures: string[] = [];
  const put = (picture: string) => {
    let at = pictures.indexOf(picture);
    if (at < 0) at = pictures.push(picture) - 1;
    return String(at);
  };
  const drawn = new Set(c.fields.filter((f) => isPicture(f.type)).map((f) => f.id));
  const values = Object.fromEntries(Object.entries(draft.values).map(([id, v]) => [id, v && drawn.has(id) ? put(v) : v]));
  return { at: Date.now(), draft: { ...draft, values }, pictures };
}

function unpack(c: Context, kept: Packed | null): Draft | null {
  if (!kept?.draft || !(Date.now() - kept.at < lifetime)) return null;
  const types = new Map(c.fields.map((f) => [f.id, f.type]));
  const values: Record<string, string> = {};
  for (const [id, v] of Object.entries(kept.draft.values ?? {})) {
    const type = types.get(id);
    if (type) values[id] = v && isPicture(type) ? kept.pictures[Number(v)] ?? "" : v;
  }
  return { ...emptyDraft(), ...kept.draft, values };
}

/** Returns the stored draft, or null if there is none. */
export async function loadDraft(c: Context): Promise<Draft | null> {
  return fromTab(c) ?? (await fromDevice(c));
}

function fromTab(c: Context): Draft | null {
  try {
    return unpack(c, JSON.parse(sessionStorage.getItem(name(c)) ?? "null") as Packed | null);
  } catch {
    return null;
  }
}

async function fromDevice(c: Context): Promise<Draft | null> {
  try {
    sweep();
    const kept = JSON.parse(localStorage.getItem(name(c)) ?? "null") as Encrypted | null;
    const key = kept && (await keyOf(c));
    if (!key) return null;
    const plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv: bytes(kept.iv), additionalData: label(c) }, key, bytes(kept.data));
    return unpack(c, JSON.parse(new TextDecoder().decode(plain)) as Packed);
  } catch {
    return null; // the key or the format differs, so the signer starts over
  }
}

export function saveDraft(c: Context, d: Draft): void {
  const packed = JSON.stringify(pack(c, d));
  try {
    sessionStorage.setItem(name(c), packed);
  } catch {
    // Storage is full or not accessible to this page. Signing also works without storage.
  }
  last = { c, packed };
  writing ??= writeDown().finally(() => { writing = null; });
}

let last: { c: Context; packed: string } | null = null;
let writing: Promise<void> | null = null;

/** Encrypts and stores the newest draft. Entries made during one iteration are stored in the next. */
async function writeDown(): Promise<void> {
  for (let now = last; now; now = last) {
    try {
      const key = await keyOf(now.c);
      if (!key) return;
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const data = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: label(now.c) }, key, new TextEncoder().encode(now.packed));
      if (last === null) return; // cleared in the meantime
      localStorage.setItem(name(now.c), JSON.stringify({ at: Date.now(), iv: text(iv), data: text(new Uint8Array(data)) } satisfies Encrypted));
    } catch {
      // Storage is not accessible.
    }
    if (last === now) last = null;
  }
}

export function clearDraft(c: Context): void {
  last = null;
  try {
    sessionStorage.removeItem(name(c));
    localStorage.removeItem(name(c));
  } catch {
    // Storage is not accessible.
  }
}

interface Encrypted { at: number; iv: string; data: string }

/** Removes all drafts older than one day, including other signers' drafts. */
function sweep(): void {
  for (let i = localStorage.length - 1; i >= 0; i--) {
    const key = localStorage.key(i)!;
    if (!key.startsWith(prefix)) continue;
    let at = 0;
    try {
      at = (JSON.parse(localStorage.getItem(key)!) as Encrypted).at;
    } catch {
      // The entry is not in this page's format.
    }
    if (!(Date.now() - at < lifetime)) localStorage.removeItem(key);
  }
}

const label = (c: Context) => new TextEncoder().encode(name(c));

/**
 * Returns the draft key, or null if the signer is not verified or the page is not loaded over a secure connection.
 */
async function keyOf(c: Context): Promise<CryptoKey | null> {
  if (!c.draftKey || !crypto.subtle) return null;
  return crypto.subtle.importKey("raw", bytes(c.draftKey.replaceAll("-", "+").replaceAll("_", "/")), "AES-GCM", false, ["encrypt", "decrypt"]);
}

const bytes = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (x) => x.charCodeAt(0));

function text(b: Uint8Array): string {
  let out = "";
  for (let i = 0; i < b.length; i += 8192) out += String.fromCharCode(...b.subarray(i, i + 8192));
  return btoa(out);
}
