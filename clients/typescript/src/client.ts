import { ConnectionError, CountersignError, EndedError } from "./errors.js";
import type { components, paths } from "./schema.js";
import { blocks } from "./stream.js";
import { type Body, type Options, sleep, Transport } from "./transport.js";
import type { WebhookEvent } from "./webhook.js";

export type Schemas = components["schemas"];
export type Envelope = Schemas["Envelope"];
export type EnvelopeRequest = Schemas["EnvelopeRequest"];
export type EnvelopeStatus = Schemas["EnvelopeStatus"];
export type BulkSend = Schemas["BulkSend"];
export type BulkSendRequest = Schemas["BulkSendRequest"];
export type BulkRow = Schemas["BulkRow"];
export type Document = Schemas["UploadedDocument"];

type Method = "get" | "post" | "put" | "patch" | "delete";
type PathsWith<M extends Method> = { [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never }[keyof paths];
type Operation<M extends Method, P extends keyof paths> = paths[P][M];
type Json<T> = T extends { content: { "application/json": infer J } } ? J : never;
type Answered<O> = O extends { responses: infer R } ? Json<R[keyof R & (200 | 201 | 202)]> : never;
/** The result of a call, or undefined for a response without a body (204). */
type Success<O> = [Answered<O>] extends [never] ? undefined : Answered<O>;
type JsonBody<O> = O extends { requestBody?: infer B } ? Json<NonNullable<B>> : never;
type Parameters<O, In extends "path" | "query"> = O extends { parameters: infer P } ? (P extends { [K in In]?: infer V } ? NonNullable<V> : never) : never;

export interface CallOptions {
  signal?: AbortSignal;
  /** By default, a key is generated for every POST request unless retries is 0. */
  idempotencyKey?: string;
}

export type CallInit<M extends Method, P extends keyof paths> = CallOptions & {
  path?: Parameters<Operation<M, P>, "path">;
  query?: Parameters<Operation<M, P>, "query">;
  body?: JsonBody<Operation<M, P>>;
};

/** Specifies how a document is prepared before it is displayed. */
export type UploadOptions = CallOptions & Schemas["DocumentOptions"];

export interface EventOptions extends CallOptions {
  /** Returns the events after the event with this ID. */
  after?: string;
  /** Omits events before this time. Used only by readEvents, and only without `after`. */
  since?: Date;
  event?: Schemas["WebhookEventName"];
}

export interface DownloadOptions extends CallOptions {
  /** The default is the first document. */
  documentId?: string;
}

export interface RequestOptions extends CallOptions {
  query?: Record<string, string | number | boolean | null | undefined>;
  headers?: Record<string, string>;
  /** A stream is sent only once, even if the request is lost. */
  body?: Body;
}

const firstPoll = 1_000;
const maxPoll = 15_000;

/** Calls the API for one application. */
export class Countersign {
  private readonly transport: Transport;

  constructor(options: Options) {
    this.transport = new Transport(options);
  }

  /** Calls any operation of the contract that accepts and returns JSON, with the types of the contract. */
  async call<M extends Method, P extends PathsWith<M>>(method: M, path: P, init: CallInit<M, P> = {}): Promise<Success<Operation<M, P>>> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (init.body !== undefined) headers["Content-Type"] = "application/json";
    const res = await this.send(method, path as string, init, headers, init.body === undefined ? undefined : JSON.stringify(init.body));
    if (res.status === 204) return undefined as Success<Operation<M, P>>;
    return json<Success<Operation<M, P>>>(res, init.signal);
  }

  /**
   * Sends a custom request, with the client's token, retries and error handling. Use it for operations that do not
   * accept and return JSON, such as a form with a file. The path must begin with a slash and already be escaped.
   */
  request(method: Uppercase<Method>, path: string, init: RequestOptions = {}): Promise<Response> {
    if (!path.startsWith("/")) throw new TypeError(`${path} is not a path of the service: a path begins with a slash`);
    const headers = { ...init.headers };
    if (init.idempotencyKey) headers["Idempotency-Key"] = init.idempotencyKey;
    return this.transport.send({ method, path, query: init.query, headers, body: init.body, signal: init.signal });
  }

  private send(method: string, template: string, init: CallOptions & { path?: unknown; query?: unknown }, headers: Record<string, string>, body?: Body): Promise<Response> {
    const values = (init.path ?? {}) as Record<string, unknown>;
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      if (values[name] === undefined || values[name] === "") throw new TypeError(`${name} of ${template} is missing`);
      // The path segments "." and ".." would refer to another path.
      if (values[name] === "." || values[name] === "..") throw new TypeError(`${name} of ${template} cannot be ${values[name]}`);
      return encodeURIComponent(String(values[name]));
    });
    if (init.idempotencyKey) headers["Idempotency-Key"] = init.idempotencyKey;
    return this.transport.send({ method: method.toUpperCase(), path, query: init.query as Record<string, unknown> | undefined, headers, body, signal: init.signal });
  }

  /** Creates a draft. Documents are uploaded to it afterwards. */
  create(envelope: EnvelopeRequest, options?: CallOptions): Promise<Envelope> {
    return this.call("post", "/v1/envelopes", { ...options, body: envelope });
  }

  /** Adds a PDF to a draft. If the request is lost, bytes and blobs are sent again. A stream is sent only once. */
  async upload(id: string, pdf: Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>, options: UploadOptions = {}): Promise<Document> {
    const { tags, form, formRole, activeContent, repair, password, ...call } = options;
    const query = Object.fromEntries(Object.entries({ tags, form, formRole, activeContent, repair }).filter(([, value]) => value != null));
    const headers: Record<string, string> = { "Content-Type": "application/octet-stream" };
    // A header value consists of bytes. This one is encoded in UTF-8.
    if (password != null) headers["X-Document-Password"] = String.fromCharCode(...new TextEncoder().encode(password));
    const res = await this.send("post", "/v1/envelopes/{id}/document", { ...call, path: { id }, query }, headers, pdf as Body);
    return json<Document>(res, call.signal);
  }

  /** Invites the first signers of a draft. The response contains their signing links, which envelope() does not return. */
  sendEnvelope(id: string, message?: string, options?: CallOptions): Promise<Envelope> {
    return this.call("post", "/v1/envelopes/{id}/send", { ...options, path: { id }, body: message === undefined ? {} : { message } });
  }

  /** Returns an envelope with its audit trail. */
  envelope(id: string, options?: CallOptions): Promise<Envelope> {
    return this.call("get", "/v1/envelopes/{id}", { ...options, path: { id } });
  }

  /** Ends an envelope and invalidates its links. This cannot be undone. */
  voidEnvelope(id: string, reason?: string, options?: CallOptions): Promise<Envelope> {
    return this.call("post", "/v1/envelopes/{id}/void", { ...options, path: { id }, body: reason === undefined ? {} : { reason } });
  }

  /** Returns the content of a document of an envelope, as uploaded, as displayed before signing, or sealed. */
  async download(id: string, kind: "original" | "prepared" | "sealed" = "sealed", options: DownloadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { documentId, ...call } = options;
    return opened(await this.send("get", "/v1/envelopes/{id}/document", { ...call, path: { id }, query: { kind, documentId } }, { Accept: "application/pdf" }));
  }

  /** Returns a ZIP file with all sealed documents of an envelope. */
  async downloadAll(id: string, options: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return opened(await this.send("get", "/v1/envelopes/{id}/documents.zip", { ...options, path: { id } }, { Accept: "application/zip" }));
  }

  /**
   * Iterates over the envelopes of a tenant, newest first. It requests pages as needed. No envelope is omitted or
   * repeated, even if envelopes are created, sent or ended during the iteration.
   */
  async *envelopes(tenantId: string, status?: EnvelopeStatus, options?: CallOptions): AsyncGenerator<Envelope, void, undefined> {
    for (let cursor: string | null = null; ; ) {
      const page: Schemas["EnvelopePage"] = await this.call("get", "/v1/envelopes", { ...options, query: { tenantId, pageSize: 100, ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) } });
      yield* page.data;
      cursor = page.nextCursor;
      if (!cursor) return;
    }
  }

  /**
   * Reads the existing events, oldest first. Without `after`, it begins with the oldest stored event. To read every
   * event exactly once, store the ID of the last event and pass it as `after` in the next call.
   */
  async *readEvents(options: EventOptions = {}): AsyncGenerator<WebhookEvent, void, undefined> {
    let { after } = options;
    for (;;) {
      const query = { limit: 500, ...(after ? { cursor: after } : options.since ? { since: options.since.toISOString() } : {}), ...(options.event ? { event: options.event } : {}) };
      const page = await this.call("get", "/v1/events", { ...options, query });
      // Every event except bulk.completed has this form. The data of bulk.completed is different.
      yield* page.data as WebhookEvent[];
      if (page.nextCursor) after = page.nextCursor;
      if (!page.hasMore) return;
    }
  }

  /**
   * Receives events as they occur. Without `after`, it begins with the next event. After an interruption it reconnects
   * and continues after the last event, so that no event is missed or repeated. It ends when its signal is aborted, and
   * throws errors of the service, such as cursor_expired if the interruption was too long.
   */
  async *follow(options: EventOptions = {}): AsyncGenerator<WebhookEvent, void, undefined> {
    let { after } = options;
    if (!after) {
      for (let page; !page || page.hasMore; ) { // selects no events, but returns the cursor
        page = await this.call("get", "/v1/events", { ...options, query: { since: new Date(Date.now() + 86_400_000).toISOString() } });
        after = page.nextCursor ?? undefined;
      }
    }
    const { since: _, ...rest } = options;
    for (let attempt = 0; ; attempt++) {
      try {
        if (!after) { // there were no events at the beginning, so all existing events are new
          for await (const e of this.readEvents(rest)) {
            after = e.id;
            attempt = 0;
            yield e;
          }
          if (!after) {
            await sleep(firstPoll, options.signal);
            attempt = -1;
            continue;
          }
        }
        const res = await this.send("get", "/v1/events/stream", { ...rest, query: options.event ? { event: options.event } : {} }, { Accept: "text/event-stream", "Last-Event-ID": after });
        for await (const block of blocks(res.body!)) {
          if (block.id) after = block.id;
          if (!block.data) continue;
          attempt = 0;
          yield JSON.parse(block.data) as WebhookEvent;
        }
        attempt = 0;
      } catch (err) {
        if (options.signal?.aborted || (err instanceof CountersignError && err.status < 500 && err.status !== 429)) throw err;
      }
      await sleep(Math.min(250 * 2 ** Math.min(attempt, 5), 8_000), options.signal);
    }
  }

  /**
   * Waits until all signers have signed and the documents are sealed. Throws an EndedError if the envelope is
   * declined or voided, or if it expires.
   */
  async waitUntilCompleted(id: string, options?: CallOptions): Promise<Envelope> {
    for (let wait = firstPoll; ; wait = Math.min(wait * 1.5, maxPoll)) {
      const e = await this.envelope(id, options);
      if (e.status === "completed") return e;
      if (e.status === "declined" || e.status === "voided" || e.status === "expired") throw new EndedError(e);
      await sleep(wait, options?.signal);
    }
  }

  /**
   * Sends one envelope for each row. It returns once all rows have been validated, and the envelopes are sent
   * afterwards.
   */
  sendBulk(request: Omit<BulkSendRequest, "dryRun">, options?: CallOptions): Promise<Schemas["BulkSendAccepted"]> {
    return this.call("post", "/v1/bulk-sends", { ...options, body: request }) as Promise<Schemas["BulkSendAccepted"]>;
  }

  /**
   * Validates rows in the same way as sendBulk, but sends nothing. The details of the CountersignError describe the
   * problems found: total, faultCount, faults.
   */
  checkBulk(request: Omit<BulkSendRequest, "dryRun">, options?: CallOptions): Promise<Schemas["BulkSendCheck"]> {
    return this.call("post", "/v1/bulk-sends", { ...options, body: { ...request, dryRun: true } }) as Promise<Schemas["BulkSendCheck"]>;
  }

  /** Waits until no row is pending or the bulk send is canceled. The number of failed rows is in `counts`. */
  async waitUntilBulkSent(id: string, options?: CallOptions): Promise<BulkSend> {
    for (let wait = firstPoll; ; wait = Math.min(wait * 1.5, maxPoll)) {
      const b = await this.call("get", "/v1/bulk-sends/{id}", { ...options, path: { id } });
      if (b.status === "completed" || b.status === "cancelled") return b;
      await sleep(wait, options?.signal);
    }
  }

  /**
   * Iterates over the rows of a bulk send, in order. If a status is given, a row whose status changes during the
   * iteration may be missed.
   */
  async *bulkRows(id: string, status?: BulkRow["status"], options?: CallOptions): AsyncGenerator<BulkRow, void, undefined> {
    let cursor: string | null = null;
    do {
      const page: Schemas["BulkRowPage"] = await this.call("get", "/v1/bulk-sends/{id}/rows", { ...options, path: { id }, query: { pageSize: 100, ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) } });
      yield* page.data;
      cursor = page.nextCursor;
    } while (cursor);
  }
}

/** Returns the body of a response. An incomplete body is treated as a missing response. */
async function json<T>(res: Response, signal?: AbortSignal): Promise<T> {
  let text: string;
  try {
    text = await res.text();
  } catch (err) {
    signal?.throwIfAborted();
    throw new ConnectionError(`the response ended prematurely: ${(err as Error).message}`, { cause: err });
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new CountersignError("the response is not JSON", res.status, "unexpected_response");
  }
}

function opened(res: Response): ReadableStream<Uint8Array> {
  if (!res.body) throw new CountersignError("the response has no body", res.status, "unexpected_response");
  return res.body;
}
