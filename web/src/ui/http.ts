/** An error response from the service. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The number of seconds after which to retry, or 0 if the response specified none. */
    readonly retryAfter: number,
    readonly errors: Record<string, string[]>,
    readonly details: Record<string, unknown>,
  ) {
    super(message);
  }
}

/** The service could not be reached. */
export class NetworkError extends Error {}

/** Returns a new Idempotency-Key. */
export const newKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

export interface RequestOptions {
  method?: string;
  body?: unknown;
  bearer?: string;
  /** The Idempotency-Key, which identifies retries of the same request. */
  key?: string;
  /** Proves that this client has confirmed a one-time code, for clients without the cookie. */
  session?: string | null;
  /** Allows the request to continue after the page is closed. */
  keepalive?: boolean;
  headers?: Record<string, string>;
  /** Receives the headers of the response. */
  onHeaders?: (h: Headers) => void;
}

/** The responses of a proxy that cannot reach the service (RFC 9110, section 15.6). */
const gateway = [502, 503, 504];

/** Sends a request to the service and returns its JSON response. Throws ApiError or NetworkError. */
export async function request<T>(path: string, { method, body, bearer, key, session, keepalive, headers = {}, onHeaders }: RequestOptions = {}): Promise<T> {
  const raw = body instanceof Blob || body instanceof FormData;
  if (body !== undefined && !raw) headers["Content-Type"] = "application/json";
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (session) headers["X-Signer-Session"] = session;
  if (key) headers["Idempotency-Key"] = key;
  let res: Response;
  try {
    res = await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
      headers,
      keepalive,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch {
    throw new NetworkError();
  }
  onHeaders?.(res.headers);
  let answer: unknown;
  try {
    answer = res.status === 204 ? undefined : await res.json();
  } catch {
    answer = undefined;
  }
  if (res.ok) return answer as T;
  if (answer === undefined && gateway.includes(res.status)) throw new NetworkError();
  const problem = (answer ?? {}) as { error?: string; message?: string; errors?: Record<string, string[]>; details?: Record<string, unknown> };
  throw new ApiError(
    res.status, problem.error ?? "unknown", problem.message || `HTTP ${res.status}`, Number(res.headers.get("Retry-After")) || 0,
    problem.errors ?? {}, problem.details ?? {},
  );
}
