import { Title } from "../ui/parts";
import { useLoad, type Client } from "./api";
import { ErrorNotice } from "./parts";
import { usePageTitle } from "./route";
import { formatDate, rich, numeral, percent, t } from "./texts";

interface UsageSummary { plan: string; periodStart: string; periodEnd: string; envelopesUsed: number; envelopesLimit: number | null; overageAllowed: boolean }

export function Usage({ client }: { client: Client }) {
  usePageTitle(t("usage"));
  const { data: u, problem } = useLoad<UsageSummary>(client, "usage");
  const share = u?.envelopesLimit ? Math.min(1, u.envelopesUsed / u.envelopesLimit) : 0;
  return (
    <>
      <Title>{t("usage")}</Title>
      <ErrorNotice text={problem} />
      {u && (
        <section class="card">
          <p class="figure quiet">{u.envelopesLimit === null ? rich("envelopesSent", { n: <strong>{numeral(u.envelopesUsed)}</strong> }, u.envelopesUsed) : rich("envelopesSentOf", { used: <strong>{numeral(u.envelopesUsed)}</strong> }, u.envelopesLimit)}</p>
          {u.envelopesLimit !== null && <div class={`usage ${share >= 1 ? "full" : share >= 0.8 ? "nearly" : ""}`} role="meter" aria-label={t("planUsed")} aria-valuetext={percent(share)} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)}><div style={{ width: `${share * 100}%` }} /></div>}
          {u.envelopesLimit !== null && share >= 0.8 && <p class={`notice ${share >= 1 && !u.overageAllowed ? "bad" : ""}`} role="status">{limitWords(u)}</p>}
          <dl class="facts">
            <dt>{t("plan")}</dt><dd>{u.plan}</dd>
            <dt>{t("period")}</dt><dd>{t("fromTo", { from: formatDate(u.periodStart), to: formatDate(u.periodEnd) })}</dd>
            <dt>{t("beyondLimit")}</dt><dd>{u.envelopesLimit === null ? "–" : t(u.overageAllowed ? "overageAllowed" : "overageNotAllowed")}</dd>
          </dl>
        </section>
      )}
    </>
  );
}

/** Returns the text about the remaining allowance, or about a limit that has been reached. */
function limitWords(u: UsageSummary): string {
  const left = (u.envelopesLimit ?? 0) - u.envelopesUsed;
  if (left > 0) return t("envelopesLeft", { n: left, date: formatDate(u.periodEnd) });
  return u.overageAllowed ? t("limitReachedOverage") : t("limitReached", { date: formatDate(u.periodEnd) });
}
