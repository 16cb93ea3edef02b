import { useEffect, useState } from "preact/hooks";
import { SenderFoot, SenderLogo, type Branding } from "../sign/Look";
import { request, ApiError } from "../ui/http";
import { formatBytes, formatMoment } from "../ui/i18n";
import { LanguageChoice, StatusIcon, Title, Loading } from "../ui/parts";
import { SealedPages } from "./pages";
import { start, tokenFromPath, type LocalizedProps } from "../ui/start";
import { paint } from "../ui/theme";

interface Portal { available: boolean; name: string; size: number; sha256: string; completedAt: string | null; expiresAt: string | null; branding?: Branding }

type Found = Portal | "invalid" | "purged" | "failed" | null;

function Download({ speech, choose }: LocalizedProps) {
  const { t, locale } = speech;
  const base = `/v1/download/${encodeURIComponent(tokenFromPath())}`;
  const [found, setFound] = useState<Found>(null);
  const [branding, setBranding] = useState<Branding | null>(null);
  const look = (of: Branding | undefined) => {
    paint(of?.primaryColor);
    setBranding(of ?? null);
  };
  const load = async () => {
    try {
      const portal = await request<Portal>(base);
      look(portal.branding);
      setFound(portal);
    } catch (e) {
      if (e instanceof ApiError && e.status === 410) look(e.details.branding as Branding | undefined);
      setFound(e instanceof ApiError ? (e.status === 410 ? "purged" : e.status < 500 && e.status !== 429 ? "invalid" : "failed") : "failed");
    }
  };
  useEffect(() => { void load(); }, []);
  if (!found) return <Loading text={t("loading")} />;
  const day = (s: string) => formatMoment(s, locale);
  return (
    <main class="narrow">
      {branding?.logo && <SenderLogo name="" logo={`${base}/logo`} />}
      <section class="card">
        {found === "invalid" && <><StatusIcon icon="link" tone="bad" /><Title>{t("invalidTitle")}</Title><p>{t("downloadInvalidText")}</p></>}
        {found === "purged" && <><StatusIcon icon="clock" /><Title>{t("purgedTitle")}</Title><p>{t("purgedText")}</p></>}
        {found === "failed" && <><StatusIcon icon="link" /><Title>{t("downTitle")}</Title><p>{t("busyText")}</p><button type="button" onClick={() => { setFound(null); void load(); }}>{t("tryAgain")}</button></>}
        {typeof found === "object" && (
          <>
            <StatusIcon icon="file" tone="good" />
            <Title><bdi>{found.name}</bdi></Title>
            <p class="quiet">{t("downloadTitle")}</p>
            <dl class="facts">
              {found.completedAt && <><dt>{t("completedOn")}</dt><dd>{day(found.completedAt)}</dd></>}
              <dt>{t("size")}</dt><dd>{formatBytes(found.size, locale)}</dd>
              {found.expiresAt && <><dt>{t("linkUntil")}</dt><dd>{day(found.expiresAt)}</dd></>}
              <dt>SHA-256</dt><dd class="mono" dir="ltr">{found.sha256}</dd>
            </dl>
            {found.available ? <p><a class="button" href={`${base}/document`} download>{t("download")}</a></p>
              : <><p class="notice bad" role="alert">{t("downloadUnavailable")}</p><p><button type="button" onClick={() => { setFound(null); void load(); }}>{t("tryAgain")}</button></p></>}
            <p class="quiet small">{t("downloadHint")} <a href="/verify">{t("checkIt")}</a></p>
            {found.available && <SealedPages base={base} t={t} />}
          </>
        )}
      </section>
      <SenderFoot branding={branding} t={t} />
      <footer class="pagefoot"><span /><LanguageChoice speech={speech} onChoose={choose} /></footer>
    </main>
  );
}

void start(Download);
