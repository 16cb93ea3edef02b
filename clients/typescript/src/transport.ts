import { ConnectionError, CountersignError, responseError } from "./errors.js";

export interface Options {
  /** The address of the service, such as https://sign.example.com. */
  address: string;
  clientId?: string;
  clientSecret?: string;
  /**
   * An access token, or a function that returns one, instead of clientId and clientSecret. The token has all
   * permissions of the application, and must not be used in a browser.
   */
  token?: string | (() => Promise<string>);
  /**
   * The maximum number of retries of a request. A request is retried if it was lost, exceeded the rate limit, or
   * reached a server that was not ready. The default is 4. Without retries, a POST request has an Idempotency-Key only
   * if the call specifies one.
   */
  retries?: number;
  fetch?: typeof fetch;
}

export type Body = BodyInit | ReadableStream<Uint8Array>;

export interface Request {
  method: string;
  path: string;
  query?: Record<string, unknown> | undefined;
  headers?: Record<string, string> | undefined;
  body?: Body | undefined;
  signal?: AbortSignal | undefined;
}

const renewBefore = 60_000;
const firstBackoff = 250;
const maxBackoff = 8_000;
const maxRetryAfter = 90_000; // the rate limit applies to periods of one minute

/** Sends requests with a token, and retries them if that may help. */
export class Transport {
  readonly address: string;
  private readonly host: string;
  private readonly retries: number;
  private readonly fetch: typeof fetch;
  private readonly credentials: string | null;
  private readonly given: (() => Promise<string>) | null;
  private token: Promise<{ value: string; renewAt: number }> | null = null;

  constructor(options: Options) {
    const url = URL.canParse(options.address) ? new URL(options.address) : null;
    if (url?.protocol !== "https:" && url?.protocol !== "http:") throw new TypeError(`${options.address} is not the address of a service, such as https://sign.example.com`);
    if (url.username || url.search || url.hash) throw new TypeError("the address of the service must not contain a user, query or fragment");
    this.address = url.href.replace(/\/+$/, "");
    this.host = url.host;
    this.retries = Math.max(options.retries ?? 4, 0);
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    const { token } = options;
    this.given = token === undefined ? null : typeof token === "string" ? async () => token : token;
    this.credentials = this.given ? null : new URLSearchParams({ grant_type: "client_credentials", client_id: options.clientId ?? "", client_secret: options.clientSecret ?? "" }).toString();
    if (!this.given && (!options.clientId || !options.clientSecret)) throw new TypeError("clientId and clientSecret, or token, are required");
  }

  /** Returns the response to a request. An error response is thrown as a CountersignError. */
  async send(request: Request): Promise<Response> {
    const url = new URL(this.address + request.path);
    for (const [name, value] of Object.entries(request.query ?? {})) if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    const headers = new Headers(request.headers);
    if (this.retries > 0 && request.method === "POST" && !headers.has("Idempotency-Key")) headers.set("Idempotency-Key", crypto.randomUUID());
    const streams = request.body instanceof ReadableStream; // a stream can be read, and therefore sent, only once
    let renewed = false, lost = false; // lost: the service may have processed an attempt whose response was lost or unusable
    for (let attempt = 0; ; attempt++) {
      headers.set("Authorization", `Bearer ${await this.accessToken(request.signal)}`);
      let failure: unknown;
      try {
        const init: RequestInit & { duplex?: "half" } = { method: request.method, headers, redirect: "manual" };
        if (request.body !== undefined) init.body = request.body as BodyInit;
        if (request.signal) init.signal = request.signal;
        if (streams) init.duplex = "half";
        const res = await this.fetch(url, init);
        if (res.ok) return res;
        failure = await responseError(res, this.host);
      } catch (err) {
        failure = err;
      }
      if (failure instanceof CountersignError) {
        // The lost attempt deleted the object.
        if (lost && failure.status === 404 && request.method === "DELETE") return new Response(null, { status: 204 });
        if (failure.status === 401 && !renewed) {
          renewed = true;
          this.token = null;
          if (!streams) continue;
        }
      }
      lost ||= !(failure instanceof CountersignError) || failure.status >= 500;
      const wait = streams || !repeatable(request.method, failure) ? null : this.backoff(attempt, failure, request.signal);
      if (wait === null) throw this.told(failure, request.signal);
      await sleep(wait, request.signal);
    }
  }

