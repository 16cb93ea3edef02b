/** A refusal by the service. */
export class CountersignError extends Error {
  override readonly name = "CountersignError";

  constructor(
    message: string,
    /** Of the HTTP response. */
    readonly status: number,
    /** Stable, such as "validation_error"; "unexpected_response" if the response is not from Countersign. */
    readonly code: string,
    /** The problems of each field, by its JSON path. */
    readonly fields: Readonly<Record<string, readonly string[]>> = {},
    readonly details: Readonly<Record<string, unknown>> | null = null,
    /** Milliseconds; 0: the service named no time. */
    readonly retryAfter = 0,
    /** Under which the service's log has the rest. */
    readonly requestId: string | null = null,
  ) {
    super(message);
  }
}

/** The service did not respond; cause has the reason. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** An envelope ended in another way than was waited for. */
export class EndedError extends Error {
  override readonly name = "EndedError";

  constructor(readonly envelope: { readonly id: string; readonly status: string }) {
    super(`envelope ${envelope.id} is ${envelope.status}`);
  }
}

/** Returns the error of a response with status 300 or above. */
export async function refusal(res: Response, host: string): Promise<CountersignError> {
  const wait = retryAfter(res.headers.get("Retry-After"));
  const request = res.headers.get("X-Request-Id");
  try {
    const p = (await res.json()) as { error?: string; message?: string; details?: Record<string, unknown>; errors?: Record<string, string[]> };
    if (typeof p.error === "string") {
      const said = p.message ?? "";
      // The message often names the first field already.
      const fields = Object.entries(p.errors ?? {}).map(([name, wrong]) => `${name}: ${wrong.join(", ")}`).sort().filter((wrong) => !said.startsWith(wrong));
      return new CountersignError([said.replace(/\.$/, ""), ...fields].join("; "), res.status, p.error, p.errors, p.details ?? null, wait, request);
    }
  } catch {
    // not JSON: reported below
  }
  return new CountersignError(
    `${host} answered ${res.status} ${res.headers.get("Content-Type") ?? ""}, which is not how Countersign answers: is the address right?`,
    res.status, "unexpected_response", {}, null, wait, request);
}

function retryAfter(value: string | null): number {
  if (!value) return 0;
  const seconds = Number(value);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return wait > 0 ? wait : 0;
}
