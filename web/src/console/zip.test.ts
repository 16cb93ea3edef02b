import { expect, test } from "vitest";
import { zipOf } from "./zip";

test("an archive lists its files, with sizes and checksums, and numbers files of one name", async () => {
  const data = new TextEncoder().encode("123456789");
  const zip = new DataView(await zipOf([{ name: "é/a.pdf", data }, { name: "é/a.pdf", data }]).arrayBuffer());
  const end = zip.byteLength - 22;
  expect(zip.getUint32(end, true)).toBe(0x06054b50);
  expect(zip.getUint16(end + 10, true)).toBe(2);
  let at = zip.getUint32(end + 16, true);
  const names: string[] = [];
  for (let i = 0; i < 2; i++) {
    expect(zip.getUint32(at, true)).toBe(0x02014b50);
    expect(zip.getUint32(at + 16, true)).toBe(0xcbf43926); // the well-known CRC-32 of the digits 1 to 9
    expect(zip.getUint32(at + 20, true)).toBe(9);
    const length = zip.getUint16(at + 28, true);
    names.push(new TextDecoder().decode(new Uint8Array(zip.buffer, at + 46, length)));
    const local = zip.getUint32(at + 42, true);
    expect(zip.getUint32(local, true)).toBe(0x04034b50);
    expect(new TextDecoder().decode(new Uint8Array(zip.buffer, local + 30 + zip.getUint16(local + 26, true), 9))).toBe("123456789");
    at += 46 + length;
  }
  expect(names).toEqual(["é/a.pdf", "é/a (2).pdf"]);
  expect(at).toBe(end);
});
