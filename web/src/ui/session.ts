/** The key of the console's token, which lives as long as the tab and its frames. */
export const consoleTokenKey = "countersign:console";

export const consoleToken = (): string | null => sessionStorage.getItem(consoleTokenKey);
