// An application that uses the TypeScript client, for tests written in Go. Each input line is a call, {id, call,
// args}, and each output line is a result, {id, result} or {id, error}. A file is {base64}.
import { createInterface } from "node:readline";
import { Countersign, CountersignError } from "../../clients/typescript/dist/index.js";

const env = process.env;
const c = new Countersign({ address: env.COUNTERSIGN_URL, clientId: env.COUNTERSIGN_CLIENT_ID, clientSecret: env.COUNTERSIGN_CLIENT_SECRET });

const bytes = (file) => Buffer.from(file.base64, "base64");
const file = async (stream) => ({ base64: Buffer.from(await new Response(await stream).arrayBuffer()).toString("base64") });
const calls = {
  // A multipart form includes the file's name.
  create: async (envelope, pdf) => {
    const form = new FormData();
    form.set("data", JSON.stringify(envelope));
    form.set("file", new Blob([bytes(pdf)], { type: "application/pdf" }), "lease.pdf");
    return (await c.request("POST", "/v1/envelopes", { body: form })).json();
  },
  upload: (id, pdf, options) => c.upload(id, bytes(pdf), options),
  sendEnvelope: (id, message) => c.sendEnvelope(id, message),
  envelope: (id) => c.envelope(id),
  download: (id, kind) => file(c.download(id, kind)),
  call: (method, path, body) => c.call(method, path, body === null ? {} : { body }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, call, args } = JSON.parse(line);
  const answer = (a) => process.stdout.write(JSON.stringify({ id, ...a }) + "\n");
  calls[call](...args).then(
    (result) => answer({ result: result ?? null }),
    (err) => answer({ error: { status: err instanceof CountersignError ? err.status : 0, message: String(err.message) } }),
  );
}
