import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { Countersign, CountersignError, EndedError, expressHandler } from "../../clients/typescript/dist/index.js";

const env = process.env;
const c = new Countersign({ address: env.COUNTERSIGN_URL, clientId: env.COUNTERSIGN_CLIENT_ID, clientSecret: env.COUNTERSIGN_CLIENT_SECRET });
const signature = readFileSync(env.TEST_SIGNATURE).toString("base64");
const pdf = readFileSync(env.TEST_PDF);

async function sign(sent) {
  const [signer] = sent.signers;
  const link = `${env.COUNTERSIGN_URL}/v1/signing/${signer.signingUrl.split("/").pop()}`;
  const post = async (call, body) => {
    const res = await fetch(link + call, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    assert.equal(res.status, 200, await res.text());
  };
  await post("/consent", {});
  await post("/sign", { fields: sent.fields.map((f) => ({ fieldId: f.id, signatureImageBase64: signature })) });
}

const request = (subject) => ({
  tenantId: "acme", subject, signers: [{ name: "Ada", email: "ada@example.com", authMethod: "none" }],
  fields: [{ signerId: "0", type: "signature", page: 1, x: 72, y: 600, w: 180, h: 50 }],
});

test("an envelope from draft to sealed PDF", { timeout: 120_000 }, async () => {
  const heard = [];
  const handler = expressHandler(["another", "hook-secret"], (e) => void heard.push(e.event));
  const server = createServer((req, res) => void handler(req, res));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    await c.call("post", "/v1/webhooks", { body: { url: `http://127.0.0.1:${server.address().port}`, secret: "hook-secret", events: ["signer.signed", "envelope.completed"] } });
    const draft = await c.create(request("From TypeScript"));
    assert.equal((await c.upload(draft.id, new Blob([pdf]).stream())).pageCount, 1);
    await sign(await c.sendEnvelope(draft.id, "Please sign."));
    const done = await c.waitUntilCompleted(draft.id);
    assert.equal(done.status, "completed");
    const sealed = new Uint8Array(await new Response(await c.download(draft.id)).arrayBuffer());
    assert.equal(new TextDecoder().decode(sealed.slice(0, 5)), "%PDF-");

    const wrong = request("Wrong");
    wrong.signers[0].email = "nobody";
    await assert.rejects(c.create(wrong), (err) => err instanceof CountersignError && err.status === 400 && "signers[0].email" in err.fields);
    await assert.rejects(c.envelope(crypto.randomUUID()), (err) => err.status === 404);

    const other = await c.create(request("To be voided"));
    await c.upload(other.id, pdf);
    await c.sendEnvelope(other.id);
    await c.voidEnvelope(other.id, "A mistake");
    await assert.rejects(c.waitUntilCompleted(other.id), EndedError);
    const ids = [];
    for await (const e of c.envelopes("acme")) ids.push(e.id);
    assert.deepEqual(ids, [other.id, draft.id]);


    const ofDraft = [];
    for await (const e of c.readEvents()) if (e.envelopeId === draft.id) ofDraft.push(e);
    assert.deepEqual(ofDraft.map((e) => e.event), ["envelope.created", "envelope.sent", "signer.viewed", "signer.signed", "envelope.completed"].filter((n) => ofDraft.some((e) => e.event === n)));
    assert.equal(ofDraft.at(-1).event, "envelope.completed");
    const stop = new AbortController();
    const live = c.follow({ after: ofDraft.at(-1).id, signal: stop.signal });
    assert.equal((await live.next()).value.event, "envelope.created");
    assert.equal((await live.next()).value.event, "envelope.sent");
    assert.equal((await live.next()).value.event, "envelope.voided");
    const next = live.next();
    const third = await c.create(request("While it is followed"));
    assert.equal((await next).value.envelopeId, third.id);
    stop.abort();
    await assert.rejects(live.next());
    await c.voidEnvelope(third.id);

    const until = Date.now() + 30_000;
    while (heard.length < 2 && Date.now() < until) await new Promise((r) => setTimeout(r, 50));
    assert.deepEqual([...heard].sort(), ["envelope.completed", "signer.signed"]);
  } finally {
    server.close();
  }
});
