import { useRef, useState } from "preact/hooks";
import "./verify.css";
import { ask, Refusal } from "../ui/http";
import type { Key, Translate } from "../ui/i18n";
import { Icon, LanguageChoice, SealMark, Title, type IconName } from "../ui/parts";
import { start, type Spoken } from "../ui/start";
import { readManifest, type Manifest } from "./manifest";

type Status = "passed" | "failed" | "untrusted" | "absent";

interface Report {
  verdict: "valid" | "altered" | "untrusted" | "broken" | "not_sealed";
  findings: { check: string; status: Status; detail: string }[];
  envelopeId?: string;
  subject?: string;
  originalSha256?: string;
  events?: number;
  sealedBy?: string;
  sealedAt?: string;
  stampedAt?: string;
  level?: string;
  sha256?: string;
}

const verdicts: Record<Report["verdict"], { icon: IconName; tone: "" | "good" | "bad"; title: Key; text: Key }> = {
  valid: { icon: "check", tone: "good", title: "validTitle", text: "validText" },
  untrusted: { icon: "question", tone: "", title: "untrustedTitle", text: "untrustedText" },
  altered: { icon: "cross", tone: "bad", title: "brokenTitle", text: "brokenText" },
  broken: { icon: "cross", tone: "bad", title: "brokenTitle", text: "brokenText" },
  not_sealed: { icon: "cross", tone: "bad", title: "brokenTitle", text: "brokenText" },
};

const marks: Record<Status, { icon: IconName; word: Key }> = {
  passed: { icon: "check", word: "passed" }, failed: { icon: "cross", word: "failed" },
  untrusted: { icon: "question", word: "notTrusted" }, absent: { icon: "minus", word: "absent" },
};

const tooLarge = 30e6; // bytes; the service would refuse it after the upload

type State = { step: "choose"; problem?: string } | { step: "busy"; name: string } | { step: "told"; name: string; report: Report; manifest: Manifest | null };

