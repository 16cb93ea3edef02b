import { Title } from "../ui/parts";
import { useLoad, type Client } from "./api";
import { ErrorNotice } from "./parts";
import { usePageTitle } from "./route";

interface UsageSummary { plan: string; periodStart: string; periodEnd: string; envelopesUsed: number; envelopesLimit: number | null; overageAllowed: boolean }

export function Usage({ client }: { client: Client }) {
  usePageTitle("Usage");
  const { data: u, problem } = useLoad<UsageSummary>(client, "usage");
  const share = u?.envelopesLimit ? Math.min(1, u.envelopesUsed / u.envelopesLimit) : 0;
  return (
    <>
      <Title>Usage</Title>
      <ErrorNotice text={problem} />
      {u && (
        <section class="card">
          <p class="figure"><strong>{u.envelopesUsed.toLocaleString()}</strong> <span class="quiet">{u.envelopesLimit === null ? `${u.envelopesUsed === 1 ? "envelope" : "envelopes"} sent, without limit` : `of ${u.envelopesLimit.toLocaleString()} ${u.envelopesLimit === 1 ? "envelope" : "envelopes"} sent`}</span></p>
          {u.envelopesLimit !== null && <div class={`usage ${share >= 1 ? "full" : share >= 0.8 ? "nearly" : ""}`} role="meter" aria-label="Share of the plan used" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)}><div style={{ width: `${share * 100}%` }} /></div>}
          {u.envelopesLimit !== null && share >= 0.8 && <p class={`notice ${share >= 1 && !u.overageAllowed ? "bad" : ""}`} role="status">{limitWords(u)}</p>}
          <dl class="facts">
            <dt>Plan</dt><dd>{u.plan}</dd>
            <dt>Period</dt><dd>{u.periodStart} to {u.periodEnd}</dd>
            <dt>Beyond the limit</dt><dd>{u.envelopesLimit === null ? "–" : u.overageAllowed ? "allowed, and counted" : "not allowed"}</dd>
          </dl>
        </section>
      )}
    </>
  );
}

/** Returns the text about a limit that is near or reached. */
function limitWords(u: UsageSummary): string {
  const left = (u.envelopesLimit ?? 0) - u.envelopesUsed;
  if (left > 0) return `${left.toLocaleString()} ${left === 1 ? "envelope is" : "envelopes are"} left until ${u.periodEnd}.`;
  if (u.overageAllowed) return "The plan's limit is reached. You can send more; it is counted.";
  return `The plan’s limit is reached: nothing more can be sent until ${u.periodEnd} is over. Who runs the service can change the plan.`;
}
