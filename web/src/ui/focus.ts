/** The element that gets the focus when the element that had it is gone: the heading of a dialog or page, or the pages of the builder. */
export const focusHome = (): HTMLElement | null => document.querySelector<HTMLElement>("dialog[open] h2[tabindex]") ?? document.querySelector<HTMLElement>("main h1[tabindex], main[tabindex]");

/**
 * Keeps the focus when the element that has it is moved or removed, such as a button whose action is done. Otherwise
 * keyboard users would start over at the top of the page.
 */
export function keepFocus(): void {
  let last: HTMLElement | null = null;
  let byKeys = false; // the page is not scrolled away under a mouse
  addEventListener("focusin", (e) => { last = e.target as HTMLElement; });
  addEventListener("keydown", () => { byKeys = true; }, { capture: true });
  addEventListener("pointerdown", () => { last = null; byKeys = false; }, { capture: true }); // a press beside all controls removes the focus
  new MutationObserver(() => {
    if (!last || (document.activeElement && document.activeElement !== document.body)) return;
    const target = last.isConnected ? last : focusHome();
    if (!last.isConnected) last = null;
    target?.focus({ preventScroll: !byKeys });
  }).observe(document.body, { childList: true, subtree: true });
}
