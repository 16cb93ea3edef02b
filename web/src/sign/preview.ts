import { ApiError, newKey, request, type RequestOptions } from "../ui/http";
import { Client } from "./client";
import type { Attached, CodeState, Context } from "./model";

/**
 * The calls of a signing page that the sender previews before sending. The context is the recipient's, and is computed
 * from the draft. There is no link. The signer's steps are handled here, and the service has no operation that would
 * accept them.
 */
export class PreviewClient extends Client {
  private verified = false;
  private consented = false;
  private sender: { logo: string | null } | null = null;
  private readonly at: string;

  /** The argument bearer is the token of the sender's console session. */
  constructor(private readonly envelope: string, signer: string, private readonly bearer: string) {
    super("", null);
    this.at = `/v1/console/envelopes/${encodeURIComponent(envelope)}/signers/${encodeURIComponent(signer)}/preview`;
  }

  override get logo(): string {
    return this.sender?.logo ? `data:image/png;base64,${this.sender.logo}` : "";
  }

  override async ask<T>(path: string, _options: RequestOptions = {}): Promise<T> {
    const [step] = path.split("?");
    switch (step) {
      case "": return await this.context(path) as T;
      case "/otp/request": return { code: { liveUntil: new Date(Date.now() + 600_000).toISOString(), triesLeft: 3, requestableAt: null, locked: false } satisfies CodeState } as T;
      case "/otp/verify": this.verified = true; return {} as T;
      case "/consent": this.consented = true; return {} as T;
      case "/page-view": return undefined as T;
      case "/fit": return { misfits: [] } as T;
    }
    // Signing, declining and delegating are rejected.
    throw new ApiError(410, "preview", "", 0, {}, {});
  }

  private async context(query: string): Promise<Context> {
    try {
      const c = await request<Context>(this.at + query, { bearer: this.bearer });
      if (c.branding?.logo && !this.sender) {
        const { tenantId } = await request<{ tenantId: string }>(`/v1/envelopes/${this.envelope}`, { bearer: this.bearer });
        this.sender = await request<{ logo: string | null }>(`/v1/tenants/${encodeURIComponent(tenantId)}/branding`, { bearer: this.bearer });
      }
      return { ...c, otpVerified: c.requiresOtpVerification && this.verified, consentGiven: this.consented };
    } catch (e) {
      // The sender's session has ended. No link has expired.
      if (e instanceof ApiError && e.status === 401) throw new ApiError(401, "session_expired", e.message, 0, {}, {});
      throw e;
    }
  }

  override attach(fieldId: string, file: File): Promise<Attached> {
    return Promise.resolve({ attachmentId: newKey(), fieldId, name: file.name, size: file.size, mimeType: file.type });
  }

  override detach(): Promise<void> {
    return Promise.resolve();
  }

  override openAttachment(): Promise<void> {
    return Promise.resolve();
  }

  override documentPath(documentId: string): string {
    return `/v1/envelopes/${this.envelope}/document?documentId=${documentId}`;
  }

  override pagePath(documentId: string, page: number): string {
    return `/v1/envelopes/${this.envelope}/documents/${documentId}/pages/${page}`;
  }

  override headers(): Record<string, string> {
    return { Authorization: `Bearer ${this.bearer}` };
  }
}
