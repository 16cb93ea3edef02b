import { useEffect, useRef, useState } from "preact/hooks";
import "./verify.css";
import { request, ApiError } from "../ui/http";
import type { Translate } from "../ui/i18n";
import { Icon, LanguageChoice, StatusIcon, Title, Loading, type IconName } from "../ui/parts";
import { start, type LocalizedProps } from "../ui/start";
import { ShownPages } from "./pages";
import { Events, Facts, Signers } from "./record";
import { bySeverity, type Finding, type Report, type Status, type Verdict } from "./report";
import { checks, findingTexts, loadTexts, type VerifyKey, type VerifyTranslate } from "./words";

/** Returns the verdict to display. Broken files that were rewritten by another program have a separate verdict. */
const shown = (r: Report): Verdict | "rewritten" => r.findings.some((f) => f.code === "signature.rewritten") ? "rewritten" : r.verdict;

const verdicts: Record<Verdict | "rewritten", { icon: IconName; tone: "" | "good" | "bad"; text: VerifyKey; advice: VerifyKey }> = {
  valid: { icon: "check", tone: "good", text: "validText", advice: "validDo" },
  untrusted: { icon: "question", tone: "", text: "untrustedText", advice: "untrustedDo" },
  altered: { icon: "plus", tone: "bad", text: "alteredText", advice: "alteredDo" },
  broken: { icon: "cross", tone: "bad", text: "brokenText", advice: "brokenDo" },
  rewritten: { icon: "cross", tone: "bad", text: "rewrittenText", advice: "rewrittenDo" },
  not_sealed: { icon: "minus", tone: "", text: "notSealedText", advice: "notSealedDo" },
};

const marks: Record<Status, { icon: IconName; word: VerifyKey }> = {
  passed: { icon: "check", word: "passed" }, failed: { icon: "cross", word: "failed" },
  untrusted: { icon: "question", word: "unknown" }, absent: { icon: "minus", word: "absent" },
};

const tooLarge = 30e6; // in bytes; the service would reject a larger file after the upload

type State = { step: "choose"; problem?: string } | { step: "busy"; name: string } | { step: "report"; name: string; file: Blob; report: Report };

function Verify({ speech, choose }: LocalizedProps) {
  const { t, locale, language } = speech;
  const [say, setSay] = useState<VerifyTranslate | null>(null);
  const [state, setState] = useState<State>({ step: "choose" });
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => { void loadTexts(language).then((w) => setSay(() => w)); }, [language]);
  useEffect(() => { if (say) document.title = state.step === "report" ? `${say(shown(state.report))} – ${state.name}` : say("title"); }, [say, state]);
  if (!say) return <main><Loading text={t("loading")} /></main>;

  const examine = async (file: Blob | undefined, name: string) => {
    if (!file) return;
    if (file.size > tooLarge) {
      setState({ step: "choose", problem: say("tooLarge") });
      return;
    }
    setState({ step: "busy", name });
    try {
      const report = await request<Report>("/v1/verify", { body: file, headers: { "Content-Type": "application/pdf" } });
      setState({ step: "report", name, file, report });
    } catch (e) {
      setState({ step: "choose", problem: problemOf(e, t, say) });
    }
  };
  const take = (file: File | undefined) => void examine(file, file?.name ?? "");
  const when = (s: string) => new Date(s).toLocaleString(locale, { dateStyle: "long", timeStyle: "long" });

  return (
    <main class={`narrow ${state.step === "report" ? "wide" : ""}`}>
      {state.step !== "report" && (
        <section class="card">
          <Title>{say("title")}</Title>
          <p>{say("lead")}</p>
          <label class={`drop ${over ? "over" : ""}`} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
            onDrop={(e) => { e.preventDefault(); setOver(false); take(e.dataTransfer?.files[0]); }}>
            <Icon name="file" size={28} />
            <span>{state.step === "busy" ? say("busy", { name: state.name }) : say("drop")}</span>
            <input ref={input} id="file" type="file" accept="application/pdf,.pdf" disabled={state.step === "busy"} onChange={(e) => take(e.currentTarget.files?.[0])} />
          </label>
          <p class="notice bad" role="alert">{state.step === "choose" ? state.problem : ""}</p>
          <p class="quiet small">{say("privacy")}</p>
        </section>
      )}
      {state.step === "report" && <ReportView {...state} t={t} say={say} when={when} onExtract={(part, name) => void examine(part, name)} />}
      <footer class="pagefoot noprint">
        {state.step === "report" ? <button type="button" class="plain small" onClick={() => setState({ step: "choose" })}>{say("another")}</button> : <span />}
        <LanguageChoice speech={speech} onChoose={choose} />
      </footer>
    </main>
  );
}

