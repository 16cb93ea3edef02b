import { useEffect, useRef, useState } from "preact/hooks";
import { newKey, request, ApiError, NetworkError, type RequestOptions } from "../ui/http";
import { consoleToken, consoleTokenKey } from "../ui/session";
import type { PasskeyAnswer } from "./passkeys";
import type { Returned } from "./provider";
import { t, type TextKey } from "./texts";

/** The roles in ascending order. Each role includes the permissions of those before it. */
export const roles = ["viewer", "support", "sender", "admin"] as const;
export type Role = (typeof roles)[number];

export interface Identity {
  user: { id: string; email: string; name: string; role: Role } | null;
  app: { id: string; name: string; plan: string; tenants: string[] };
  /** Reports whether a second factor is required but missing. */
  mustEnrol: boolean;
  /** The sign-in method, which is a password or an OpenID provider. It is null for an application's token. */
  signIn: SignIn | null;
}
type SignIn = "password" | "provider";
/** The available sign-in methods other than the password. */
export interface SignInOptions { provider: { name: string } | null; passkeys: boolean }

export interface Signer { id: string; name: string; email: string; phone?: string | null; /** false if the service sends the recipient no email. */ notify?: boolean; routingOrder: number; status: string; authMethod: string; signedAt: string | null; previous?: PreviousSigner[];
  /**
   * The kind of a recipient other than an ordinary signer. For in_person, host is the person who receives the link and
   * hands over the device.
   */
  kind?: "approver" | "viewer" | "in_person"; host?: { name: string; email: string };
  role?: string; /** The role whose signature is witnessed. */ witnessFor?: string;
}
/** A recipient of copies, who does not have to act. */
export interface CopyRecipient { id: string; name: string; email: string; routingOrder: number; status: "pending" | "sent"; previous?: PreviousSigner[] }
/** A replaced signer. */
export interface PreviousSigner { name: string; email: string; until: string; reason: string | null }
export interface Document { id: string; kind: "original" | "sealed"; name: string; document_order: number; size: number; pageCount: number; sha256: string; purgeStatus: string }
export interface Field { id: string; name?: string; label?: string }
export type Activity = Pick<Event, "event" | "timestamp" | "actor" | "detail">;
export interface Event { id: string; event: string; timestamp: string; actor: string; ip: string | null; detail: Record<string, unknown> | null; seq: number }
export interface Mail { signerId: string; kind: string; attempts: number; createdAt: string; sentAt: string | null; failedAt: string | null; error: string | null }
export interface Delivery {
  id: string; webhookId: string; eventId: string; envelopeId: string | null; event: string; status: "pending" | "delivered" | "failed";
  attempts: number; resends: number; createdAt: string; deliveredAt: string | null; failedAt: string | null; payload?: unknown; attemptLog?: Attempt[];
  webhookUrl?: string; envelopeSubject?: string;
}
export interface Attempt { number: number; at: string; status: number | null; latencyMs: number; error: string; body: string }
export type SealingCode = "original_missing" | "original_changed" | "document_refused" | "audit_chain_broken" | "sealing_failing";
export interface Sealing { code: SealingCode; message: string; since: string }
export interface Envelope {
  id: string; tenantId: string; status: string; subject: string | null; createdBy: string; createdAt: string; expiresAt: string | null; completedAt: string | null;
  labels?: string[]; externalId?: string; message?: string; reminderHours?: number;
  /** The console user who created or sent the envelope, or null if an application did so. */
  ownerId: string | null;
  /** The names of the owner and of the users named in the events. */
  users: { id: string; name: string }[];
  /** The newest event. It is included only in lists, and is null for an archived envelope. */
  lastActivity?: Activity | null;
  sealingProblem?: Sealing;
  signers: Signer[]; copies?: CopyRecipient[]; documents: Document[]; fields: Field[]; auditLog: Event[]; mails?: Mail[]; deliveries?: Delivery[]; undelivered?: string[];
}
export interface User { id: string; email: string; name: string; role: Role; createdAt: string; signIn: SignIn; secondFactor: boolean; seenAt: string | null }
export interface Webhook {
  id: string; url: string; events: string[]; active: boolean; createdAt: string; signedWith: string; failingSince: string | null; lastError: string;
  disabledAt: string | null; disabledReason: string; previousSecretUntil: string | null;
}
/** A page of a list. The member nextCursor is null on the last page. */
export interface Paged<T> { data: T[]; nextCursor: string | null }

