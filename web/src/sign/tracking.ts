import type { PageViewReporter } from "./pageviews";
import type { Sheet, Viewer } from "../pages/viewer";

/**
 * The minimum scale at which a page can count as read: 60% of its printed size. At this scale or a larger one, the
 * rendered page must be visible for 1.5 seconds in total, and each tenth of its height must be visible for 0.3 seconds.
 */
export const legibleScale = 0.6;
const pageTime = 1500; // in milliseconds
const tenthTime = 300; // in milliseconds
const tick = 100; // in milliseconds
const margin = 0.02; // tolerance at the edges of a tenth, as a share of the height

/** The time for which the parts of a page were visible. */
interface ViewedTime { total: number; tenths: number[] }

/** Tracks which pages are near the visible area, visible, and read. */
export class ReadingTracker {
  onRead: (key: string) => void = () => {};
  /** Receives the first page that is in view. */
  onSight: (key: string) => void = () => {};
  /** Receives whether a visible page is too small to be read. */
  onSmall: (small: boolean) => void = () => {};
  private sheets = new Map<string, { sheet: Sheet; element: HTMLElement }>();
  private keys = new WeakMap<Element, string>();
  private near = new Set<string>();
  private visible = new Set<string>();
  private inSight = new Set<string>();
  private ready = new Set<string>();
  private sights = new Map<string, ViewedTime>();
  private read = new Set<string>();
  private timer = 0;
  private last = 0;
  private nearby: IntersectionObserver | null = null;
  private sight: IntersectionObserver | null = null;
  private pinch = () => this.viewer.refresh();

  constructor(private readonly viewer: Viewer, private readonly dwell: PageViewReporter, read: ReadonlySet<string>) {
    this.read = new Set(read);
  }

  open(): void {
    this.nearby = new IntersectionObserver((entries) => {
      for (const e of entries) toggle(this.near, this.keys.get(e.target)!, e.isIntersecting);
      this.look();
    }, { rootMargin: "120% 0px" });
    const steps = Array.from({ length: 21 }, (_, i) => i / 20);
    this.sight = new IntersectionObserver((entries) => {
      for (const e of entries) {
        const key = this.keys.get(e.target)!;
        toggle(this.visible, key, e.isIntersecting);
        const tall = e.rootBounds?.height ?? innerHeight;
        // Whether half of the page is visible, or the page fills half of the screen.
        toggle(this.inSight, key, e.intersectionRatio >= 0.5 || e.intersectionRect.height >= tall / 2);
      }
      this.look();
    }, { threshold: steps });
    for (const { element } of this.sheets.values()) {
      this.nearby.observe(element);
      this.sight.observe(element);
    }
    window.visualViewport?.addEventListener("resize", this.pinch);
    this.last = performance.now();
    this.timer = window.setInterval(this.count, tick);
  }

  close(): void {
    this.nearby?.disconnect();
    this.sight?.disconnect();
    window.visualViewport?.removeEventListener("resize", this.pinch);
    clearInterval(this.timer);
  }

  place = (key: string, sheet: Sheet, element: HTMLElement | null): void => {
    if (!element) {
      const known = this.sheets.get(key);
      if (known) {
        this.nearby?.unobserve(known.element);
        this.sight?.unobserve(known.element);
      }
      this.sheets.delete(key);
      return;
    }
    this.sheets.set(key, { sheet, element });
    this.keys.set(element, key);
    this.nearby?.observe(element);
    this.sight?.observe(element);
  };

  drawn = (key: string): void => {
    this.ready.add(key);
    this.look();
  };

  erased = (key: string): void => {
    this.ready.delete(key);
    this.see();
  };

  /** Updates the rendering and viewing times to match the visible pages. */
  look = (): void => {
    const urgent = [...this.inSight, ...[...this.near].filter((k) => !this.inSight.has(k))];
    if (urgent[0] && this.inSight.has(urgent[0])) this.onSight(urgent[0]);
    this.viewer.want(urgent.map((k) => this.sheets.get(k)?.sheet).filter((s): s is Sheet => s !== undefined));
    this.see();
  };

  private see(): void {
    if (document.visibilityState === "visible") this.dwell.see(new Set([...this.inSight].filter((k) => this.ready.has(k))));
  }

  /** Adds the time since the last call to the viewed time of each part that is currently legible. */
  private count = (): void => {
    const now = performance.now();
    // A page is not visible while it is suspended.
    const passed = Math.min(now - this.last, 5 * tick);
    this.last = now;
    if (document.visibilityState !== "visible") return;
    let small = false;
    // The part of the page behind the bar is not visible.
    const end = document.querySelector(".bar")?.getBoundingClientRect().top ?? innerHeight;
    for (const key of this.visible) {
      if (this.read.has(key) || !this.ready.has(key)) continue;
      const place = this.sheets.get(key);
      if (!place) continue;
      const { top, height } = place.element.getBoundingClientRect();
      const [from, to] = [-top / height, (Math.min(end, innerHeight) - top) / height];
      const scale = (place.element.clientWidth / place.sheet.width) * (window.visualViewport?.scale ?? 1);
      if (scale < legibleScale - 0.001) {
        small ||= this.inSight.has(key);
        continue;
      }
      const s = this.sights.get(key) ?? { total: 0, tenths: new Array<number>(10).fill(0) };
      this.sights.set(key, s);
      s.total += passed;
      for (let i = 0; i < 10; i++) {
        if (from <= i / 10 + margin && to >= (i + 1) / 10 - margin) s.tenths[i]! += passed;
      }
      if (s.total >= pageTime && s.tenths.every((t) => t >= tenthTime)) {
        this.read.add(key);
        this.onRead(key);
      }
    }
    this.onSmall(small);
  };

  /**
   * Sets the pages that count as read. A page that no longer counts as read because a value was added can be read
   * again.
   */
  known(read: ReadonlySet<string>): void {
    for (const key of this.read) {
      if (!read.has(key)) this.sights.delete(key);
    }
    this.read = new Set(read);
  }

  /** Performs an action while all pages are displayed. */
  withAll = (act: () => void): Promise<void> => this.viewer.withAll([...this.sheets.values()].map(({ sheet }) => sheet), act);

  /** Returns the position at which the unread part of a page begins, as a share of its height from the top. */
  gap(key: string): number {
    const first = this.sights.get(key)?.tenths.findIndex((t) => t < tenthTime) ?? 0;
    return Math.max(0, first) / 10;
  }
}

function toggle(set: Set<string>, key: string, on: boolean): void {
  if (on) set.add(key);
  else set.delete(key);
}
