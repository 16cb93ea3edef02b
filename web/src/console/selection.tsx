import { useRef, useState } from "preact/hooks";
import { ApiError, newKey } from "../ui/http";
import { Dialog } from "../ui/parts";
import { errorText, hasRole, type Client, type Envelope, type Identity } from "./api";
import { cellOf } from "./csv";
import { nameOf } from "./parts";
import { ownerOf, stateOf } from "./state";
import { listed, t, type TextKey } from "./texts";
import { sentenceOf } from "./timeline";
import { zipOf, type ArchivedFile } from "./zip";

type Kind = "remind" | "extend" | "void" | "download";

const isOpen = (e: Envelope): boolean => e.status === "sent" || e.status === "in_progress";
const awaited = (e: Envelope) => e.signers.filter((s) => ["sent", "viewed"].includes(s.status) && !s.signedAt && s.notify !== false);
const sealedFiles = (e: Envelope) => e.documents.filter((d) => d.kind === "sealed" && d.purgeStatus !== "purged");

/**
 * The actions on several envelopes. The property fits is a function that reports whether an action applies to an
 * envelope. The property "otherwise" is the message for envelopes to which it does not apply.
 */
const kinds: Record<Kind, { label: TextKey; title: TextKey; text: TextKey; fits: (e: Envelope) => boolean; otherwise: TextKey; tone: string }> = {
  remind: { label: "remind", title: "remindTitle", text: "remindText", fits: (e) => isOpen(e) && awaited(e).length > 0, otherwise: "nobodyToRemind", tone: "" },
  extend: { label: "extend", title: "extendTitle", text: "extendText", fits: isOpen, otherwise: "notOpen", tone: "" },
  void: { label: "void", title: "voidTitle", text: "voidText", fits: isOpen, otherwise: "notOpen", tone: "bad" },
  download: { label: "download", title: "downloadTitle", text: "downloadText", fits: (e) => sealedFiles(e).length > 0, otherwise: "nothingSealed", tone: "" },
};

/** The actions on the selected envelopes. */
export function SelectionBar({ client, who, selected, onClear, onChanged }: { client: Client; who: Identity; selected: readonly Envelope[]; onClear: () => void; onChanged: () => void }) {
  const [doing, setDoing] = useState<Kind | null>(null);
  const support = hasRole(who, "support");
  const csv = () => {
    const head = ["subject", "status", "recipients", "lastActivity", "owner", "deadline", "createdAt"] as const;
    const lines = selected.map((e) => [
      e.subject ?? "", nameOf(e.status), e.signers.map((s) => `${s.name} <${s.email}>: ${t(stateOf(e, s).text)}`).join("; "), e.lastActivity ? sentenceOf(e, who.app.name, e.lastActivity) : "", ownerOf(e, who.app.name), e.expiresAt ?? "", e.createdAt,
    ]);
    // Spreadsheet programs need the byte order mark to read UTF-8.
    save(new Blob(["\uFEFF", [head.map((h) => t(h)), ...lines].map((l) => `${l.map(cellOf).join(",")}\r\n`).join("")], { type: "text/csv" }), "envelopes.csv");
  };
  return (
    <div class="selection" role="region" aria-label={t("selection")}>
      <strong role="status">{t("selected", { n: selected.length })}</strong>
      {support && (["remind", "extend", "void"] as const).map((k) => <button key={k} type="button" class="plain small" onClick={() => setDoing(k)}>{t(kinds[k].label)}</button>)}
      <button type="button" class="plain small" onClick={() => setDoing("download")}>{t("download")}</button>
      <button type="button" class="plain small" onClick={csv}>{t("csv")}</button>
      <button type="button" class="bare small" onClick={onClear}>{t("clearSelection")}</button>
      {doing && <Run client={client} kind={doing} envelopes={selected} onChanged={onChanged} onClose={() => setDoing(null)} />}
    </div>
  );
}

/** Saves a file as a download. */
function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

interface Outcome { state: "done" | "failed" | "running"; text: string }

/**
 * Performs an action on one envelope at a time, and displays the result for each. An action that has succeeded is not
 * repeated.
 */