/** Calls the console API for the signed-in user. The token is stored until the tab is closed. */
export class Client {
  private readonly renewed = new Set<() => void>();

  /** onGone is called when the session ends. Its argument reports whether the session has expired. */
  constructor(private readonly onGone: (ended: boolean) => void) {}

  /** Calls a function after each sign-in. Returns a function that stops these calls. */
  onRenewed(call: () => void): () => void {
    this.renewed.add(call);
    return () => { this.renewed.delete(call); };
  }

  private keep(token: string): void {
    sessionStorage.setItem(consoleTokenKey, token);
    for (const call of this.renewed) call();
  }

  get token(): string | null {
    return consoleToken();
  }

  async login(email: string, password: string, second: { code?: string; passkey?: PasskeyAnswer } = {}): Promise<Identity> {
    const answer = await request<Identity & { access_token: string }>("/v1/console/login", { body: { email, password, ...second } });
    this.keep(answer.access_token);
    return answer;
  }

  /** Completes a sign-in with the provider's response, and ends the previous session. */
  async complete(returned: Returned): Promise<Identity> {
    const before = this.token;
    const answer = await request<Identity & { access_token: string }>("/v1/console/provider/complete", { body: returned });
    this.keep(answer.access_token);
    if (before) void request("/v1/console/logout", { method: "POST", bearer: before, keepalive: true }).catch(() => undefined);
    return answer;
  }

  /** Ends the session, including at the service. */
  logout(): void {
    void request("/v1/console/logout", { method: "POST", bearer: this.token ?? "", keepalive: true }).catch(() => undefined);
    this.forget(false);
  }

  /** Reports that the service no longer accepts the session. */
  sessionEnded(): void {
    this.forget(true);
  }

  private forget(ended: boolean): void {
    sessionStorage.removeItem(consoleTokenKey);
    this.onGone(ended);
  }

