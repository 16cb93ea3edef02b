import type { PageViewport, PDFDocumentProxy, PDFPageProxy, RenderTask, TextLayer } from "pdfjs-dist";
import modernWorker from "pdfjs-dist/build/pdf.worker.mjs?worker&url";
import legacyWorker from "pdfjs-dist/legacy/build/pdf.worker.mjs?worker&url";

type PdfJs = typeof import("pdfjs-dist");

/** The plain build of pdf.js is a quarter smaller, and is for browsers that have all that it uses. */
function isModern(): boolean {
  const has = (of: unknown, name: string) => typeof (of as Record<string, unknown>)[name] === "function";
  return has(Promise, "try") && has(Promise, "withResolvers") && has(URL, "parse") && has(Math, "sumPrecise") && has(Uint8Array, "fromBase64")
    && has(Uint8Array.prototype, "toHex") && has(AbortSignal, "any") && has(ArrayBuffer.prototype, "transferToFixedLength");
}

let loading: Promise<PdfJs> | null = null;

/** Starts a worker of pdf.js, which reports by a message that it is ready. */
function startWorker(address: string): Promise<Worker> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(address, { type: "module" });
    worker.addEventListener("message", () => resolve(worker), { once: true });
    worker.addEventListener("error", () => {
      worker.terminate();
      reject(new Error("the worker of the viewer did not start"));
    }, { once: true });
  });
}

/** Loads pdf.js. Script and worker are fetched and compiled at once, and all documents share the worker. */
export function loadViewer(): Promise<PdfJs> {
  loading ??= (async () => {
    const modern = isModern();
    const started = startWorker(modern ? modernWorker : legacyWorker);
    started.catch(() => undefined); // awaited below, once the script has loaded
    try {
      const found = await (modern ? import("pdfjs-dist") : import("pdfjs-dist/legacy/build/pdf.mjs")) as PdfJs;
      found.GlobalWorkerOptions.workerPort = await started;
      return found;
    } catch (e) {
      void started.then((worker) => worker.terminate(), () => undefined);
      throw e;
    }
  })();
  loading.catch(() => { loading = null; });
  return loading;
}

const wholeFileSize = 1 << 18; // bytes: such a file is fetched whole
const rangeSize = 1 << 18; // bytes per range request
const maxDrawnPages = 12;
const maxCanvasPixels = 12_000_000; // for one canvas: phones reject much larger ones

/** A piece of text with its place in points from the left and top edge of the page. */
export interface PageText { text: string; x: number; y: number; w: number; h: number; rtl?: boolean }

/**
 * The operators of a page with their arguments and names, and the matrix from the page's units to points from the left
 * and top edge.
 */
export interface PageOperators { ops: readonly number[]; args: readonly unknown[]; names: ReadonlyMap<number, string>; toPage: readonly number[] }

export interface Sheet {
  documentId: string;
  page: number;
  /** Holds canvas and text; its width in CSS pixels decides how finely the page is drawn. */
  holder: HTMLElement;
  /** Width of the page in points. */
  width: number;
  onDrawn: () => void;
  /** The drawing was erased to save memory; it is drawn again when the page comes near. */
  onErased?: () => void;
  onFailed: () => void;
}

/** The flags of the stamp annotations with which the service draws entries: print, read only, locked. */
const stampFlags = 196;

/** Adds people's entries to the text of a page: pdf.js has no text of annotations in its text layer. */
async function addEntries(layer: HTMLElement, page: PDFPageProxy, unit: PageViewport): Promise<void> {
  const annotations = (await page.getAnnotations()) as { subtype: string; annotationFlags: number; contentsObj?: { str: string }; rect: number[] }[];
  for (const a of annotations) {
    if (a.subtype !== "Stamp" || a.annotationFlags !== stampFlags || !a.contentsObj?.str) continue;
    const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = unit.convertToViewportRectangle(a.rect) as number[];
    const span = document.createElement("span");
    span.textContent = a.contentsObj.str;
    span.style.left = `${(100 * Math.min(x0, x1)) / unit.width}%`;
    span.style.top = `${(100 * Math.min(y0, y1)) / unit.height}%`;
    span.style.setProperty("--font-height", `${Math.min(12, Math.abs(y1 - y0))}px`);
    layer.append(span);
  }
}

interface Drawn { page?: PDFPageProxy; task?: RenderTask; text?: TextLayer; density: number; cancelled: boolean }

/**
 * Draws pages of the documents. It reads the files by ranges, keeps few drawn pages, and draws one page at a time,
 * visible ones first. The data for the first page can be fetched before it is shown.
 */
