import { useEffect, useMemo, useState } from "preact/hooks";
import "./embed.css";
import { Sign, type Host, type HostEvent } from "../sign/App";
import { EndPage, type EndState } from "../sign/EndPage";
import type { Context } from "../sign/model";
import { request, ApiError } from "../ui/http";
import { Loading } from "../ui/parts";
import { start, tokenFromPath, type LocalizedProps } from "../ui/start";
import { paintTheme, type Theme } from "../ui/theme";

interface Session {
  envelopeId: string;
  signerId: string;
  signingToken: string;
  allowedOrigin: string;
  returnUrl: string | null;
  theme: Theme | null;
}

/** The session that messages identify, and the origin that receives the messages. */
type Bound = Pick<Session, "envelopeId" | "signerId" | "allowedOrigin">;

/** Posts an event to the embedding application and to no other origin. */
function post(to: Bound, event: HostEvent | "resize", more: Record<string, unknown> = {}): void {
  if (parent === window) return;
  const name = `service.signer.${event}`;
  parent.postMessage({ event: name, type: name, envelopeId: to.envelopeId, signerId: to.signerId, ...more }, to.allowedOrigin);
}

const ends: Record<string, EndState> = { session_expired: "embedExpired", session_completed: "used", rate_limited: "busy" };

function Embedded(spoken: LocalizedProps) {
  const [session, setSession] = useState<Session | null>(null);
  const [bound, setBound] = useState<Bound | null>(null);
  const [end, setEnd] = useState<EndState | null>(null);
  const load = async () => {
    setEnd(null);
    try {
      const s = await request<Session>(`/v1/embedded/sessions/${encodeURIComponent(tokenFromPath())}`);
      setBound(s);
      // If the browser lists the ancestor origins, the first one must be the allowed origin.
      const above = location.ancestorOrigins;
      if (above && above.length > 0 && above[0] !== s.allowedOrigin) {
        post(s, "error", { code: "origin_forbidden" });
        setEnd("embedInvalid");
        return;
      }
      paintTheme(s.theme);
      setSession(s);
    } catch (e) {
      setEnd(!(e instanceof ApiError) ? "offline" : ends[e.code] ?? (e.status >= 500 ? "offline" : "embedInvalid"));
      // The error for an ended session contains the origin to which the session was bound.
      if (e instanceof ApiError && typeof e.details.allowedOrigin === "string") {
        const was = e.details as unknown as Bound;
        setBound(was);
        post(was, "error", { code: e.code });
      }
    }
  };
  useEffect(() => { void load(); }, []);
  useEffect(() => {
    if (!bound) return;
    let last = 0;
    const app = document.getElementById("app")!;
    const tell = () => {
      // Documents scroll within the frame. In a frame of their full height, the toolbar and its button would be far
      // below the screen.
      const reading = app.querySelector(".reading") !== null;
      const content = Math.ceil(app.getBoundingClientRect().height);
      const height = reading ? Math.min(content, Math.max(560, screen.availHeight - 120)) : content;
      if (height === last) return;
      last = height;
      post(bound, "resize", { height });
    };
    const observer = new ResizeObserver(tell);
    observer.observe(app);
    return () => observer.disconnect();
  }, [bound]);
  const host = useMemo<Host>(() => ({
    emit: (event: HostEvent, _context: Context | null, more) => { if (session) post(session, event, more); },
    returnUrl: session?.returnUrl ?? undefined,
    framed: true,
    themed: Boolean(session?.theme?.primaryColor),
  }), [session]);
  if (end) return <main class="narrow"><EndPage end={end} speech={spoken.speech} onRetry={() => void load()} /></main>;
  if (!session) return <Loading text={spoken.speech.t("loading")} />;
  return <Sign {...spoken} token={session.signingToken} session={`${session.envelopeId}:${session.signerId}`} host={host} />;
}

void start(Embedded);
