import "./pages.css";
import { layText, type PageText, type TextLayer } from "./textlayer";

/** A page on the screen. */
export interface Sheet {
  documentId: string;
  page: number;
  /** Contains the image and the text. Its width in CSS pixels determines the level. */
  holder: HTMLElement;
  /** The page's width in points. */
  width: number;
  /** The alternative text of a page without text, such as a scan. */
  alt?: string;
  onDrawn: () => void;
  /** The text was added to the holder. */
  onText?: (text: TextLayer) => void;
  /** The image was removed to save memory. It is displayed again when the page comes close to the visible area. */
  onErased?: () => void;
  onFailed: () => void;
}

/** Level k is rendered at 72·k dots per inch. The service renders no other levels. */
export type Level = 1 | 2 | 4;

/**
 * Returns the level for a number of device pixels per point. The browser scales the image down, or up by an
 * imperceptible amount.
 */
export const levelFor = (density: number): Level => (density <= 1.1 ? 1 : density <= 2.2 ? 2 : 4);

const maxShown = 12; // in pages
const atOnce = 3; // in requests
const settle = 120; // milliseconds without scrolling before skipped pages are requested
const maxWaits = 5; // maximum number of retries while the service is busy

/** A response to a request for a page other than the page itself. */
class PageError extends Error {
  constructor(readonly status: number, readonly retryAfter: number) { super(`HTTP ${status}`); }
}

interface Shown { level: Level; wanted: Level; abort: AbortController | null; text: boolean }

interface Connection { saveData?: boolean; effectiveType?: string }

/** Reports whether the browser knows that its network is slow or that data is expensive. */
export const isSlowNetwork = (): boolean => {
  const c = (navigator as Navigator & { connection?: Connection }).connection;
  return c?.saveData === true || (c?.effectiveType !== undefined && c.effectiveType !== "4g");
};

/**
 * Displays pages as images that the service renders, together with their text. It requests only pages close to the
 * visible area, with visible pages first, and keeps only a few pages.
 */
export class Viewer {
  private shown = new Map<Sheet, Shown>();
  private wanted: Sheet[] = [];
  private running = 0;
  private closed = false;
  private keepsAll = false;
  private timer = 0;
  private prepared = new Map<string, Promise<HTMLImageElement>>();
  private spares: { go: () => void }[] = []; // requests for thumbnails that are waiting
  private sparing = false;
  private texts = new Map<string, Promise<PageText>>();

  constructor(
    /** Returns the path of a page's image. The path of the page's text begins with this path. */
    private readonly pathOf: (documentId: string, page: number) => string,
    private readonly headers: () => Record<string, string>,
    /** Whether text can be selected and read aloud. */
    private readonly withText = true,
    /** Additional parameters of the requests for images. */
    private readonly parameters = "",
  ) {}

  /** Requests a page before it is displayed at the given number of CSS pixels per point. */
  prepare(documentId: string, page: number, scale: number): void {
    const level = isSlowNetwork() ? 1 : levelFor(scale * deviceDensity());
    const key = `${documentId}/${page}/${level}`;
    if (this.prepared.has(key)) return;
    const picture = this.fetchPicture(documentId, page, level).then(decoded);
    this.prepared.set(key, picture);
    picture.catch(() => this.prepared.delete(key)); // requested again when it is displayed
    if (this.withText) picture.then(() => this.text(documentId, page)).catch(() => undefined);
  }

  /** Returns the words of a page with their positions. */
  text(documentId: string, page: number): Promise<PageText> {
    const key = `${documentId}/${page}`;
    let found = this.texts.get(key);
    if (!found) {
      found = this.patient(() => this.fetch(`${this.pathOf(documentId, page)}/text`)).then((res) => res.json() as Promise<PageText>);
      this.texts.set(key, found);
      found.catch(() => this.texts.delete(key));
    }
    return found;
  }

  /** Returns the lines and images of a page as returned by the service. */
  async lines<T>(documentId: string, page: number): Promise<T> {
    return (await this.patient(() => this.fetch(`${this.pathOf(documentId, page)}/lines`))).json() as Promise<T>;
  }

  /** Returns the size of the displayed page in points. */
  async pageSize(documentId: string, page: number): Promise<{ width: number; height: number }> {
    const { width, height } = await this.text(documentId, page);
    return { width, height };
  }

  /** Sets the pages that should be displayed, the most urgent first. */
  want(sheets: Sheet[]): void {
    this.wanted = sheets;
    let passed = false;
    for (const [sheet, s] of this.shown) {
      if (!s.abort || this.keepsAll || sheets.includes(sheet)) continue;
      passed = true; // requested, but no longer close to the visible area
      this.erase(sheet);
    }
    this.thin();
    clearTimeout(this.timer);
    if (passed) this.timer = window.setTimeout(() => this.work(), settle);
    else this.work();
  }

  /** Requests other levels for pages whose size on the screen has changed. */
  refresh(): void {
    this.work();
  }

  /** Displays all sheets until the callback has returned. */
  async withAll(sheets: readonly Sheet[], act: () => void): Promise<void> {
    this.keepsAll = true;
    try {
      for (const sheet of sheets) {
        if (this.closed) return;
        if (!this.shown.get(sheet)?.level) await this.show(sheet, 2);
      }
      act();
    } finally {
      this.keepsAll = false;
      this.thin();
    }
  }

