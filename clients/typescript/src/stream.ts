/** The maximum interval without data in a stream. The service sends data at least every 15 seconds. */
const silence = 45_000;

/**
 * Yields the blocks of a stream of server-sent events. Each block contains the last ID and the data. The data is empty
 * for a comment, or for an ID without data.
 */
export async function* blocks(body: ReadableStream<Uint8Array>): AsyncGenerator<{ id: string; data: string }, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "", id = "", data: string[] = [];
  try {
    for (;;) {
      const part = await within(reader.read(), silence);
      if (part.done) return;
      const lines = (rest + decoder.decode(part.value, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const text = line.replace(/\r$/, "");
        const at = text.indexOf(":");
        const name = at < 0 ? text : text.slice(0, at);
        const value = at < 0 ? "" : text.slice(at + 1).replace(/^ /, "");
        if (text === "") { // an empty line ends a block; an incomplete block is ignored
          yield { id, data: data.join("\n") };
          data = [];
        } else if (name === "id") id = value;
        else if (name === "data") data.push(value);
      }
    }
  } finally {
    await reader.cancel().catch(() => {}); // the stream may already be broken
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await Promise.race([promise, new Promise<never>((_, reject) => { timer = setTimeout(() => reject(new Error("the stream is silent")), ms); })]);
  } finally {
    clearTimeout(timer);
  }
}
