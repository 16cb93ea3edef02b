import { request, type RequestOptions } from "../ui/http";
import type { Attached } from "./model";

/**
 * The calls for one signing link. After a signer has entered a one-time code, a cookie identifies the signer. If the
 * browser blocks cookies for a framed page, a token in the requests is used instead.
 */
export class Client {
  readonly base: string;
  private session: string | null = null;
  private pictures = new Map<string, Promise<string>>();

  /**
   * The argument keep is the storage key under which the session token survives a reload, or null to keep it only in
   * memory.
   */
  constructor(token: string, private readonly keep: string | null) {
    this.base = `/v1/signing/${encodeURIComponent(token)}`;
    try {
      this.session = keep && sessionStorage.getItem(keep);
    } catch {
      // In some browsers, framed pages cannot access storage.
    }
  }

  /** The URL of the sender's logo. */
  get logo(): string {
    return `${this.base}/logo`;
  }

  ask<T>(path: string, options: RequestOptions = {}): Promise<T> {
    return request<T>(this.base + path, { ...options, session: this.session });
  }

  confirmed(session: string | undefined): void {
    if (!session) return;
    this.session = session;
    try {
      if (this.keep) sessionStorage.setItem(this.keep, session);
    } catch {
      // Storage is not accessible.
    }
  }

  /** Uploads a file for a field. */
  attach(fieldId: string, file: File): Promise<Attached> {
    const body = new FormData();
    body.append("fieldId", fieldId);
    body.append("file", file, file.name);
    return this.ask<Attached>("/attachments", { body });
  }

  async detach(id: string): Promise<void> {
    await this.ask(`/attachments/${id}`, { method: "DELETE" });
  }

  openAttachment(a: { attachmentId: string; name: string }): Promise<void> {
    return this.download(`${this.base}/attachments/${a.attachmentId}`, a.name);
  }

  openDocument({ documentId, name }: { documentId: string; name: string }): Promise<void> {
    return this.download(this.documentPath(documentId), /\.pdf$/i.test(name) ? name : `${name}.pdf`);
  }

  /** Fetches a file with the session's credentials, and saves it on the device. */
  private async download(path: string, name: string): Promise<void> {
    const res = await fetch(path, { headers: this.headers(), credentials: "same-origin" });
    if (!res.ok) throw new Error(`HTTP ${res.status}`);
    const address = URL.createObjectURL(await res.blob());
    const link = document.createElement("a");
    [link.href, link.download] = [address, name];
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  /** Returns the path of a document's file. */
  documentPath(documentId: string): string {
    return `${this.base}/documents/${documentId}`;
  }

  /** Returns the path of a page image. */
  pagePath(documentId: string, page: number): string {
    return `${this.base}/documents/${documentId}/pages/${page}`;
  }

  /** Fetches the image of a page as it will be sealed if the signer signs with the given submission. */
  async finishedPage(documentId: string, page: number, level: number, submission: object, signal: AbortSignal): Promise<Blob> {
    const res = await fetch(`${this.pagePath(documentId, page)}/finished?level=${level}`, {
      method: "POST", body: JSON.stringify(submission), headers: { ...this.headers(), "Content-Type": "application/json" }, credentials: "same-origin", signal,
    });
    if (!res.ok) throw new Error(`HTTP ${res.status}`);
    return res.blob();
  }

  headers(): Record<string, string> {
    return this.session ? { "X-Signer-Session": this.session } : {};
  }

  /** Returns a URL for an image element that displays another signer's signature. */
  picture(sha256: string): Promise<string> {
    let found = this.pictures.get(sha256);
    if (!found) {
      found = this.fetchPicture(sha256);
      this.pictures.set(sha256, found);
      found.catch(() => this.pictures.delete(sha256));
    }
    return found;
  }

  private async fetchPicture(sha256: string): Promise<string> {
    const res = await fetch(`${this.base}/pictures/${sha256}`, { headers: this.headers(), credentials: "same-origin" });
    if (!res.ok) throw new Error(`HTTP ${res.status}`);
    return URL.createObjectURL(await res.blob());
  }

  close(): void {
    for (const p of this.pictures.values()) void p.then((address) => URL.revokeObjectURL(address), () => undefined);
    this.pictures.clear();
  }
}
