import type { components } from "./schema.js";

/**
 * The body of a webhook. For the test event ("ping") of the console, only the members event, id and createdAt are set.
 */
export type WebhookEvent = components["schemas"]["Notice"];

/** The delivery is not from the service, or is too old. */
export class SignatureError extends Error {
  override readonly name = "SignatureError";
}

/** The maximum age of a delivery, and the maximum time by which the sender's clock may be ahead, in seconds. */
export const tolerance = 300;

type HeadersLike = Headers | Record<string, string | string[] | undefined>;

const encoder = new TextEncoder();

/**
 * Verifies a delivery by its Standard Webhooks headers and parses it. The body must be the unchanged body of the
 * request. The delivery must be signed with one of the secrets. While a secret is being replaced, pass both secrets. The
 * service may repeat a delivery, and the event's id is the same each time.
 */
export async function verify(body: string | Uint8Array, headers: HeadersLike, secrets: string | readonly string[], now = Date.now()): Promise<WebhookEvent> {
  const id = header(headers, "webhook-id"), stamp = header(headers, "webhook-timestamp"), signatures = header(headers, "webhook-signature");
  if (!id || !stamp || !/^\d{1,12}$/.test(stamp) || !signatures) throw new SignatureError("the delivery has no valid signature");
  if (Math.abs(now / 1000 - Number(stamp)) > tolerance) throw new SignatureError("the timestamp of the delivery is too old or in the future");
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const signed = concat(encoder.encode(`${id}.${stamp}.`), bytes);
  let valid = false;
  for (const signature of signatures.split(" ")) {
    const given = signature.startsWith("v1,") ? fromBase64(signature.slice(3)) : null;
    for (const secret of given ? list(secrets) : []) if (await matches(standardKey(secret), signed, given!)) valid = true;
  }
  if (!valid) throw new SignatureError("the delivery has no valid signature");
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as WebhookEvent;
}

/**
 * Verifies the X-Service-Signature header. This header covers only the body, so it does not prove the age of the
 * delivery. Prefer verify.
 */
export async function verifySignature(body: string | Uint8Array, signature: string, secrets: string | readonly string[]): Promise<boolean> {
  const match = /^sha256=([0-9a-f]{64})$/i.exec(signature);
  if (!match) return false;
  const given = Uint8Array.from(match[1]!.match(/../g)!, (h) => parseInt(h, 16));
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  let valid = false;
  for (const secret of list(secrets)) if (await matches(encoder.encode(secret), bytes, given)) valid = true;
  return valid;
}

/**
 * Returns a handler for fetch-style servers. It responds with 401 if the delivery was not signed with any of the
 * secrets, with 204 if fn succeeds, and with 500 if fn throws, after which the service repeats the delivery.
 */
export function fetchHandler(secrets: string | readonly string[], fn: (event: WebhookEvent) => Promise<void> | void): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== "POST") return new Response("POST only", { status: 405, headers: { Allow: "POST" } });
    let event: WebhookEvent;
    try {
      event = await verify(await limited(request.body), request.headers, secrets);
    } catch (err) {
      return new Response("no valid signature", { status: err instanceof SignatureError ? 401 : 400 });
    }
    try {
      await fn(event);
    } catch {
      return new Response("try again", { status: 500 });
    }
    return new Response(null, { status: 204 });
  };
}

/** The members of an Express or node:http request and response that the handler uses. */
interface NodeRequest extends AsyncIterable<Uint8Array> {
  method?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  /**
   * Set by a body parser. The parser must be express.raw() for all content types, because the signature covers the
   * raw bytes.
   */
  body?: unknown;
}
interface NodeResponse {
  statusCode: number;
  end(text?: string): unknown;
}

/** Returns a handler for Express and node:http that sends the same responses as fetchHandler. */
export function expressHandler(secrets: string | readonly string[], fn: (event: WebhookEvent) => Promise<void> | void): (req: NodeRequest, res: NodeResponse) => Promise<void> {
  return async (req, res) => {
    const done = (status: number, text?: string) => {
      res.statusCode = status;
      res.end(text);
    };
    if (req.method !== "POST") return done(405, "POST only");
    let event: WebhookEvent;
    try {
      if (req.body !== undefined && !(req.body instanceof Uint8Array)) return done(500, 'the body was parsed before its signature was checked: use express.raw({ type: "*/*" })');
      event = await verify(req.body instanceof Uint8Array ? req.body : await limited(req), req.headers, secrets);
    } catch (err) {
      return done(err instanceof SignatureError ? 401 : 400, "no valid signature");
    }
    try {
      await fn(event);
    } catch {
      return done(500, "try again");
    }
    done(204);
  };
}

const maxDelivery = 4 << 20; // far more than the size of any delivery

async function limited(stream: AsyncIterable<Uint8Array> | null): Promise<Uint8Array> {
  let all: Uint8Array = new Uint8Array();
  for await (const part of stream ?? []) {
    all = concat(all, part);
    if (all.length > maxDelivery) throw new RangeError("the body is too large");
  }
  return all;
}

function list(secrets: string | readonly string[]): string[] {
  return (typeof secrets === "string" ? [secrets] : [...secrets]).filter((s) => s !== "");
}

function header(headers: HeadersLike, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  for (const [key, value] of Object.entries(headers)) if (key.toLowerCase() === name) return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
  return null;
}

/** Returns the decoded key of a secret with the form whsec_<base64>. Any other secret is used as the key itself. */
function standardKey(secret: string): Uint8Array {
  const key = secret.startsWith("whsec_") ? fromBase64(secret.slice(6)) : null;
  return key && key.length > 0 ? key : encoder.encode(secret);
}

function fromBase64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return null;
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

/** Reports whether given is the HMAC of signed. The comparison takes constant time. */
async function matches(key: Uint8Array, signed: Uint8Array, given: Uint8Array): Promise<boolean> {
  const k = await crypto.subtle.importKey("raw", key as BufferSource, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  return crypto.subtle.verify("HMAC", k, given as BufferSource, signed as BufferSource);
}