function Run({ client, kind, envelopes, onChanged, onClose }: { client: Client; kind: Kind; envelopes: readonly Envelope[]; onChanged: () => void; onClose: () => void }) {
  const { title, text, label, fits, otherwise, tone } = kinds[kind];
  const [all] = useState(envelopes); // the envelopes at the time of selection; the list below continues to be updated
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [running, setRunning] = useState(false);
  const [reason, setReason] = useState("");
  const [deadline, setDeadline] = useState("");
  const keys = useRef(new Map<string, string>());
  const files = useRef<ArchivedFile[]>([]);
  const closed = useRef(false);
  /**
   * Returns the Idempotency-Key for an action on an object. Repeating the action after a lost response sends the same
   * request.
   */
  const keyOf = (what: string): string => {
    const key = keys.current.get(what) ?? newKey();
    keys.current.set(what, key);
    return key;
  };
  const reminded = useRef(new Set<string>());
  const able = all.filter(fits);
  const left = able.filter((e) => outcomes.get(e.id)?.state !== "done");
  const started = outcomes.size > 0;
  const act: Record<Kind, (e: Envelope) => Promise<string>> = {
    remind: async (e) => {
      const problems: string[] = [];
      for (const s of awaited(e).filter((s) => !reminded.current.has(s.id))) {
        try {
          await client.call(`/v1/envelopes/${e.id}/signers/${s.id}/remind`, { method: "POST", key: keyOf(s.id) });
          reminded.current.add(s.id);
        } catch (x) {
          if (x instanceof ApiError) keys.current.delete(s.id); // without a response, a retry must be the same request
          problems.push(t("colon", { name: s.name, text: errorText(x) }));
        }
      }
      if (problems.length > 0) throw new Error(problems.join(" "));
      return t("reminded", { names: listed(awaited(e).map((s) => s.name)) });
    },
    extend: async (e) => {
      await client.call(`/v1/envelopes/${e.id}`, { method: "PATCH", body: { expiresAt: new Date(deadline).toISOString() } });
      return t("extended");
    },
    void: async (e) => {
      await client.call(`envelopes/${e.id}/void`, { body: { reason: reason || null }, key: keyOf(e.id) });
      return t("voided");
    },
    download: async (e) => {
      for (const d of sealedFiles(e)) {
        const folder = (e.subject ?? e.id).replaceAll(/[/\\:*?"<>|\p{Cc}]/gu, "_").slice(0, 80);
        const name = (d.name || `${folder}.pdf`).replaceAll(/[/\\:*?"<>|\p{Cc}]/gu, "_");
        files.current.push({ name: `${folder}/${name}`, data: await client.bytes(`envelopes/${e.id}/document?kind=sealed&documentId=${d.id}`) });
      }
      return t("inArchive", { n: sealedFiles(e).length });
    },
  };
  const run = async () => {
    if (running) return;
    setRunning(true);
    for (const e of left) {
      if (closed.current) break;
      const tell = (o: Outcome) => setOutcomes((old) => new Map(old).set(e.id, o));
      tell({ state: "running", text: t("working") });
      try {
        tell({ state: "done", text: await act[kind](e) });
      } catch (x) {
        tell({ state: "failed", text: errorText(x) });
      }
    }
    if (kind === "download" && files.current.length > 0 && !closed.current) {
      try {
        save(zipOf(files.current), "envelopes.zip");
      } catch (x) {
        for (const e of left) setOutcomes((old) => new Map(old).set(e.id, { state: "failed", text: errorText(x) }));
      }
      files.current = [];
    }
    setRunning(false);
    onChanged();
  };
  const failed = able.filter((e) => outcomes.get(e.id)?.state === "failed").length;
  const over = started && !running && failed === 0;
  const heading = able.length > 0 ? t(title, { n: able.length }) : t(label);
  const close = () => { closed.current = true; onClose(); };
  return (
    <Dialog label={heading} onClose={close}>
      <form class="stack" onSubmit={(e) => { e.preventDefault(); void run(); }}>
        <h2 tabIndex={-1}>{heading}</h2>
        {able.length > 0 && <p>{t(text)}</p>}
        {kind === "extend" && able.length > 0 && !started && <div><label for="until">{t("deadlineIn", { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}</label><input id="until" type="datetime-local" required value={deadline} onInput={(e) => setDeadline(e.currentTarget.value)} /></div>}
        {kind === "void" && able.length > 0 && !started && <div><label for="why">{t("voidReason")}</label><textarea id="why" maxLength={1000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></div>}
        <ul class="outcomes" aria-live="polite" tabIndex={0} aria-label={t("envelopes")}>
          {all.map((e) => {
            const o = outcomes.get(e.id);
            return <li key={e.id} class={fits(e) || o ? o?.state ?? "" : "skipped"}><span><bdi>{e.subject ?? t("untitled")}</bdi></span><span class="small">{o?.text ?? (fits(e) ? "" : t(otherwise))}</span></li>;
          })}
        </ul>
        <div class="row end">
          <button type="button" class={over || able.length === 0 ? "" : "bare"} onClick={close}>{t(over || able.length === 0 ? "close" : "cancel")}</button>
          {!over && able.length > 0 && <button class={tone} aria-disabled={running}>{failed > 0 && !running ? t("tryAgain", { n: failed }) : t(label)}</button>}
        </div>
      </form>
    </Dialog>
  );
}
