import { t } from "./texts";

/** A file in an archive. */
export interface ArchivedFile { name: string; data: Uint8Array<ArrayBuffer> }

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function crc32(data: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of data) c = crcTable[(c ^ byte) & 0xff]! ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** The maximum size of an archive without ZIP64. */
const largest = 0xffffffff;

/** Returns a ZIP header with fields of two (s) or four (l) bytes, in little-endian order. */
function header(layout: string, ...values: number[]): Uint8Array<ArrayBuffer> {
  const bytes = new DataView(new ArrayBuffer([...layout].reduce((n, c) => n + (c === "s" ? 2 : 4), 0)));
  let at = 0;
  [...layout].forEach((c, i) => {
    if (c === "s") bytes.setUint16(at, values[i]!, true);
    else bytes.setUint32(at, values[i]!, true);
    at += c === "s" ? 2 : 4;
  });
  return new Uint8Array(bytes.buffer);
}

const utf8Names = 0x0800;
const earliest = 0x21; // January 1, 1980 in the format's date encoding

/**
 * Returns a ZIP archive of files that are already compressed, such as PDFs. Files with the same name are numbered.
 */
export function zipOf(files: readonly ArchivedFile[]): Blob {
  if (files.reduce((n, f) => n + f.data.length + 1024, 0) > largest) throw new Error(t("archiveTooLarge"));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  const taken = new Set<string>();
  let at = 0;
  for (const { name, data } of files) {
    let own = name;
    for (let n = 2; taken.has(own); n++) own = name.replace(/(\.[^./]*)?$/, ` (${n})$1`);
    taken.add(own);
    const bytes = new TextEncoder().encode(own);
    const [crc, size] = [crc32(data), data.length];
    parts.push(header("lssssslllss", 0x04034b50, 20, utf8Names, 0, 0, earliest, crc, size, size, bytes.length, 0), bytes, data);
    directory.push(header("lsssssslllsssssll", 0x02014b50, 20, 20, utf8Names, 0, 0, earliest, crc, size, size, bytes.length, 0, 0, 0, 0, 0, at), bytes);
    at += 30 + bytes.length + size;
  }
  const length = directory.reduce((n, d) => n + d.length, 0);
  return new Blob([...parts, ...directory, header("lsssslls", 0x06054b50, 0, 0, files.length, files.length, length, at, 0)], { type: "application/zip" });
}