  /** Calls the console API. If the path begins with a slash, the operation is also available to applications. */
  async call<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const bearer = this.token;
    if (!bearer) throw new ApiError(401, "unauthorized", t("notDoneEnded"), 0, {}, {}); // requests fail until the user has signed in again
    try {
      return await request<T>(path.startsWith("/") ? path : `/v1/console/${path}`, { ...options, bearer });
    } catch (e) {
      if (e instanceof ApiError && e.status === 401 && bearer === this.token) this.forget(true);
      throw e;
    }
  }

  /** Fetches a file. */
  private async file(path: string, accept = "*/*"): Promise<Response> {
    let res: Response;
    try {
      res = await fetch(path.startsWith("/") ? path : `/v1/console/${path}`, { headers: { Authorization: `Bearer ${this.token}`, Accept: accept } });
    } catch {
      throw new NetworkError();
    }
    if (res.status === 401) this.forget(true);
    if (!res.ok) throw new Error(res.status === 401 ? t("notDoneEnded") : t("fileNotFetched", { status: String(res.status) }));
    return res;
  }

  /** Returns the content of a file. */
  async bytes(path: string): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await (await this.file(path)).arrayBuffer());
  }

  /** Fetches a file and saves it as a download, because a plain link cannot send the token. */
  async download(path: string, name: string, accept = "*/*"): Promise<void> {
    const res = await this.file(path, accept);
    const url = URL.createObjectURL(await res.blob());
    // The extended parameter contains the full name (RFC 6266).
    const given = /filename\*=UTF-8''([^;]+)/.exec(res.headers.get("Content-Disposition") ?? "")?.[1];
    const link = Object.assign(document.createElement("a"), { href: url, download: given ? decodeURIComponent(given) : name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}

interface Suggestion { name: string; email: string; phone: string | null }

/**
 * Returns a function that finds recent recipients and contacts for an envelope of a workspace. It searches by part of a
 * name or address.
 */
export const recipientsOf = (client: Client) => async (search: string, tenantId: string): Promise<Suggestion[]> => (await client.call<{ data: Suggestion[] }>(`recipients?${query({ search, tenantId })}`)).data;

/** Reports whether the service rejected the key because it was used for another request. */
const usedKey = (e: ApiError): boolean => e.code === "idempotency_key_reused" || e.code === "idempotency_interrupted";

/**
 * Performs an action with an Idempotency-Key. The same key is used until the action succeeds, so that an action whose
 * response was lost can be retried without being performed twice.
 */
export function useKey(): <T>(work: (key: string) => Promise<T>) => Promise<T> {
  const key = useRef(newKey());
  return async (work) => {
    try {
      const done = await work(key.current);
      key.current = newKey();
      return done;
    } catch (e) {
      // If the key was rejected, the user decides whether to repeat the action. After any other rejection, the same key
      // can be used again, even with another body.
      if (e instanceof ApiError && usedKey(e)) key.current = newKey();
      throw e;
    }
  };
}

/** The messages for common errors. For all other errors, the service's English message is displayed. */
const errorKeys: Partial<Record<string, TextKey>> = {
  unauthorized: "notDoneEnded", token_expired: "notDoneEnded",
  envelope_terminal: "closedMeanwhile", envelope_sealing: "sealingMeanwhile", signer_not_awaited: "answeredMeanwhile", already_signed: "answeredMeanwhile", envelope_deadline_passed: "deadlineOver",
  plan_limit_reached: "planLimit", rate_limited: "tooFast", reminder_rate_limited: "remindedLately", resend_rate_limited: "invitedOften",
  invalid_credentials: "wrongCredentials", invalid_passkey: "wrongPasskey", unavailable: "unavailable", sign_in_expired: "signInExpired", sign_in_refused: "signInRefused", provider_unreachable: "providerUnreachable",
};

/** Returns the message to display for an error. */
export function errorText(e: unknown): string {
  if (e instanceof NetworkError) return t("unreachable");
  if (e instanceof ApiError && usedKey(e)) return t("maybeDone");
  const key = e instanceof ApiError && errorKeys[e.code];
  if (key) return t(key);
  // The service's message names only the first invalid field.
  if (e instanceof ApiError) return Object.entries(e.errors).map(([k, v]) => `${k} ${v.join(", ")}`).join("; ") || e.message;
  return e instanceof Error ? e.message : String(e);
}

/** Marks the background requests of a page, which do not prevent an idle session from expiring. */
export const background = (): RequestOptions => ({ headers: { "Countersign-Background": "1" } });

/** The events to which endpoints can subscribe. */
export const webhookEvents = [
  "envelope.created", "envelope.sent", "envelope.completed", "envelope.declined", "envelope.voided", "envelope.expired",
  "signer.viewed", "signer.signed", "signer.declined", "signer.otp_failed",
  "invitation.failed", "reminder.sent", "signer.replaced", "signer.delegated", "copy.sent", "link.issued", "envelope.updated",
  "document.timestamped", "document.purged", "bulk.completed",
];

export interface Loaded<T> { data: T | null; problem: string; reload: () => void; /** The data belongs to another path; the data for the current path is being loaded. */ stale: boolean }

/** Loads data, and reloads it when its path changes and at the given interval in milliseconds. */
export function useLoad<T>(client: Client, path: string | null, every = 0): Loaded<T> {
  const [{ data, from }, setLoaded] = useState<{ data: T | null; from: string | null }>({ data: null, from: null });
  const [problem, setProblem] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (path === null) return;
    let stale = false;
    const load = (options: RequestOptions) => client.call<T>(path, options).then(
      (d) => { if (!stale) { setLoaded({ data: d, from: path }); setProblem(""); } },
      (e: unknown) => { if (!stale && !(e instanceof ApiError && e.status === 401)) setProblem(errorText(e)); },
    );
    if (client.token) void load({});
    const end = client.onRenewed(() => void load({}));
    const timer = every ? setInterval(() => { if (client.token && document.visibilityState === "visible") void load(background()); }, every) : 0;
    return () => {
      stale = true;
      end();
      clearInterval(timer);
    };
  }, [path, every, turn]);
  return { data, problem, reload: () => setTurn((n) => n + 1), stale: from !== path };
}

/** Loads a complete list. */
export function useList<T>(client: Client, path: string, every = 0): Loaded<T[]> {
  const { data, ...rest } = useLoad<{ data: T[] }>(client, path, every);
  return { ...rest, data: data && data.data };
}

export const query = (values: Record<string, string | number | undefined>): string => {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(values)) if (v !== undefined && v !== "") q.set(k, String(v));
  return q.toString();
};

export { formatTime } from "./texts";
export const hasRole = (who: Identity, least: Role): boolean => !who.user || roles.indexOf(who.user.role) >= roles.indexOf(least);
