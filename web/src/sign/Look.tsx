import { useState } from "preact/hooks";
import "../ui/brand.css";
import type { Translate } from "../ui/i18n";

/** The branding of the sender's pages. */
export interface Branding {
  primaryColor: string | null;
  footer: string | null;
  supportUrl: string | null;
  /** The SHA-256 hash of the logo. */
  logo: string | null;
}

/** The sender's logo, or the first letter of the sender's name if there is no logo or the logo cannot be loaded. */
export function SenderLogo({ name, logo }: { name: string; logo?: string | null }) {
  const [failed, setFailed] = useState(false);
  if (logo && !failed) return <img class="senderlogo" src={logo} alt="" onError={() => setFailed(true)} />;
  return <span class="sendermark" aria-hidden="true">{[...name.trim()][0]?.toLocaleUpperCase() ?? ""}</span>;
}

/** The sender's footer, displayed on each page. */
export function SenderFoot({ branding, t }: { branding: Branding | null; t: Translate }) {
  if (!branding?.footer && !branding?.supportUrl) return null;
  return (
    <div class="senderfoot quiet small">
      {branding.footer && <p dir="auto">{branding.footer}</p>}
      {branding.supportUrl && <p class="noprint"><a href={branding.supportUrl} target="_blank" rel="noreferrer">{t("support")}</a></p>}
    </div>
  );
}
