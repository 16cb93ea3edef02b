import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks } from "../dist/stream.js";

test("blocks are complete, however the stream is split", async () => {
  const text = 'retry: 1000\n\nid: 1\n\n: \n\nid: 2\r\nevent: envelope.sent\r\ndata: {"a":"契約"}\r\n\r\nid: 3\ndata: one\ndata: two\n\nid: 4\ndata: cut off';
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size < bytes.length; size += 3) {
    const stream = new ReadableStream({
      start(c) {
        for (let i = 0; i < bytes.length; i += size) c.enqueue(bytes.slice(i, i + size));
        c.close();
      },
    });
    const got = [];
    for await (const b of blocks(stream)) got.push(b);
    assert.deepEqual(got, [{ id: "", data: "" }, { id: "1", data: "" }, { id: "1", data: "" }, { id: "2", data: '{"a":"契約"}' }, { id: "3", data: "one\ntwo" }]);
  }
});
