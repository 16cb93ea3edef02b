/** The history of an editor, for undo and redo. */

const longest = 500; // maximum number of entries

/** Entries that can be undone and redone. The last entry of each list is the next one to use. */
export class Undo<Entry> {
  private merge = "";

  constructor(readonly past: Entry[] = [], readonly future: Entry[] = []) {}

  /**
   * Records the state before a change. Consecutive changes of the same kind, such as key presses that move a field,
   * have the same merge value and are undone in one step.
   */
  record(before: Entry, merge = ""): void {
    if (!merge || merge !== this.merge) {
      this.past.push(before);
      if (this.past.length > longest) this.past.shift();
    }
    this.merge = merge;
    this.future.length = 0;
  }

  /** Ends the merging of changes, so that the next change becomes a separate step. */
  split(): void {
    this.merge = "";
  }

  /** Replaces every entry. */
  map(change: (entry: Entry) => Entry): void {
    for (const list of [this.past, this.future]) list.splice(0, list.length, ...list.map(change));
  }
}
