import { useState } from "preact/hooks";
import "../ui/brand.css";
import type { Translate } from "../ui/i18n";

/** What the sender's pages look like. */
export interface Branding {
  primaryColor: string | null;
  footer: string | null;
  supportUrl: string | null;
  /** SHA-256 of the picture. */
  logo: string | null;
}

/** The sender's logo; where there is none, or it does not come, the first letter of the name. */
export function SenderLogo({ name, logo }: { name: string; logo?: string | null }) {
  const [failed, setFailed] = useState(false);
  if (logo && !failed) return <img class="senderlogo" src={logo} alt="" onError={() => setFailed(true)} />;
  return <span class="sendermark" aria-hidden="true">{[...name.trim()][0]?.toLocaleUpperCase() ?? ""}</span>;
}

/** What the sender puts below each page. */
export function SenderFoot({ branding, t }: { branding: Branding | null; t: Translate }) {
  if (!branding?.footer && !branding?.supportUrl) return null;
  return (
    <div class="senderfoot quiet small">
      {branding.footer && <p dir="auto">{branding.footer}</p>}
      {branding.supportUrl && <p class="noprint"><a href={branding.supportUrl} target="_blank" rel="noreferrer">{t("support")}</a></p>}
    </div>
  );
}
