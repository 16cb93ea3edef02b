import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, Countersign, CountersignError, EndedError } from "../dist/index.js";

const problem = (code) => ({ error: code, message: "No.", details: null, errors: { "signers[0].email": ["is not an address"] } });
const envelope = (status) => ({ id: "0199d7a0-0000-7000-8000-000000000001", status });

/**
 * Returns a fake service that responds with a token, and then with the given responses. The last one is repeated.
 * "lost" represents a response that is not received.
 */
function service(...answers) {
  const calls = [];
  let tokens = 0;
  const fetch = async (url, init) => {
    if (String(url).endsWith("/oauth/token")) return Response.json({ access_token: `token-${++tokens}`, token_type: "Bearer", expires_in: 3600 });
    const headers = new Headers(init.headers);
    calls.push({ url: String(url), method: init.method, key: headers.get("Idempotency-Key"), token: headers.get("Authorization"), password: headers.get("X-Document-Password"), body: init.body });
    const a = answers[Math.min(calls.length, answers.length) - 1];
    if (a === "lost") throw new TypeError("fetch failed");
    return new Response(a[1] === null ? null : JSON.stringify(a[1]), { status: a[0], headers: { "Content-Type": "application/json", ...a[2] } });
  };
  const client = (more = {}) => new Countersign({ address: "https://sign.example.com/", clientId: "id", clientSecret: "secret", fetch, ...more });
  return { client, calls, tokens: () => tokens };
}

test("a retry keeps the idempotency key", async () => {
  const s = service("lost", [503, problem("unavailable")], [409, problem("idempotency_in_flight")], [201, envelope("draft")]);
  const c = s.client();
  assert.equal((await c.create({ tenantId: "acme", signers: [] })).id, envelope().id);
  assert.equal(s.calls.length, 4);
  for (const call of s.calls) assert.deepEqual(call, s.calls[0]);
  assert.ok(s.calls[0].key);
  await c.create({ tenantId: "acme", signers: [] });
  assert.notEqual(s.calls[4].key, s.calls[0].key);
  assert.equal(s.tokens(), 1);
});

test("the password of a document is sent in UTF-8", async () => {
  const s = service([201, { documentId: "d1" }]);
  await s.client().upload("e1", new TextEncoder().encode("%PDF"), { password: "pä €" });
  assert.equal(Buffer.from(s.calls[0].password, "latin1").toString(), "pä €");
});

test("rejected requests throw typed errors and are not retried", async () => {
  for (const status of [400, 402, 403, 404, 409, 410, 413, 422, 501]) {
    const s = service([status, problem("validation_error"), { "X-Request-Id": "r1" }]);
    await assert.rejects(s.client().create({ tenantId: "acme", signers: [] }), (err) => {
      assert.ok(err instanceof CountersignError);
      assert.equal(err.status, status);
      assert.equal(err.code, "validation_error");
      assert.deepEqual(err.fields["signers[0].email"], ["is not an address"]);
      assert.equal(err.requestId, "r1");
      return true;
    });
    assert.equal(s.calls.length, 1);
  }
});

test("Retry-After is observed, unless it is an hour", async () => {
  const start = Date.now();
  await service([429, problem("rate_limited"), { "Retry-After": "1" }], [200, envelope("sent")]).client().envelope("e1");
  assert.ok(Date.now() - start >= 1000);
  const s = service([429, problem("rate_limited"), { "Retry-After": "3600" }]);
  await assert.rejects(s.client().envelope("e1"), (err) => err.retryAfter === 3_600_000);
  assert.equal(s.calls.length, 1);
});

test("a custom request has the token, retries and errors", async () => {
  const s = service([503, problem("unavailable")], [201, envelope("draft")], [400, problem("validation_error")]);
  const c = s.client();
  const form = new FormData();
  form.set("data", "{}");
  const res = await c.request("POST", "/v1/templates", { body: form, query: { tenantId: "acme" } });
  assert.equal((await res.json()).id, envelope().id);
  assert.deepEqual(s.calls[0], s.calls[1]);
  assert.equal(s.calls[0].url, "https://sign.example.com/v1/templates?tenantId=acme");
  assert.equal(s.calls[0].token, "Bearer token-1");
  assert.ok(s.calls[0].key);
  await assert.rejects(c.request("GET", "/v1/templates"), (err) => err instanceof CountersignError && err.code === "validation_error");
  for (const path of ["v1/templates", "@elsewhere.example.com/", "https://elsewhere.example.com/", ""]) assert.throws(() => c.request("GET", path), TypeError);
  await c.request("GET", "//elsewhere.example.com/v1").catch(() => null);
  assert.equal(new URL(s.calls.at(-1).url).host, "sign.example.com");
});

