/** The form fields in which the user has entered something. */
const entered = new Set<Element>();

addEventListener("input", (e) => { if (e.target instanceof Element) entered.add(e.target); }, true);

/**
 * Reports whether removing the page would lose entries in a form that was not submitted, or in the builder. The builder
 * reports its entries in the same way as when the tab is closed. Searches and the sign-in form do not count.
 */
export function hasUnsavedEntries(): boolean {
  for (const field of entered) if (!field.isConnected) entered.delete(field);
  return [...entered].some((field) => field.closest("form, dialog") && !field.closest("dialog.required, [role=search]"))
    || !dispatchEvent(new Event("beforeunload", { cancelable: true }));
}
