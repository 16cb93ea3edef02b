/** The history of an editor: what undo takes back, and what redo does again. */

const longest = 500; // entries

/** Entries that were taken back and can be done again. The last entry of each list is the next one. */
export class Undo<Entry> {
  private merge = "";

  constructor(readonly past: Entry[] = [], readonly future: Entry[] = []) {}

  /**
   * Records the state before a change. Changes of one kind that follow each other, such as the steps of a move by keys,
   * are undone in one step: they have the same merge.
   */
  record(before: Entry, merge = ""): void {
    if (!merge || merge !== this.merge) {
      this.past.push(before);
      if (this.past.length > longest) this.past.shift();
    }
    this.merge = merge;
    this.future.length = 0;
  }

  /** Ends the merging of changes: the next one becomes a separate step. */
  split(): void {
    this.merge = "";
  }

  /** Replaces every entry. */
  map(change: (entry: Entry) => Entry): void {
    for (const list of [this.past, this.future]) list.splice(0, list.length, ...list.map(change));
  }
}
