/** The record that a sealed PDF carries in its attachment; worth as much as the verdict on the file. */
export interface Manifest {
  signers: { id: string; name: string; email: string; signedAt?: string; authMethod: string }[];
  events: { seq: number; event: string; timestamp: string; actor: string; ip?: string | null; hash: string }[];
}

/** Its key among the embedded files. */
const attachment = "countersign-seal.json";

/** Reads the record from a sealed PDF, here in the browser; null if there is none. */
export async function readManifest(file: Blob): Promise<Manifest | null> {
  try {
    const [lib, worker] = await Promise.all([import("pdfjs-dist/legacy/build/pdf.mjs"), import("pdfjs-dist/legacy/build/pdf.worker.min.mjs?url")]);
    lib.GlobalWorkerOptions.workerSrc = worker.default;
    const doc = await lib.getDocument({ data: new Uint8Array(await file.arrayBuffer()), isEvalSupported: false }).promise;
    const all = (await doc.getAttachments()) as Record<string, { content: Uint8Array }> | null;
    const found = all?.[attachment];
    void doc.destroy();
    if (!found) return null;
    const sealed = JSON.parse(new TextDecoder().decode(found.content)) as { payload: string };
    const bytes = Uint8Array.from(atob(sealed.payload.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const m = JSON.parse(new TextDecoder().decode(bytes)) as { signers?: Manifest["signers"]; audit?: { events?: Manifest["events"] } };
    return { signers: m.signers ?? [], events: m.audit?.events ?? [] };
  } catch {
    return null;
  }
}