  /**
   * Returns the image of a page for its thumbnail as soon as nothing more urgent is in progress. The image has the
   * level at which the page is read, so the browser already has it when the user reaches the page.
   */
  async spare(sheet: Pick<Sheet, "documentId" | "page">, scale: number, signal: AbortSignal): Promise<HTMLImageElement> {
    await new Promise<void>((go, stop) => {
      const entry = { go: () => { signal.removeEventListener("abort", leave); go(); } };
      const leave = () => {
        this.spares = this.spares.filter((o) => o !== entry);
        stop(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.spares.push(entry);
      this.work();
    });
    try {
      return await decoded(await this.fetchPicture(sheet.documentId, sheet.page, levelFor(scale * deviceDensity()), signal));
    } finally {
      this.sparing = false;
      this.work();
    }
  }

  private work(): void {
    while (!this.closed && this.running < atOnce) {
      const next = this.next();
      if (!next) break;
      this.running++;
      void this.show(...next).finally(() => {
        this.running--;
        this.work();
      });
    }
    if (this.closed || this.running > 0 || this.sparing) return;
    const spare = this.spares.shift();
    if (!spare) return;
    this.sparing = true;
    spare.go();
  }

  /**
   * Returns the most urgent page whose image at the required level is missing. On a slow network, a page is first
   * displayed at the lowest level.
   */
  private next(): [Sheet, Level] | undefined {
    let sharper: [Sheet, Level] | undefined;
    for (const sheet of this.wanted) {
      const s = this.shown.get(sheet);
      const level = levelFor(density(sheet));
      if (s?.abort && s.wanted >= level) continue;
      if (!s?.level) {
        if (!s?.abort) return [sheet, isSlowNetwork() ? 1 : level];
      } else if (s.level < level) {
        sharper ??= [sheet, level];
      }
    }
    return sharper;
  }

  private async show(sheet: Sheet, level: Level): Promise<void> {
    const before = this.shown.get(sheet);
    before?.abort?.abort();
    const abort = new AbortController();
    const s: Shown = { level: before?.level ?? (0 as Level), wanted: level, abort, text: before?.text ?? false };
    this.shown.delete(sheet); // the newest page is last
    this.shown.set(sheet, s);
    try {
      const key = `${sheet.documentId}/${sheet.page}/${level}`;
      const prepared = this.prepared.get(key);
      this.prepared.delete(key);
      const picture = await (prepared ?? this.fetchPicture(sheet.documentId, sheet.page, level, abort.signal).then(decoded));
      if (abort.signal.aborted) return;
      const old = sheet.holder.querySelector("img");
      picture.alt = old?.alt ?? "";
      if (old) old.replaceWith(picture);
      else sheet.holder.prepend(picture);
      s.level = level;
      if (!before?.level) sheet.onDrawn();
      if (this.withText && !s.text) {
        const text = await this.text(sheet.documentId, sheet.page);
        if (abort.signal.aborted) return;
        const layer = layText(text);
        sheet.holder.append(layer.element);
        sheet.onText?.(layer);
        if (text.words.length === 0) picture.alt = sheet.alt ?? "";
        s.text = true;
      }
    } catch {
      if (abort.signal.aborted) return;
      this.wanted = this.wanted.filter((w) => w !== sheet);
      if (!s.level) {
        this.shown.delete(sheet);
        sheet.onFailed();
      }
    } finally {
      if (s.abort === abort) s.abort = null;
    }
  }

  private async fetchPicture(documentId: string, page: number, level: Level, signal?: AbortSignal): Promise<Blob> {
    return (await this.patient(() => this.fetch(`${this.pathOf(documentId, page)}?level=${level}${this.parameters}`, signal), signal)).blob();
  }

  private async fetch(path: string, signal?: AbortSignal): Promise<Response> {
    const res = await fetch(path, { headers: this.headers(), credentials: "same-origin", signal });
    if (!res.ok) throw new PageError(res.status, Number(res.headers.get("Retry-After")) || 0);
    return res;
  }

  /** Repeats a request while the service is busy. */
  private async patient(ask: () => Promise<Response>, signal?: AbortSignal): Promise<Response> {
    for (let waits = 0; ; waits++) {
      try {
        return await ask();
      } catch (e) {
        if (!(e instanceof PageError) || (e.status !== 429 && !e.retryAfter) || waits >= maxWaits || this.closed) throw e;
        await new Promise((done) => setTimeout(done, Math.min(10, Math.max(1, e.retryAfter)) * 1000));
        if (signal?.aborted) throw e;
      }
    }
  }

  /** Removes the least recently displayed pages that are not wanted. */
  private thin(): void {
    if (this.keepsAll) return;
    for (const sheet of [...this.shown.keys()]) {
      if (this.shown.size <= maxShown) return;
      if (!this.wanted.includes(sheet)) this.erase(sheet);
    }
  }

  private erase(sheet: Sheet): void {
    this.shown.get(sheet)?.abort?.abort();
    this.shown.delete(sheet);
    this.texts.delete(`${sheet.documentId}/${sheet.page}`);
    sheet.holder.replaceChildren();
    sheet.onErased?.();
  }

  close(): void {
    this.closed = true;
    this.wanted = [];
    clearTimeout(this.timer);
    for (const sheet of [...this.shown.keys()]) this.erase(sheet);
  }
}

/** Returns the device pixels per CSS pixel, including pinch zoom. */
const deviceDensity = (): number => (window.devicePixelRatio || 1) * Math.min(window.visualViewport?.scale ?? 1, 4);

/** Returns the device pixels per point of the displayed page. */
const density = (sheet: Sheet): number => (sheet.holder.clientWidth / sheet.width) * deviceDensity();

/** Returns an image that can be displayed immediately. */
async function decoded(blob: Blob): Promise<HTMLImageElement> {
  const picture = new Image();
  picture.alt = "";
  picture.draggable = false;
  const address = URL.createObjectURL(blob);
  picture.src = address;
  try {
    await picture.decode();
  } finally {
    URL.revokeObjectURL(address);
  }
  return picture;
}
