/** An error response of the service. */
export class CountersignError extends Error {
  override readonly name = "CountersignError";

  constructor(
    message: string,
    /** The HTTP status. */
    readonly status: number,
    /**
     * The stable code, such as "validation_error". It is "unexpected_response" if the response is not from
     * Countersign.
     */
    readonly code: string,
    /** The problems with each member, by JSON path. */
    readonly fields: Readonly<Record<string, readonly string[]>> = {},
    readonly details: Readonly<Record<string, unknown>> | null = null,
    /** The delay before a retry, in milliseconds, or 0 if the service specified none. */
    readonly retryAfter = 0,
    /** Identifies the request in the service's log. */
    readonly requestId: string | null = null,
  ) {
    super(message);
  }
}

/** The service did not respond. The property cause contains the reason. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** An envelope was declined, voided or expired instead of being completed. */
export class EndedError extends Error {
  override readonly name = "EndedError";

  constructor(readonly envelope: { readonly id: string; readonly status: string }) {
    super(`envelope ${envelope.id} is ${envelope.status}`);
  }
}

/** Returns the error for a response with status 300 or above. */
export async function responseError(res: Response, host: string): Promise<CountersignError> {
  const wait = retryAfter(res.headers.get("Retry-After"));
  const request = res.headers.get("X-Request-Id");
  try {
    const p = (await res.json()) as { error?: string; message?: string; details?: Record<string, unknown>; errors?: Record<string, string[]> };
    if (typeof p.error === "string") {
      const said = p.message ?? "";
      // The message often already contains the first member's problem.
      const fields = Object.entries(p.errors ?? {}).map(([name, wrong]) => `${name}: ${wrong.join(", ")}`).sort().filter((wrong) => !said.startsWith(wrong));
      return new CountersignError([said.replace(/\.$/, ""), ...fields].join("; "), res.status, p.error, p.errors, p.details ?? null, wait, request);
    }
  } catch {
    // The response is not JSON, which is reported below.
  }
  return new CountersignError(
    `${host} responded with ${res.status} ${res.headers.get("Content-Type") ?? ""}, which is not a Countersign response: check the address`,
    res.status, "unexpected_response", {}, null, wait, request);
}

function retryAfter(value: string | null): number {
  if (!value) return 0;
  const seconds = Number(value);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return wait > 0 ? wait : 0;
}
