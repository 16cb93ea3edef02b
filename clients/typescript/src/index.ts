export { Countersign, type BulkRow, type BulkSend, type BulkSendRequest, type CallInit, type CallOptions, type Document, type DownloadOptions, type Envelope, type EnvelopeRequest, type EnvelopeStatus, type EventOptions, type RequestOptions, type Schemas, type UploadOptions } from "./client.js";
export { ConnectionError, CountersignError, EndedError } from "./errors.js";
export type { Options } from "./transport.js";
export { expressHandler, fetchHandler, SignatureError, tolerance, verify, verifySignature, type WebhookEvent } from "./webhook.js";
