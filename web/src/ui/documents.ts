import { ApiError } from "./http";

/** The media types of files that can be added as documents. The service converts pictures to PDF. */
export const documentTypes = "application/pdf,image/png,image/jpeg";

/** Whether a file can be added as a document. If the browser does not know the file's type, the service decides. */
export const isDocument = (file: File): boolean => !file.type || documentTypes.split(",").includes(file.type);

/** Whether the service rejected an upload because it is neither a PDF nor a picture. */
export const isTypeError = (e: unknown): boolean => e instanceof ApiError && e.code === "not_a_pdf";

/** Returns the name of the document that a file becomes. A picture becomes a PDF. */
export const documentName = (file: File): string => (file.type.startsWith("image/") ? `${file.name.replace(/\.[^.]*$/, "")}.pdf` : file.name);

/** Returns the name of a file without its extension, as a title for an envelope or template. */
export const titleOf = (file: File): string => file.name.replace(/\.(pdf|png|jpe?g)$/i, "");
