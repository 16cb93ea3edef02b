import type { Localization } from "../ui/i18n";
import { StatusIcon, Title } from "../ui/parts";
import type { Context } from "./model";

const isolated = (name: string): string => `\u2068${name}\u2069`;

/** Reports whether the device must first be handed over to the signer. */
export const isHosted = (c: Context): boolean => c.kind === "in_person" && c.host !== undefined;

/** The page on which the host, who opened the link, hands the device over to the signer. */
export function HandOver({ context, speech, onGo }: { context: Context; speech: Localization; onGo: () => void }) {
  const { t } = speech;
  const name = isolated(context.signerName);
  return (
    <section class="card">
      <StatusIcon icon="pen" />
      <Title level={2}>{t("handOverTitle", { name })}</Title>
      <p>{t("handOverText", { name, host: isolated(context.host?.name ?? ""), sender: isolated(context.senderName) })}</p>
      <button type="button" id="handover" onClick={onGo}>{t("handOverGo", { name })}</button>
    </section>
  );
}

/** Names the signer whose signature the witness confirms. */
export function Witnessing({ context, speech }: { context: Context; speech: Localization }) {
  const of = context.witnessFor;
  return of ? <p class="notice">{speech.t("witnessing", { name: isolated(of.name ?? of.role) })}</p> : null;
}
