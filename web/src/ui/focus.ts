/**
 * The element that receives the focus when the focused element has been removed. It is the heading of a dialog or page,
 * or the builder's pages.
 */
export const focusHome = (): HTMLElement | null => document.querySelector<HTMLElement>("dialog[open] h2[tabindex]") ?? document.querySelector<HTMLElement>("main h1[tabindex], main[tabindex]");

/**
 * Keeps the focus nearby when the focused element is moved or removed, such as a button whose action is complete.
 * Otherwise, keyboard users would have to start over at the top of the page.
 */
export function keepFocus(): void {
  let last: HTMLElement | null = null;
  let byKeys = false; // the page must not scroll for mouse users
  addEventListener("focusin", (e) => { last = e.target as HTMLElement; });
  addEventListener("keydown", () => { byKeys = true; }, { capture: true });
  addEventListener("pointerdown", () => { last = null; byKeys = false; }, { capture: true }); // a press outside all controls removes the focus
  new MutationObserver(() => {
    if (!last || (document.activeElement && document.activeElement !== document.body)) return;
    const target = last.isConnected ? last : focusHome();
    if (!target) return; // the next page is still loading
    if (!last.isConnected) last = null;
    target.focus({ preventScroll: !byKeys });
  }).observe(document.body, { childList: true, subtree: true });
}