  /** Returns the error to throw for a failed request. The errors of fetch itself contain little information. */
  private told(failure: unknown, signal?: AbortSignal): unknown {
    if (failure instanceof CountersignError || signal?.aborted) return failure;
    const { message, cause } = failure as Error;
    return new ConnectionError(`${this.host} does not respond: ${cause instanceof Error && cause.message ? cause.message : message}`, { cause: failure });
  }

  /** Returns the delay before a request is retried, or null if it must not be retried. */
  private backoff(attempt: number, failure: unknown, signal?: AbortSignal): number | null {
    if (attempt >= this.retries || signal?.aborted) return null;
    let wait = Math.min(firstBackoff * 2 ** attempt, maxBackoff);
    wait = wait / 2 + (Math.random() * wait) / 2;
    if (!(failure instanceof CountersignError)) return wait; // no response was received
    if (failure.status === 409 ? failure.code !== "idempotency_in_flight" : ![429, 500, 502, 503, 504].includes(failure.status)) return null;
    wait = Math.max(wait, failure.retryAfter);
    return wait <= maxRetryAfter ? wait : null;
  }

  private async accessToken(signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    if (this.given) return unlessAborted(this.given(), signal);
    const known = this.token;
    if (known) {
      const token = await unlessAborted(known.catch(() => null), signal);
      if (token && Date.now() < token.renewAt) return token.value;
      if (this.token === known) this.token = null;
    }
    this.token ??= this.requestToken(); // shared by all requests that are waiting for it
    const pending = this.token;
    pending.catch(() => {
      if (this.token === pending) this.token = null;
    });
    return (await unlessAborted(pending, signal)).value;
  }

  private async requestToken(): Promise<{ value: string; renewAt: number }> {
    for (let attempt = 0; ; attempt++) {
      let failure: unknown;
      try {
        const res = await this.fetch(`${this.address}/oauth/token`, {
          method: "POST", redirect: "manual", headers: { "Content-Type": "application/x-www-form-urlencoded" }, body: this.credentials,
        });
        if (res.status === 404) throw new CountersignError(`no service found at ${this.address}: check the address`, 404, "unexpected_response");
        if (!res.ok) throw await responseError(res, this.host);
        const answer = (await res.json()) as { access_token?: string; expires_in?: number };
        if (!answer.access_token || !answer.expires_in) throw new CountersignError(`${this.host} returned no access token: check the address`, res.status, "unexpected_response");
        const lifetime = answer.expires_in * 1000;
        return { value: answer.access_token, renewAt: Date.now() + lifetime - Math.min(renewBefore, lifetime / 2) };
      } catch (err) {
        failure = err;
      }
      const wait = this.backoff(attempt, failure);
      if (wait === null) throw this.told(failure);
      await sleep(wait);
    }
  }
}

/**
 * Reports whether a failed request may be sent again. POST requests contain an idempotency key, and GET, PUT and
 * DELETE are idempotent. PATCH is not: repeating it could create a second version of a template, or fail because the
 * lost attempt took effect. A PATCH request is repeated only if the first attempt had no effect.
 */
function repeatable(method: string, failure: unknown): boolean {
  if (method !== "PATCH") return true;
  if (failure instanceof CountersignError) return failure.status === 429 || failure.status === 503;
  const cause: unknown = (failure as Error).cause;
  return cause instanceof Error && "code" in cause && (cause.code === "ECONNREFUSED" || cause.code === "ENOTFOUND");
}

/** Returns the result of a promise, unless the signal is aborted first. */
function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
