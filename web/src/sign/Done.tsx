import { useEffect, useState } from "preact/hooks";
import { formatBytes, formatMoment, type Localization } from "../ui/i18n";
import { Icon, StatusIcon, Title } from "../ui/parts";
import { Closed, type EndState } from "./EndPage";
import { watchCopies, type Copies as CopiesAnswer, type Receipt } from "./receipt";
import { textFor } from "./roles";
import { Contact } from "./Steps";

/** The receipt after signing, or the final page after declining. */
export function Done({ receipt, speech }: { receipt: Receipt; speech: Localization }) {
  const { t, locale } = speech;
  const signed = receipt.outcome === "signed";
  return (
    <section class="card">
      <StatusIcon icon={signed ? "check" : "cross"} tone={signed ? "good" : ""} />
      <Title>{t(signed ? textFor(receipt.kind, "signedTitle") : "declinedTitle")}</Title>
      {receipt.subject && <p class="quiet"><bdi>{receipt.subject}</bdi></p>}
      {signed ? <Copies receipt={receipt} speech={speech} /> : <p>{t("declinedText")}</p>}
      <dl class="facts">
        {receipt.at && <><dt>{t(signed ? textFor(receipt.kind, "signedAt") : "declinedAt")}</dt><dd><time dateTime={receipt.at}>{formatMoment(receipt.at, locale)}</time></dd></>}
        {receipt.signerName && <><dt>{t(signed ? textFor(receipt.kind, "signedBy") : "declinedBy")}</dt><dd><bdi>{receipt.signerName}</bdi></dd></>}
        <dt>{t("from")}</dt><dd><bdi>{receipt.senderName}</bdi></dd>
        <dt>{t("documents")}</dt><dd>{receipt.documents.map((d, i) => <div key={i}><bdi>{d.name}</bdi></div>)}</dd>
        {signed && receipt.documents.some((d) => d.sha256) && <><dt>{t("fingerprint")}</dt><dd dir="ltr">{receipt.documents.map((d, i) => <div key={i} class="mono">{d.sha256}</div>)}</dd></>}
        <dt>{t("envelope")}</dt><dd class="mono" dir="ltr">{receipt.envelopeId}</dd>
      </dl>
      <Contact sender={receipt.senderName} contact={receipt.contact} t={t} />
      {signed && <button type="button" class="plain noprint" onClick={() => print()}>{t("keepReceipt")}</button>}
    </section>
  );
}

const closed: Record<string, EndState> = { declined: "otherDeclined", voided: "voided", expired: "expired" };

/** Displays the sealed copies, or the reason why they are not available yet. */
function Copies({ receipt, speech }: { receipt: Receipt; speech: Localization }) {
  const { token, maskedEmail, awaitingNames = [] } = receipt;
  const { t, locale } = speech;
  const [found, setFound] = useState<CopiesAnswer | null>(null);
  const [over, setOver] = useState(!token);
  useEffect(() => (token ? watchCopies(token, setFound, () => setOver(true)) : undefined), [token]);

  const awaiting = found?.awaiting ?? receipt.awaiting ?? 0;
  const byMail = (
    <>
      <p>{t("nextOthers", { address: `\u2068${maskedEmail}\u2069` })}</p>
      {awaiting > 0 && <p>{awaitingNames.length === awaiting ? t("awaitedNames", { names: new Intl.ListFormat(locale).format(awaitingNames.map((name) => `\u2068${name}\u2069`)) }) : t("awaited", { n: awaiting })}</p>}
    </>
  );
  if (over) return byMail;
  const end = found && closed[found.envelopeStatus];
  if (end) return <Closed end={end} speech={speech} />;
  if (found?.envelopeStatus !== "completed") {
    return <>{byMail}<div class="copies row" role="status"><div class="spinner" /><span class="quiet">{t("copyWaiting")}</span></div></>;
  }
  return (
    <div class="copies ready" role="status">
      <p><strong>{t("copyReady")}</strong></p>
      <ul class="doclist">
        {found.documents.map((d) => (
          <li key={d.downloadUrl}>
            <Icon name="file" size={18} /><span><bdi>{d.name}</bdi> <span class="quiet">{formatBytes(d.size, locale)}</span></span>
            <a class="button small noprint" href={d.downloadUrl} target="_blank" rel="noreferrer" aria-label={`${t("download")}: ${d.name}`}>{t("download")}</a>
          </li>
        ))}
      </ul>
    </div>
  );
}
