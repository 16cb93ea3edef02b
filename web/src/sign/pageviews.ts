import { ApiError, NetworkError } from "../ui/http";

/** One view of a page. */
export interface PageView { documentId: string; page: number; dwellMs: number }

/**
 * The minimum time for which a rendered page must be visible to count as viewed and be reported, in milliseconds.
 * Shorter views usually result from scrolling past the page.
 */
const minPageView = 350;

/** Measures the duration of page views, and reports each view. */
export class PageViewReporter {
  private since = new Map<string, number>();
  private queue: PageView[] = [];
  private sending: Promise<void> | null = null;
  private closed = false;

  constructor(
    private readonly send: (look: PageView, leaving: boolean) => Promise<void>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Sets the pages ("documentId/page") that are currently visible. */
  see(keys: ReadonlySet<string>): void {
    for (const [key, start] of this.since) {
      if (!keys.has(key)) {
        this.since.delete(key);
        this.add(key, this.now() - start);
      }
    }
    this.sending ??= this.drain().finally(() => { this.sending = null; });
    for (const key of keys) {
      if (!this.since.has(key)) this.since.set(key, this.now());
    }
  }

  private add(key: string, ms: number): void {
    if (ms < minPageView || this.closed) return;
    const cut = key.lastIndexOf("/");
    this.queue.push({ documentId: key.slice(0, cut), page: Number(key.slice(cut + 1)), dwellMs: Math.round(ms) });
  }

  private async drain(): Promise<void> {
    for (let look = this.queue.shift(); look; look = this.queue.shift()) {
      try {
        await this.send(look, false);
      } catch (e) {
        if (e instanceof NetworkError || (e instanceof ApiError && (e.status === 429 || e.status >= 500))) {
          this.queue.unshift(look);
          await new Promise((done) => setTimeout(done, Math.max(3, e instanceof ApiError ? e.retryAfter : 0) * 1000));
          if (this.closed) return;
        }
        // Other errors cannot be fixed by retrying.
      }
    }
  }

  /** Reports the remaining views, and waits for at most the given number of milliseconds. */
  async finish(limit: number): Promise<void> {
    this.see(new Set());
    await Promise.race([this.sending ?? Promise.resolve(), new Promise((done) => setTimeout(done, limit))]);
  }

  close(): void {
    this.closed = true;
    this.queue = [];
  }

  /** Sends the current views without waiting, because the user is leaving the page. */
  leave(): void {
    const open = [...this.since];
    this.since.clear();
    for (const [key, start] of open) this.add(key, this.now() - start);
    for (const look of this.queue.splice(0, 8)) void this.send(look, true).catch(() => undefined);
  }
}
