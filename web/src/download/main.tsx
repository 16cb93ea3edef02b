import { useEffect, useState } from "preact/hooks";
import { ask, Refusal } from "../ui/http";
import { megabytes, moment } from "../ui/i18n";
import { LanguageChoice, SealMark, Title, Waiting } from "../ui/parts";
import { start, tokenFromPath, type Spoken } from "../ui/start";

interface Portal { available: boolean; name: string; size: number; sha256: string; completedAt: string | null; expiresAt: string | null }

type Found = Portal | "invalid" | "purged" | "failed" | null;

function Download({ speech, choose }: Spoken) {
  const { t, locale } = speech;
  const base = `/v1/download/${encodeURIComponent(tokenFromPath())}`;
  const [found, setFound] = useState<Found>(null);
  const load = async () => {
    try {
      setFound(await ask<Portal>(base));
    } catch (e) {
      setFound(e instanceof Refusal ? (e.status === 410 ? "purged" : e.status < 500 && e.status !== 429 ? "invalid" : "failed") : "failed");
    }
  };
  useEffect(() => { void load(); }, []);
  if (!found) return <Waiting text={t("loading")} />;
  const day = (s: string) => moment(s, locale);
  return (
    <main class="narrow">
      <section class="card">
        {found === "invalid" && <><SealMark icon="link" tone="bad" /><Title>{t("invalidTitle")}</Title><p>{t("downloadInvalidText")}</p></>}
        {found === "purged" && <><SealMark icon="clock" /><Title>{t("purgedTitle")}</Title><p>{t("purgedText")}</p></>}
        {found === "failed" && <><SealMark icon="link" /><Title>{t("downTitle")}</Title><p>{t("busyText")}</p><button type="button" onClick={() => { setFound(null); void load(); }}>{t("tryAgain")}</button></>}
        {typeof found === "object" && (
          <>
            <SealMark icon="file" tone="good" />
            <Title><bdi>{found.name}</bdi></Title>
            <p class="quiet">{t("downloadTitle")}</p>
            <dl class="facts">
              {found.completedAt && <><dt>{t("completedOn")}</dt><dd>{day(found.completedAt)}</dd></>}
              <dt>{t("size")}</dt><dd>{megabytes(found.size, locale)}</dd>
              {found.expiresAt && <><dt>{t("linkUntil")}</dt><dd>{day(found.expiresAt)}</dd></>}
              <dt>SHA-256</dt><dd class="mono" dir="ltr">{found.sha256}</dd>
            </dl>
            <p><a class="button" href={`${base}/document`} download>{t("download")}</a></p>
            <p class="quiet small">{t("downloadHint")} <a href="/verify">{t("checkIt")}</a></p>
          </>
        )}
      </section>
      <footer class="pagefoot"><span /><LanguageChoice speech={speech} onChoose={choose} /></footer>
    </main>
  );
}

void start(Download);
