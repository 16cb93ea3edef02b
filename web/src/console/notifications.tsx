import { useEffect, useRef, useState } from "preact/hooks";
import { languages } from "../ui/i18n";
import type { Client, Loaded } from "./api";
import { ActionButton, ErrorNotice } from "./parts";
import { t } from "./texts";

type Frequency = "immediate" | "daily" | "never";
type Events = Record<(typeof kinds)[number][0], boolean>;
export interface NotificationSettings { email: string; frequency: Frequency; events: Events; language: string | null; timeZone: string }

const frequencies = [["immediate", "notifyImmediately"], ["daily", "notifyDaily"], ["never", "notifyNever"]] as const;
const kinds = [
  ["completed", "notifyCompleted"], ["declined", "notifyDeclined"], ["expired", "notifyExpired"], ["bounced", "notifyBounced"], ["sealingProblem", "notifySealingProblem"], ["opened", "notifyOpened"], ["signed", "notifySigned"],
] as const;

const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** The settings for emails to the user about envelopes that they have sent. */
export function Notifications({ client, settings, named }: { client: Client; settings: Loaded<NotificationSettings>; /** If the address names this section, it is the first one and receives the focus. */ named: boolean }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { data, problem, reload } = settings;
  const [changed, setChanged] = useState<Partial<NotificationSettings>>({});
  const set = (change: Partial<NotificationSettings>) => setChanged({ ...changed, ...change });
  const save = async () => {
    await client.call("me/notifications", { method: "PUT", body: changed });
    // Changes made during the request have not been saved yet.
    setChanged((now) => Object.fromEntries(Object.entries(now).filter(([key, value]) => value !== changed[key as keyof NotificationSettings])));
    reload();
  };
  const own = data && { ...data, ...changed };
  const loaded = data !== null;
  useEffect(() => {
    if (!named || !loaded) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.scrollIntoView({ block: "nearest", behavior: "instant" });
  }, [named, loaded]);
  const choose = (frequency: Frequency) => {
    // The first summary should arrive in the morning in the user's time zone, not in UTC.
    const zone = frequency === "daily" && data?.frequency !== "daily" && own?.timeZone === "UTC" ? { timeZone: ownZone() } : {};
    set({ frequency, ...zone });
  };
  return (
    <section class="card stack later" aria-labelledby="notifications">
      <h2 id="notifications" ref={heading} tabIndex={-1}>{t("notifications")}</h2>
      <ErrorNotice text={problem} />
      {own && (
        <>
          <p>{t("notifyIntro", { email: own.email })}</p>
          <fieldset class="ticks">
            <legend>{t("notifyWhen")}</legend>
            {frequencies.map(([value, label]) => <label key={value}><input type="radio" name="frequency" checked={own.frequency === value} onChange={() => choose(value)} /> {t(label)}</label>)}
          </fieldset>
          {own.frequency !== "never" && (
            <>
              <fieldset class="ticks">
                <legend>{t("notifyOf")}</legend>
                {kinds.map(([kind, label]) => <label key={kind}><input type="checkbox" checked={own.events[kind]} onChange={(e) => set({ events: { ...own.events, [kind]: e.currentTarget.checked } })} /> {t(label)}</label>)}
              </fieldset>
              {own.frequency === "immediate" && <p class="quiet small">{t("notifyBulkHint")}</p>}
              <div class="pair">
                <div><label for="nlanguage">{t("notifyLanguage")}</label>
                  <select id="nlanguage" value={own.language ?? ""} onChange={(e) => set({ language: e.currentTarget.value || null })}>
                    <option value="">{t("workspaceLanguage")}</option>{Object.entries(languages).map(([tag, name]) => <option key={tag} value={tag} lang={tag}>{name}</option>)}
                  </select></div>
                <div><label for="nzone">{t("timeZone")}</label>
                  <select id="nzone" value={own.timeZone} onChange={(e) => set({ timeZone: e.currentTarget.value })}>
                    {[...new Set(["UTC", own.timeZone, ownZone(), ...Intl.supportedValuesOf("timeZone")])].map((zone) => <option key={zone}>{zone}</option>)}
                  </select></div>
              </div>
            </>
          )}
          <ActionButton label={t("save")} tone="" done={t("saved")} work={save} />
        </>
      )}
    </section>
  );
}
