export { Countersign, type CallInit, type CallOptions, type Document, type Envelope, type EnvelopeRequest, type EnvelopeStatus, type EventOptions, type Schemas, type UploadOptions } from "./client.js";
export { CountersignError, EndedError } from "./errors.js";
export type { Options } from "./transport.js";
export { expressHandler, fetchHandler, SignatureError, tolerance, verify, verifySignature, type WebhookEvent } from "./webhook.js";