test("download selects the document", async () => {
  const s = service([200, {}]);
  await s.client().download("e1", "prepared", { documentId: "d1" });
  assert.equal(s.calls[0].url, "https://sign.example.com/v1/envelopes/e1/document?kind=prepared&documentId=d1");
});

test("retries are bounded, and end with the signal", async () => {
  const s = service("lost");
  await assert.rejects(s.client({ retries: 2 }).envelope("e1"));
  assert.equal(s.calls.length, 3);
  const once = service([503, problem("unavailable")]);
  await assert.rejects(once.client({ retries: 0 }).create({ tenantId: "acme", signers: [] }));
  await assert.rejects(once.client({ retries: 0 }).create({ tenantId: "acme", signers: [] }, { idempotencyKey: "mine" }));
  assert.deepEqual(once.calls.map((call) => call.key), [null, "mine"]); // a call that is not retried needs no key
  await assert.rejects(s.client({ retries: 1000 }).envelope("e1", { signal: AbortSignal.timeout(100) }));
});

test("a slow token request ends with the signal", async () => {
  let answer;
  const fetch = (url) => String(url).endsWith("/oauth/token")
    ? new Promise((resolve) => { answer = () => resolve(Response.json({ access_token: "t", expires_in: 3600 })); })
    : Promise.resolve(Response.json(envelope("sent")));
  const c = new Countersign({ address: "https://sign.example.com", clientId: "id", clientSecret: "secret", fetch });
  const first = c.envelope("e1");
  const enough = new AbortController();
  setTimeout(() => enough.abort(), 10);
  await assert.rejects(c.envelope("e1", { signal: enough.signal }), { name: "AbortError" });
  answer();
  assert.equal((await first).status, "sent");
});

test("an unreachable service is named in the error", async () => {
  const lost = service("lost");
  await assert.rejects(lost.client({ retries: 0 }).envelope("e1"), (err) => err instanceof ConnectionError && err.message === "sign.example.com does not respond: fetch failed" && err.cause instanceof TypeError);
  const c = new Countersign({ address: "http://127.0.0.1:1", clientId: "id", clientSecret: "secret", retries: 0 });
  await assert.rejects(c.envelope("e1"), (err) => err instanceof ConnectionError && err.message.startsWith("127.0.0.1:1 does not respond: "));
  for (const address of [undefined, "", "sign.example.com", "ftp://sign.example.com"]) assert.throws(() => new Countersign({ address, clientId: "id", clientSecret: "secret" }), /is not the address of a service/);
});

test("an error message names a field once", async () => {
  const s = service([400, { error: "validation_error", message: "documents: there is none (and 1 more)", errors: { fields: ["there are none"], documents: ["there is none"] } }]);
  await assert.rejects(s.client().create({ tenantId: "acme", signers: [] }), { message: "documents: there is none (and 1 more); fields: there are none" });
});

test("a rejected token is replaced once", async () => {
  const s = service([401, problem("invalid_token")], [200, envelope("sent")], [401, problem("invalid_token")]);
  const c = s.client();
  await c.envelope("e1");
  assert.deepEqual(s.calls.map((call) => call.token), ["Bearer token-1", "Bearer token-2"]);
  await assert.rejects(c.envelope("e1"));
  assert.equal(s.calls.length, 4);
});

test("concurrent requests share one token", async () => {
  const s = service([200, envelope("sent")]);
  const c = s.client();
  await Promise.all(Array.from({ length: 20 }, () => c.envelope("e1")));
  assert.equal(s.tokens(), 1);
});

test("a stream body is sent once", async () => {
  const s = service("lost");
  await assert.rejects(s.client().upload("e1", new Blob(["%PDF"]).stream()));
  assert.equal(s.calls.length, 1);
  const again = service("lost", [200, { documentId: "d", pageCount: 1, sha256: "" }]);
  await again.client().upload("e1", new TextEncoder().encode("%PDF"));
  assert.equal(again.calls.length, 2);
});

