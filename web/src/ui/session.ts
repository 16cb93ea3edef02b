/** The storage key of the console's token, which is available to the tab and its frames until the tab is closed. */
export const consoleTokenKey = "countersign:console";

export const consoleToken = (): string | null => sessionStorage.getItem(consoleTokenKey);
