import { useEffect, useState } from "preact/hooks";
import { ask, Refusal } from "../ui/http";
import { megabytes, type Speech } from "../ui/i18n";
import { Icon, SealMark, Title } from "../ui/parts";
import type { Receipt } from "./draft";
import { Closed, type End } from "./Ends";

/** The receipt after signing, and the last word after declining. */
export function Done({ receipt, speech }: { receipt: Receipt; speech: Speech }) {
  const { t, locale } = speech;
  if (receipt.outcome === "declined") {
    return (
      <section class="card">
        <SealMark icon="cross" />
        <Title>{t("declinedTitle")}</Title>
        <p>{t("declinedText")}</p>
      </section>
    );
  }
  return (
    <section class="card">
      <SealMark icon="check" tone="good" />
      <Title>{t("signedTitle")}</Title>
      {receipt.subject && <p class="quiet"><bdi>{receipt.subject}</bdi></p>}
      <Copies receipt={receipt} speech={speech} />
      <dl class="facts">
        {receipt.at && <><dt>{t("signedAt")}</dt><dd><time dateTime={receipt.at}>{new Date(receipt.at).toLocaleString(locale, { dateStyle: "long", timeStyle: "long" })}</time></dd></>}
        <dt>{t("signedBy")}</dt><dd><bdi>{receipt.signerName}</bdi></dd>
        <dt>{t("documents")}</dt><dd>{receipt.documents.map((d) => <div key={d.name}><bdi>{d.name}</bdi></div>)}</dd>
        {receipt.documents.some((d) => d.sha256) && <><dt>{t("fingerprint")}</dt><dd dir="ltr">{receipt.documents.map((d) => <div key={d.name} class="mono">{d.sha256}</div>)}</dd></>}
        <dt>{t("envelope")}</dt><dd class="mono" dir="ltr">{receipt.envelopeId}</dd>
      </dl>
      <button type="button" class="plain noprint" onClick={() => print()}>{t("keepReceipt")}</button>
    </section>
  );
}

interface Outcome {
  envelopeStatus: string;
  documents: { name: string; size: number; sha256: string; downloadUrl: string }[];
}

const closed: Record<string, End> = { declined: "otherDeclined", voided: "voided", expired: "expired" };
const first = 1000; // milliseconds between the first two looks; each later pause is half as long again
const longest = 60_000;

/** The sealed copies, as soon as they are there. Until then it says what is waited for. */
function Copies({ receipt: { token, maskedEmail }, speech }: { receipt: Receipt; speech: Speech }) {
  const { t, locale } = speech;
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [over, setOver] = useState(!token);
  useEffect(() => {
    if (!token) return;
    let [timer, pause, asking, done] = [0, first, false, false];
    const look = async () => {
      if (asking || done) return;
      clearTimeout(timer);
      let wait = 0;
      if (document.visibilityState === "visible") {
        asking = true;
        try {
          const o = await ask<Outcome>(`/v1/receipts/${encodeURIComponent(token)}`);
          if (done) return;
          setOutcome(o);
          done = o.envelopeStatus === "completed" || o.envelopeStatus in closed;
        } catch (e) {
          if (e instanceof Refusal) {
            wait = e.retryAfter * 1000;
            done ||= e.status === 401 || e.status === 410;
            if (done) setOver(true); // the mail remains
          }
        }
        asking = false;
      }
      if (done) return;
      timer = window.setTimeout(() => void look(), Math.max(pause, wait));
      pause = Math.min(pause * 1.5, longest);
    };
    const back = () => void look();
    back();
    document.addEventListener("visibilitychange", back);
    return () => {
      done = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", back);
    };
  }, [token]);

  const byMail = <p>{t("nextOthers", { address: `\u2068${maskedEmail}\u2069` })}</p>;
  if (over) return byMail;
  const end = outcome && closed[outcome.envelopeStatus];
  if (end) return <Closed end={end} speech={speech} />;
  if (outcome?.envelopeStatus !== "completed") {
    return <>{byMail}<div class="copies row" role="status"><div class="spinner" /><span class="quiet">{t("copyWaiting")}</span></div></>;
  }
  return (
    <div class="copies ready" role="status">
      <p><strong>{t("copyReady")}</strong></p>
      <ul class="doclist">
        {outcome.documents.map((d) => (
          <li key={d.downloadUrl}>
            <Icon name="file" size={18} /><span><bdi>{d.name}</bdi> <span class="quiet">{megabytes(d.size, locale)}</span></span>
            <a class="button small noprint" href={d.downloadUrl} target="_blank" rel="noreferrer" aria-label={`${t("download")}: ${d.name}`}>{t("download")}</a>
          </li>
        ))}
      </ul>
    </div>
  );
}
