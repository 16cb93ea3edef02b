import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../ui/http";
import { Loading } from "../ui/parts";
import { start, type LocalizedProps } from "../ui/start";
import { paintTheme, type Theme } from "../ui/theme";
import { Builder, type BuilderEvent } from "./Builder";
import { forgetAll } from "./kept";
import type { Features } from "./model";
import { loadTexts, t, type TextKey } from "./texts";

interface Session { envelopeId?: string; templateId?: string; allowedOrigin: string; returnUrl: string | null; theme: Theme | null; features: Features }

/** Posts an event to the embedding application and to no other origin. */
function post(to: Pick<Session, "envelopeId" | "templateId" | "allowedOrigin">, event: BuilderEvent | "closed" | "resize", more: Record<string, unknown> = {}): void {
  if (parent === window) return;
  const name = `service.builder.${event}`;
  parent.postMessage({ event: name, type: name, ...(to.templateId ? { templateId: to.templateId } : { envelopeId: to.envelopeId }), ...more }, to.allowedOrigin);
}

const ends: Record<string, TextKey> = { session_expired: "sessionExpired", session_completed: "sessionOver" };

function BuilderPage({ speech }: LocalizedProps) {
  const token = location.pathname.split("/")[3] ?? "";
  const [session, setSession] = useState<Session | null>(null);
  const [problem, setProblem] = useState<TextKey | null>(null);
  const [ready, setReady] = useState(false);
  useEffect(() => {
    void loadTexts(speech.language).then(() => { document.title = t("pageTitle"); setReady(true); });
  }, []);
  const [sent, setSent] = useState(false);
  useEffect(() => {
    request<Session>(`/v1/embedded/builders/${encodeURIComponent(token)}`).then((s) => {
      const above = location.ancestorOrigins;
      if (above && above.length > 0 && above[0] !== s.allowedOrigin) {
        post(s, "error", { code: "origin_forbidden" });
        setProblem("otherPage");
        return;
      }
      paintTheme(s.theme);
      setSession(s);
    }, (e: unknown) => {
      const code = e instanceof ApiError ? e.code : "unreachable";
      // The draft was sent or deleted, or the template was archived, so nothing can be saved anymore.
      if (e instanceof ApiError && code === "session_completed") forgetAll(String(e.details.envelopeId ?? e.details.templateId));
      setProblem(ends[code] ?? (e instanceof ApiError && e.status < 500 ? "sessionInvalid" : "tryLater"));
      if (e instanceof ApiError && typeof e.details.allowedOrigin === "string") post(e.details as unknown as Session, "error", { code });
    });
  }, []);
  useEffect(() => {
    if (!session) return;
    const app = document.getElementById("app")!;
    const watch = new ResizeObserver(() => post(session, "resize", { height: Math.ceil(app.getBoundingClientRect().height) }));
    watch.observe(app);
    return () => watch.disconnect();
  }, [session]);
  if (!ready) return <Loading text={speech.t("loading")} />;
  if (problem) return <main class="narrow"><p class="notice bad" role="alert">{t(problem)}</p></main>;
  if (sent) return <main class="narrow"><div class="card"><h1>{t("sent")}</h1><p>{t("sentText")}</p>{session?.returnUrl && <a class="button" href={session.returnUrl} target="_top" rel="noreferrer">{t("goOn")}</a>}</div></main>;
  if (!session) return <Loading text={t("loading")} />;
  const close = () => {
    post(session, "closed");
    if (parent === window && session.returnUrl) location.assign(session.returnUrl);
  };
  return <Builder envelopeId={session.envelopeId} templateId={session.templateId} bearer={token} features={session.features} onClose={parent !== window || session.returnUrl ? close : undefined}
    onEvent={(event, more) => { post(session, event, more); if (event === "sent") setSent(true); }} />;
}

void start(BuilderPage);
