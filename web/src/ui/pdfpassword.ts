import { ApiError } from "./http";

/** Why the service rejected an encrypted PDF: the upload had no password, or the password does not open the file. */
export type PasswordProblem = "needed" | "wrong";

const problems: Partial<Record<string, PasswordProblem>> = { pdf_encrypted: "needed", pdf_password_wrong: "wrong" };

/** Returns the problem with the password of an uploaded file, or null for any other error. */
export const passwordProblem = (e: unknown): PasswordProblem | null => (e instanceof ApiError && problems[e.code]) || null;

/** The maximum number of characters of a PDF password. */
export const maxPdfPassword = 127;

/** The passwords of the chosen files. They remain in memory only as long as the file does. */
const passwords = new WeakMap<File, string>();

export const passwordOf = (file: File): string => passwords.get(file) ?? "";
export const setPassword = (file: File, password: string): void => { passwords.set(file, password); };

/**
 * Returns the header with the password of a file, if it has one. Header values are bytes, so the password is encoded in
 * UTF-8.
 */
export function passwordHeaders(file: unknown): Record<string, string> {
  const password = file instanceof File ? passwordOf(file) : "";
  return password ? { "X-Document-Password": String.fromCharCode(...new TextEncoder().encode(password)) } : {};
}
