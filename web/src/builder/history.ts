/** The history of the builder, as the browser keeps it for this tab. */
import { forget, keep, kept } from "./kept";

const longestHistory = 100; // steps back and forward that are kept, each
const longest = 1_000_000; // characters, so that there is room for the work of other drafts
const delay = 300; // milliseconds; nothing is written while a field is dragged

/** Objects that many states share, each written once. Two states of a draft differ in few fields. */
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

/** The objects of a list that was put, in a state that is read again. */
export function objectsAt<T>(objects: readonly unknown[], list: unknown): T[] {
  if (!Array.isArray(list)) throw new TypeError();
  return list.map((n: number) => {
    const o = objects[n];
    if (typeof o !== "object" || o === null) throw new TypeError();
    return o as T;
  });
}

/** Returns the newest steps of a history that are kept, up to the first that cannot be. */
export function newest<E>(entries: readonly E[], most: number, canBeKept: (e: E) => boolean): E[] {
  let from = Math.max(0, entries.length - most);
  for (let i = entries.length - 1; i >= from; i--) if (!canBeKept(entries[i]!)) from = i + 1;
  return entries.slice(from);
}

/** Writes a state to the browser's store some time after it changed, and at once when the page is left. */
export class Keeper {
  private timer = 0;

  /**
   * write returns the data to keep, with at most steps entries in each direction, or null if there is nothing to keep.
   */
  constructor(private readonly name: string, private readonly write: (steps: number) => object | null, private readonly done: (taken: boolean) => void = () => undefined) {
    addEventListener("pagehide", this.now);
  }

  soon(): void {
    this.timer ||= window.setTimeout(this.now, delay);
  }

  /** Keeps fewer steps where all are too much for the browser. */
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

  /** Returns the kept data, read by a function that throws if the form is not valid. */
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

  /** Stops writing. The kept data stays. */
  close(): void {
    if (this.timer) this.now();
    removeEventListener("pagehide", this.now);
  }
}