export class Viewer {
  private documents = new Map<string, Promise<PDFDocumentProxy>>();
  private drawn = new Map<Sheet, Drawn>();
  private wanted: Sheet[] = [];
  private busy = false;
  private closed = false;

  private files = new Map<string, Promise<Uint8Array | null>>();

  constructor(private readonly urlOf: (documentId: string) => string, private readonly headers: () => Record<string, string>,
    /** Whether text can be selected and read aloud. */
    private readonly withText = true) {}

  /** Fetches the data for the first page of a document, or all of a small file, while the viewer itself still loads. */
  async prepare(documentId: string, size: number): Promise<void> {
    try {
      if (size <= wholeFileSize && !this.documents.has(documentId)) this.files.set(documentId, this.fetchWhole(documentId));
      const page = await (await this.open(documentId)).getPage(1);
      await page.getOperatorList();
    } catch {
      // The page is loaded again when it is shown; an error is shown then.
      this.documents.delete(documentId);
    }
  }

  /** Returns the size of the displayed page, in points. */
  async pageSize(documentId: string, page: number): Promise<{ width: number; height: number }> {
    const { width, height } = (await (await this.open(documentId)).getPage(page)).getViewport({ scale: 1 });
    return { width, height };
  }

  /**
   * Returns the pieces of upright text of a page, each with its place in points from the left and top edge of the
   * displayed page.
   */
  async texts(documentId: string, page: number): Promise<PageText[]> {
    const found = await (await this.open(documentId)).getPage(page);
    const view = found.getViewport({ scale: 1 });
    const { items } = await found.getTextContent();
    return items.flatMap((item) => {
      if (!("str" in item) || !item.str.trim()) return [];
      const [a, b, , , e, f] = item.transform as number[];
      const [x, y] = view.convertToViewportPoint(e!, f!) as [number, number];
      const [ahead, below] = view.convertToViewportPoint(e! + a!, f! + b!) as [number, number];
      if (ahead <= x || Math.abs(below - y) > 0.1 * (ahead - x)) return []; // vertical or upside down
      const unit = found.userUnit || 1;
      return [{ text: item.str, x, y: y - item.height * unit, w: item.width * unit, h: item.height * unit, rtl: item.dir === "rtl" }];
    });
  }

  /** Returns the operators that draw a page, as pdf.js lists them. */
  async operators(documentId: string, page: number): Promise<PageOperators> {
    const [lib, doc] = await Promise.all([loadViewer(), this.open(documentId)]);
    const found = await doc.getPage(page);
    const { fnArray, argsArray } = await found.getOperatorList();
    const names = new Map(Object.entries(lib.OPS).map(([name, op]) => [op as number, name]));
    // If the page is drawn, its decoded data is freed when it is erased.
    if (![...this.drawn.keys()].some((s) => s.documentId === documentId && s.page === page)) found.cleanup();
    return { ops: fnArray, args: argsArray as unknown[], names, toPage: found.getViewport({ scale: 1 }).transform as number[] };
  }

  /** Names the pages that should be drawn, the most urgent first. */
  want(sheets: Sheet[]): void {
    this.wanted = sheets;
    for (const [sheet, d] of this.drawn) {
      if (d.task && !sheets.includes(sheet)) this.erase(sheet); // being drawn, but no longer near
    }
    this.thin();
    void this.work();
  }

  /** Redraws pages whose size on the screen has changed. */
  refresh(): void {
    void this.work();
  }

  private async work(): Promise<void> {
    if (this.busy || this.closed) return;
    this.busy = true;
    try {
      for (let sheet = this.nextSheet(); sheet && !this.closed; sheet = this.nextSheet()) await this.draw(sheet);
    } finally {
      this.busy = false;
    }
  }

  private nextSheet(): Sheet | undefined {
    return this.wanted.find((s) => {
      const d = this.drawn.get(s);
      return !d || Math.abs(d.density / density(s) - 1) > 0.15;
    });
  }