interface ReportViewProps { name: string; file: Blob; report: Report; t: Translate; say: VerifyTranslate; when: (s: string) => string; onExtract: (part: Blob, name: string) => void }

/** The verdict with its meaning and advice, followed by the verified record and the findings. */
function ReportView({ name, file, report: r, t, say, when, onExtract }: ReportViewProps) {
  const said = shown(r);
  const verdict = verdicts[said];
  const by = r.record?.sealedBy ?? r.sealedBy ?? "";
  const others = r.signatures ?? [];
  const extract = () => {
    const part = file.slice(0, r.additions?.from, "application/pdf");
    const url = URL.createObjectURL(part);
    Object.assign(document.createElement("a"), { href: url, download: `sealed ${name}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    onExtract(part, `sealed ${name}`);
  };
  return (
    <>
      <section class={`card verdict ${r.verdict}`}>
        <StatusIcon icon={verdict.icon} tone={verdict.tone} />
        <Title>{say(said)}</Title>
        <p>{say(verdict.text, { by })}</p>
        <p><strong>{say(verdict.advice)}</strong></p>
        {r.verdict === "altered" && r.additions && <p><button type="button" onClick={extract}>{say("extract")}</button></p>}
        {r.record ? <Facts record={r.record} say={say} when={when} file={name} stampedAt={r.stampedAt} /> : <dl class="facts"><dt>{say("file")}</dt><dd><bdi>{name}</bdi></dd></dl>}
        {others.length > 0 && (
          <>
            <p class="small">{say("others", { n: others.length })}</p>
            <ul class="small">{others.map((s, i) => <li key={i}><bdi>{s.by ? say("otherBy", { by: s.by }) : say("otherUnknown")}</bdi>, {say(s.wholeFile ? "coversAll" : "coversPart")}</li>)}</ul>
          </>
        )}
      </section>
      {r.record && r.record.signers.length > 0 && <Signers record={r.record} say={say} when={when} />}
      {r.record?.appearance && r.record.appearance.pages.length > 0 && <ShownPages file={file} pages={r.record.appearance.pages} total={r.record.document.pageCount} t={t} say={say} />}
      <Findings findings={r.findings} say={say} when={when} />
      {r.record && r.record.events.length > 0 && <Events record={r.record} say={say} when={when} />}
    </>
  );
}

function Findings({ findings, say, when }: { findings: Finding[]; say: VerifyTranslate; when: (s: string) => string }) {
  const sentence = (f: Finding): string => {
    const key = findingTexts[f.code];
    if (!key) return "";
    const values = Object.fromEntries(Object.entries(f.values ?? {}).map(([k, v]) => [k, k === "time" ? when(v) : k === "name" ? commonName(v) : /^\d{1,15}$/.test(v) ? Number(v) : v]));
    return say(key, "bytes" in values ? { n: values.bytes, ...values } : values); // n determines the plural form
  };
  return (
    <section class="card">
      <h2>{say("checks")}</h2>
      <ul class="checks">
        {bySeverity(findings).map((f, i) => {
          const check = checks[f.check];
          return (
            <li key={`${f.code}${i}`} class={f.status}>
              <Icon name={marks[f.status].icon} size={18} />
              <span><strong>{check ? say(check) : f.check.replaceAll("_", " ")}</strong> <span class={findingTexts[f.code] ? "sr" : "quiet"}>{say(marks[f.status].word)}</span><br /><span class="small">{sentence(f)}</span></span>
            </li>
          );
        })}
      </ul>
      <details>
        <summary class="small">{say("technical")}</summary>
        <ul class="technical mono" lang="en" dir="ltr" tabIndex={0} aria-label={say("technical")}>{findings.map((f, i) => <li key={i}>{f.code}: {f.detail}</li>)}</ul>
      </details>
    </section>
  );
}

/** Returns the common name of a certificate's subject (RFC 4514). */
const commonName = (name: string): string => /(?:^|,)CN=((?:\\.|[^,\\])+)/.exec(name)?.[1]?.replaceAll(/\\(.)/g, "$1") ?? name;

function problemOf(e: unknown, t: Translate, say: VerifyTranslate): string {
  if (!(e instanceof ApiError)) return t("unreachable");
  if (e.status === 413) return say("tooLarge");
  if (e.status === 429 || e.status === 503) return t("busyText");
  return t("wentWrong", { message: e.message });
}

void start(Verify);