function Verify({ speech, choose }: Spoken) {
  const { t, locale } = speech;
  const [state, setState] = useState<State>({ step: "choose" });
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);

  const examine = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > tooLarge) {
      setState({ step: "choose", problem: t("verifyTooLarge") });
      return;
    }
    setState({ step: "busy", name: file.name });
    try {
      const report = await ask<Report>("/v1/verify", { body: file, headers: { "Content-Type": "application/pdf" } });
      // What a broken file says of itself is not worth showing.
      const manifest = (report.verdict === "valid" || report.verdict === "untrusted") && report.envelopeId ? await readManifest(file) : null;
      setState({ step: "told", name: file.name, report, manifest });
    } catch (e) {
      setState({ step: "choose", problem: problemOf(e, t) });
    }
  };
  const when = (s: string) => new Date(s).toLocaleString(locale, { dateStyle: "long", timeStyle: "long" });

  return (
    <main class={`narrow ${state.step === "told" ? "wide" : ""}`}>
      {state.step !== "told" && (
        <section class="card">
          <Title>{t("verifyTitle")}</Title>
          <p>{t("verifyText")}</p>
          <label class={`drop ${over ? "over" : ""}`} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
            onDrop={(e) => { e.preventDefault(); setOver(false); void examine(e.dataTransfer?.files[0]); }}>
            <Icon name="file" size={28} />
            <span>{state.step === "busy" ? t("verifyBusy", { name: state.name }) : t("verifyDrop")}</span>
            <input ref={input} id="file" type="file" accept="application/pdf,.pdf" disabled={state.step === "busy"} onChange={(e) => void examine(e.currentTarget.files?.[0])} />
          </label>
          <p class="notice bad" role="alert">{state.step === "choose" ? state.problem : ""}</p>
          <p class="quiet small">{t("verifyPrivacy")}</p>
        </section>
      )}
      {state.step === "told" && (
        <>
          <section class="card">
            <SealMark icon={verdicts[state.report.verdict].icon} tone={verdicts[state.report.verdict].tone} />
            <Title>{t(verdicts[state.report.verdict].title)}</Title>
            <p>{t(verdicts[state.report.verdict].text)}</p>
            <dl class="facts">
              <dt>{t("file")}</dt><dd><bdi>{state.name}</bdi></dd>
              {state.report.verdict !== "broken" && (
                <>
                  {state.report.subject && <><dt>{t("subject")}</dt><dd><bdi>{state.report.subject}</bdi></dd></>}
                  {state.report.sealedBy && <><dt>{t("sealedByWhom")}</dt><dd><bdi>{state.report.sealedBy}</bdi></dd></>}
                  {state.report.sealedAt && <><dt>{t("sealedAt")}</dt><dd>{when(state.report.sealedAt)}</dd></>}
                  {state.report.stampedAt && <><dt>{t("stampedAt")}</dt><dd>{when(state.report.stampedAt)}</dd></>}
                  {state.report.envelopeId && <><dt>{t("envelope")}</dt><dd class="mono" dir="ltr">{state.report.envelopeId}</dd></>}
                  {state.report.originalSha256 && <><dt>{t("fingerprint")}</dt><dd class="mono" dir="ltr">{state.report.originalSha256}</dd></>}
                </>
              )}
            </dl>
          </section>
          {state.manifest && state.manifest.signers.length > 0 && (
            <section class="card">
              <h2>{t("signersTitle")}</h2>
              <ul class="people">
                {state.manifest.signers.map((s) => (
                  <li key={s.id}><strong><bdi>{s.name}</bdi></strong> <span class="quiet"><bdi>{s.email}</bdi></span>{s.signedAt && <time dateTime={s.signedAt}>{when(s.signedAt)}</time>}</li>
                ))}
              </ul>
            </section>
          )}
          <section class="card">
            <h2>{t("checksTitle")}</h2>
            <ul class="checks">
              {state.report.findings.map((f) => (
                <li key={f.check} class={f.status}>
                  <Icon name={marks[f.status].icon} size={18} />
                  <span><strong>{t(`check_${f.check}` as Key) || f.check}</strong> <span class="sr">{t(marks[f.status].word)}</span><br /><span class="quiet small" lang="en" dir="ltr">{f.detail}</span></span>
                </li>
              ))}
            </ul>
          </section>
          {state.manifest && state.manifest.events.length > 0 && <Chain manifest={state.manifest} t={t} locale={locale} />}
        </>
      )}
      <footer class="pagefoot noprint">
        {state.step === "told" ? <button type="button" class="plain small" onClick={() => setState({ step: "choose" })}>{t("verifyAnother")}</button> : <span />}
        <LanguageChoice speech={speech} onChoose={choose} />
      </footer>
    </main>
  );
}

function Chain({ manifest, t, locale }: { manifest: Manifest; t: Translate; locale: string }) {
  const names = new Map(manifest.signers.map((s) => [`signer:${s.id}`, s.name]));
  return (
    <section class="card">
      <h2>{t("chainTitle")}</h2>
      <p class="quiet small">{t("chainText", { n: manifest.events.length })}</p>
      <ol class="chain" tabIndex={0} aria-label={t("chainTitle")}>
        {manifest.events.map((e) => (
          <li key={e.seq}>
            <time class="quiet small" dateTime={e.timestamp}>{new Date(e.timestamp).toLocaleString(locale, { dateStyle: "medium", timeStyle: "medium" })}</time>
            <span class="mono" dir="ltr">{e.event}</span>
            <span><bdi>{names.get(e.actor) ?? e.actor}</bdi>{e.ip && <span class="quiet small" dir="ltr"> {e.ip}</span>}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function problemOf(e: unknown, t: Translate): string {
  if (!(e instanceof Refusal)) return t("unreachable");
  if (e.status === 413) return t("verifyTooLarge");
  if (e.status === 429 || e.status === 503) return t("busyText");
  return t("wentWrong", { message: e.message });
}

void start(Verify);