  private async draw(sheet: Sheet): Promise<void> {
    const d: Drawn = { density: density(sheet), cancelled: false };
    const before = this.drawn.get(sheet);
    this.drawn.delete(sheet); // newest last
    this.drawn.set(sheet, d);
    try {
      const lib = await loadViewer();
      const page = await (await this.open(sheet.documentId)).getPage(sheet.page);
      if (d.cancelled) return;
      d.page = page;
      const unit = page.getViewport({ scale: 1 });
      let scale = (d.density * sheet.width) / unit.width;
      scale *= Math.min(1, Math.sqrt(maxCanvasPixels / (unit.width * unit.height * scale * scale)));
      const viewport = page.getViewport({ scale });
      const canvas = document.createElement("canvas");
      canvas.width = Math.max(1, Math.round(viewport.width));
      canvas.height = Math.max(1, Math.round(viewport.height));
      canvas.setAttribute("aria-hidden", "true");
      d.task = page.render({ canvas, viewport, intent: "display" });
      await d.task.promise;
      d.task = undefined;
      if (d.cancelled) return;
      const old = sheet.holder.querySelector("canvas");
      if (old) {
        old.replaceWith(canvas);
        freeCanvas(old);
      } else {
        sheet.holder.prepend(canvas);
      }
      sheet.onDrawn();
      if (!this.withText) return;
      if (before?.text) {
        d.text = before.text;
        return;
      }
      const layer = document.createElement("div");
      layer.className = "textLayer";
      // The text scales with the page: --total-scale-factor is CSS pixels per unit of the page.
      sheet.holder.style.setProperty("--unit", String(sheet.width / unit.width));
      d.text = new lib.TextLayer({ textContentSource: page.streamTextContent({ includeMarkedContent: true }), container: layer, viewport: unit });
      await d.text.render();
      await addEntries(layer, page, unit);
      if (!d.cancelled) sheet.holder.append(layer);
    } catch (e) {
      if (d.cancelled || (e instanceof Error && e.name === "RenderingCancelledException")) return;
      this.wanted = this.wanted.filter((s) => s !== sheet);
      this.drawn.delete(sheet);
      this.documents.delete(sheet.documentId);
      sheet.onFailed();
    }
  }

  private open(documentId: string): Promise<PDFDocumentProxy> {
    let doc = this.documents.get(documentId);
    if (!doc) {
      doc = this.openNow(documentId);
      this.documents.set(documentId, doc);
    }
    return doc;
  }

  private async openNow(documentId: string): Promise<PDFDocumentProxy> {
    const [lib, data] = await Promise.all([loadViewer(), this.files.get(documentId) ?? null]);
    this.files.delete(documentId);
    return lib.getDocument({
      ...(data ? { data } : { url: this.urlOf(documentId), httpHeaders: this.headers(), rangeChunkSize: rangeSize, disableAutoFetch: true, disableStream: true }),
      // Typefaces that a file names but does not contain are replaced by bundled ones: they look the same on every
      // device.
      useSystemFonts: false, isEvalSupported: false, enableXfa: false,
      cMapUrl: "/viewer/cmaps/", cMapPacked: true, standardFontDataUrl: "/viewer/standard_fonts/", wasmUrl: "/viewer/wasm/",
    }).promise;
  }

  private async fetchWhole(documentId: string): Promise<Uint8Array | null> {
    try {
      const res = await fetch(this.urlOf(documentId), { headers: this.headers(), credentials: "same-origin" });
      return res.ok ? new Uint8Array(await res.arrayBuffer()) : null;
    } catch {
      return null;
    }
  }

  /** Frees the pages drawn longest ago that are not wanted. */
  private thin(): void {
    for (const sheet of [...this.drawn.keys()]) {
      if (this.drawn.size <= maxDrawnPages) return;
      if (!this.wanted.includes(sheet)) this.erase(sheet);
    }
  }

  private erase(sheet: Sheet): void {
    const d = this.drawn.get(sheet);
    if (!d) return;
    d.cancelled = true;
    d.task?.cancel();
    d.text?.cancel();
    d.page?.cleanup(); // pdf.js otherwise keeps pictures and operators as long as the document is open
    this.drawn.delete(sheet);
    const canvas = sheet.holder.querySelector("canvas");
    if (canvas) freeCanvas(canvas);
    sheet.holder.replaceChildren();
    sheet.onErased?.();
  }

  close(): void {
    this.closed = true;
    this.wanted = [];
    for (const sheet of [...this.drawn.keys()]) this.erase(sheet);
    for (const doc of this.documents.values()) void doc.then((d) => d.destroy()).catch(() => undefined);
  }
}

/** Returns the device pixels per point of the displayed page, pinch zoom included. */
function density(sheet: Sheet): number {
  const pinch = Math.min(window.visualViewport?.scale ?? 1, 3);
  return (sheet.holder.clientWidth / sheet.width) * Math.min(window.devicePixelRatio || 1, 3) * pinch;
}

/** Some phones keep a canvas' memory until its size is taken away. */
function freeCanvas(canvas: HTMLCanvasElement): void {
  canvas.width = canvas.height = 0;
}
