import { useState } from "preact/hooks";
import { ApiError, request } from "../ui/http";
import { LanguageChoice, StatusIcon, Title } from "../ui/parts";
import { start, tokenFromPath, type LocalizedProps } from "../ui/start";

/**
 * Unsubscribes the recipient of the link. A click on the button is required, because email programs open links
 * automatically.
 */
function Unsubscribe({ speech, choose }: LocalizedProps) {
  const { t } = speech;
  const [state, setState] = useState<"asking" | "busy" | "done" | "invalid" | "failed">("asking");
  const end = async () => {
    setState("busy");
    try {
      await request(`/unsubscribe/${encodeURIComponent(tokenFromPath())}`, { method: "POST" });
      setState("done");
    } catch (e) {
      setState(e instanceof ApiError && e.status === 401 ? "invalid" : "failed");
    }
  };
  return (
    <main class="narrow">
      <section class="card" aria-busy={state === "busy"}>
        {state === "done" && <><StatusIcon icon="check" tone="good" /><Title>{t("unsubscribedTitle")}</Title><p>{t("unsubscribedText")}</p></>}
        {state === "invalid" && <><StatusIcon icon="link" tone="bad" /><Title>{t("invalidTitle")}</Title><p>{t("unsubscribeInvalid")}</p></>}
        {state === "failed" && <><StatusIcon icon="link" /><Title>{t("downTitle")}</Title><p>{t("busyText")}</p><button type="button" onClick={() => void end()}>{t("tryAgain")}</button></>}
        {(state === "asking" || state === "busy") && (
          <>
            <Title>{t("unsubscribeTitle")}</Title>
            <p>{t("unsubscribeText")}</p>
            <p><button type="button" aria-disabled={state === "busy"} onClick={() => { if (state === "asking") void end(); }}>{t("unsubscribe")}</button></p>
          </>
        )}
        {state !== "failed" && <p class="quiet small"><a href="/console#/account">{t("notificationSettings")}</a></p>}
      </section>
      <footer class="pagefoot"><span /><LanguageChoice speech={speech} onChoose={choose} /></footer>
    </main>
  );
}

void start(Unsubscribe);