test("lists read all pages, each envelope once, even if the list changes", async () => {
  let sent = Array.from({ length: 250 }, (_, i) => i);
  const fetch = async (url) => { // lists in the same way as the service: by page, or after a cursor
    const { searchParams: q, pathname } = new URL(url);
    if (pathname === "/oauth/token") return Response.json({ access_token: "t", expires_in: 3600 });
    const size = Number(q.get("pageSize")), cursor = q.get("cursor");
    let rows = q.has("page") ? sent.slice((Number(q.get("page")) - 1) * size) : sent;
    if (cursor) rows = rows.filter((n) => n > Number(cursor));
    const nextCursor = rows.length > size ? String(rows[size - 1]) : null;
    return Response.json({ data: rows.slice(0, size).map((n) => ({ id: String(n) })), total: sent.length, page: 1, pageSize: size, nextCursor });
  };
  const c = new Countersign({ address: "https://sign.example.com", clientId: "id", clientSecret: "secret", fetch });
  const ids = [];
  for await (const e of c.envelopes("acme", "sent")) {
    if (ids.length < 120) sent = sent.filter((n) => String(n) !== e.id); // simulates a caller that voids each listed envelope
    if (ids.length === 130) sent = [-2, -1, ...sent]; // newer envelopes
    ids.push(e.id);
  }
  assert.deepEqual(ids, Array.from({ length: 250 }, (_, i) => String(i)));
});

test("an incomplete response is reported", async () => {
  const half = (end) => new Response(new ReadableStream({ start: (body) => { body.enqueue(new TextEncoder().encode('{"id": "e')); end(body); } }), { headers: { "Content-Type": "application/json" } });
  const cut = new Countersign({ address: "https://sign.example.com", token: "t", fetch: async () => half((body) => body.error(new TypeError("terminated"))) });
  for (const call of [() => cut.envelope("e1"), () => cut.upload("e1", new Uint8Array(1))]) {
    await assert.rejects(call(), (err) => err instanceof ConnectionError && err.cause.message === "terminated");
  }
  const stop = new AbortController();
  const slow = new Countersign({ address: "https://sign.example.com", token: "t", fetch: async () => half((body) => {
    stop.signal.addEventListener("abort", () => body.error(stop.signal.reason));
    queueMicrotask(() => stop.abort());
  }) });
  await assert.rejects(slow.envelope("e1", { signal: stop.signal }), { name: "AbortError" });
});

test("a deletion with a lost response succeeds, a rejected one fails", async () => {
  const remove = (...answers) => service(...answers).client().call("delete", "/v1/webhooks/{id}", { path: { id: "w1" } });
  for (const lost of ["lost", [502, problem("bad_gateway")]]) assert.equal(await remove(lost, [404, problem("not_found")]), undefined);
  for (const response of [[429, problem("rate_limited")], [401, problem("invalid_token")]]) {
    await assert.rejects(remove(response, [404, problem("not_found")]), (err) => err instanceof CountersignError && err.status === 404);
  }
});

test("a patch with a lost response is not retried", async () => {
  const change = (s) => s.client().call("patch", "/v1/envelopes/{id}", { path: { id: "e1" }, body: { subject: "New" } });
  for (const unsure of ["lost", [500, problem("internal")], [502, problem("bad_gateway")], [504, problem("timeout")]]) await assert.rejects(change(service(unsure, [200, envelope("draft")])));
  for (const status of [429, 503]) assert.equal((await change(service([status, problem("unavailable")], [200, envelope("draft")]))).status, "draft");
});

test("waiting ends with the envelope", async () => {
  assert.equal((await service([200, envelope("in_progress")], [200, envelope("completed")]).client().waitUntilCompleted("e1")).status, "completed");
  await assert.rejects(service([200, envelope("voided")]).client().waitUntilCompleted("e1"), EndedError);
});

test("an invalid address is rejected", async () => {
  assert.throws(() => new Countersign({ address: "ftp://sign.example.com", clientId: "id", clientSecret: "s" }));
  assert.throws(() => new Countersign({ address: "https://sign.example.com" }));
  const c = new Countersign({ address: "https://example.com", token: "t", fetch: async () => new Response("<h1>Not here</h1>", { status: 404, headers: { "Content-Type": "text/html" } }) });
  await assert.rejects(c.envelope("e1"), (err) => err.code === "unexpected_response" && /check the address/.test(err.message));
});

test("path parameters are escaped", async () => {
  const s = service([200, envelope("sent")]);
  await s.client().envelope("../webhooks?x=1");
  assert.equal(s.calls[0].url, "https://sign.example.com/v1/envelopes/..%2Fwebhooks%3Fx%3D1");
  for (const id of ["", ".", ".."]) await assert.rejects(s.client().envelope(id), TypeError);
});
