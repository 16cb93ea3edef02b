/** The history of the builder in the browser's storage for this tab. */
import { forget, keep, kept } from "./kept";

const longestHistory = 100; // maximum number of stored steps in each direction
const longest = 1_000_000; // characters, so that space remains for work on other drafts
const delay = 300; // milliseconds; nothing is written while a field is being dragged

/**
 * Objects that many states share. Each object is written only once, because consecutive states of a draft differ in
 * only a few fields.
 */
export class Shared {
  private readonly numbers = new Map<object, number>();
  readonly objects: object[] = [];

  put(list: readonly object[]): number[] {
    return list.map((o) => {
      let n = this.numbers.get(o);
      if (n === undefined) {
        n = this.objects.push(o) - 1;
        this.numbers.set(o, n);
      }
      return n;
    });
  }
}

/** Returns the objects of a list that was written with Shared.put. */
export function objectsAt<T>(objects: readonly unknown[], list: unknown): T[] {
  if (!Array.isArray(list)) throw new TypeError();
  return list.map((n: number) => {
    const o = objects[n];
    if (typeof o !== "object" || o === null) throw new TypeError();
    return o as T;
  });
}

/** Returns the newest steps of a history, up to the first step that cannot be stored. */
export function newest<E>(entries: readonly E[], most: number, canBeKept: (e: E) => boolean): E[] {
  let from = Math.max(0, entries.length - most);
  for (let i = entries.length - 1; i >= from; i--) if (!canBeKept(entries[i]!)) from = i + 1;
  return entries.slice(from);
}

/** Writes a state to the browser's storage shortly after it has changed, and immediately when the page is left. */
export class Keeper {
  private timer = 0;

  /**
   * The argument write is a function that returns the data to store, with at most the given number of steps in each
   * direction, or null if there is nothing to store.
   */
  constructor(private readonly name: string, private readonly write: (steps: number) => object | null, private readonly done: (taken: boolean) => void = () => undefined) {
    addEventListener("pagehide", this.now);
  }

  soon(): void {
    this.timer ||= window.setTimeout(this.now, delay);
  }

  /** Stores fewer steps if all of them are too large for the browser. */
  readonly now = (): void => {
    clearTimeout(this.timer);
    this.timer = 0;
    for (let steps = longestHistory; ; steps = Math.floor(steps / 4)) {
      const content = this.write(steps);
      if (!content) return forget(this.name);
      if (keep(this.name, content, longest)) return this.done(true);
      if (steps === 0) return this.done(false);
    }
  };

  /** Returns the stored data. The given function reads the data, and throws an error if the form is invalid. */
  read<T>(reads: (content: Record<string, unknown>) => T): T | null {
    const content = kept<Record<string, unknown>>(this.name, () => true);
    try {
      return content && reads(content);
    } catch {
      forget(this.name);
      return null;
    }
  }

  forget(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    forget(this.name);
  }

  /** Stops writing. The stored data remains. */
  close(): void {
    if (this.timer) this.now();
    removeEventListener("pagehide", this.now);
  }
}
