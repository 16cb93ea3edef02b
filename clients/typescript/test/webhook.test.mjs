import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { expressHandler, fetchHandler, SignatureError, tolerance, verify, verifySignature } from "../dist/index.js";

const rows = JSON.parse(readFileSync(new URL("../../testdata/signatures.json", import.meta.url), "utf8"));
const headersOf = (k) => ({ "webhook-id": k.id, "webhook-timestamp": String(k.timestamp), "webhook-signature": k.standardSignature });

// The signature is verified before the body is parsed. An empty body can have a valid signature, although it is not
// an event.
async function signed(k, secrets, { body = k.body, headers = headersOf(k), at = k.timestamp * 1000 } = {}) {
  try {
    await verify(body, headers, secrets, at);
  } catch (err) {
    return !(err instanceof SignatureError);
  }
  return true;
}

for (const k of rows) {
  test(`known answer: ${k.name}`, async () => {
    assert.ok(await signed(k, k.secret));
    assert.ok(await signed(k, ["another", k.secret]), "one of several");
    assert.ok(await signed(k, k.secret, { headers: new Headers(headersOf(k)) }));
    assert.ok(await signed(k, k.secret, { at: (k.timestamp + tolerance) * 1000 }));
    assert.ok(await verifySignature(k.body, k.serviceSignature, ["another", k.secret]));

    assert.ok(!(await signed(k, k.secret, { body: k.body + " " })), "another body");
    assert.ok(!(await signed(k, k.secret + "x")), "another secret");
    assert.ok(!(await signed(k, [])), "no secret");
    assert.ok(!(await signed(k, "")), "an empty secret");
    assert.ok(!(await signed(k, k.secret, { at: (k.timestamp + tolerance + 1) * 1000 })), "too old");
    assert.ok(!(await signed(k, k.secret, { at: (k.timestamp - tolerance - 1) * 1000 })), "ahead");
    assert.ok(!(await verifySignature(k.body + " ", k.serviceSignature, k.secret)));
    assert.ok(!(await verifySignature(k.body, k.serviceSignature, k.secret + "x")));
    for (const name of Object.keys(headersOf(k))) {
      assert.ok(!(await signed(k, k.secret, { headers: { ...headersOf(k), [name]: "1" + headersOf(k)[name] } })), `${name} was changed`);
      assert.ok(!(await signed(k, k.secret, { headers: { ...headersOf(k), [name]: undefined } })), `${name} is missing`);
    }
    assert.ok(await signed(k, k.secret, { headers: { ...headersOf(k), "webhook-signature": `v1,AAAA v2,x ${k.standardSignature}` } }));
  });
}

test("the reference library of Standard Webhooks computes the same", () => {
  for (const k of rows) {
    const hook = new Webhook(Buffer.from(k.standardKeyHex, "hex"), { format: "raw" });
    assert.equal(hook.sign(k.id, new Date(k.timestamp * 1000), k.body), k.standardSignature, k.name);
  }
});

const event = { event: "envelope.completed", id: "evt_1", envelopeId: "e1", createdAt: new Date().toISOString(), data: { status: "completed", signers: [] } };

function delivery(secret, body, at = new Date()) {
  const hook = new Webhook(Buffer.from(secret), { format: "raw" });
  return { method: "POST", body, headers: { "webhook-id": "evt_1", "webhook-timestamp": String(Math.floor(at.getTime() / 1000)), "webhook-signature": hook.sign("evt_1", at, body) } };
}

async function drive(deliver) {
  const body = JSON.stringify(event);
  assert.equal(await deliver(delivery("new", body)), 204);
  assert.equal(await deliver(delivery("old", body)), 204);
  assert.equal(await deliver(delivery("other", body)), 401);
  assert.equal(await deliver(delivery("new", body, new Date(Date.now() - 3600_000))), 401);
  assert.equal(await deliver({ ...delivery("new", body), body: body + " " }), 401);
  assert.equal(await deliver(delivery("new", JSON.stringify({ ...event, id: "fails" }))), 500);
  assert.equal(await deliver({ method: "GET" }), 405);
}

function receiver() {
  const got = [];
  return { got, fn: (e) => { if (e.id === "fails") throw new Error("disk full"); got.push(e.id); } };
}

test("a fetch handler verifies deliveries", async () => {
  const { got, fn } = receiver();
  const handler = fetchHandler(["old", "new"], fn);
  await drive(async (init) => (await handler(new Request("http://localhost/hooks", init))).status);
  assert.deepEqual(got, ["evt_1", "evt_1"]);
});

test("a node handler verifies deliveries", async () => {
  const { got, fn } = receiver();
  const handler = expressHandler(["old", "new"], fn);
  const server = createServer((req, res) => void handler(req, res));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    await drive(async (init) => (await fetch(`http://127.0.0.1:${server.address().port}/hooks`, init)).status);
  } finally {
    server.close();
  }
  assert.deepEqual(got, ["evt_1", "evt_1"]);
});

test("a parsed body is rejected with an explanation", async () => {
  const res = { statusCode: 0, text: "", end(t) { this.text = t; } };
  await expressHandler("new", () => {})({ method: "POST", headers: {}, body: event, async *[Symbol.asyncIterator]() {} }, res);
  assert.equal(res.statusCode, 500);
  assert.match(res.text, /express\.raw/);
});
