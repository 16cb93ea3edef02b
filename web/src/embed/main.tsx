import { useEffect, useMemo, useState } from "preact/hooks";
import "./embed.css";
import { Sign, type Host, type HostEvent } from "../sign/App";
import { EndPage, type EndState } from "../sign/EndPage";
import type { Context } from "../sign/model";
import { request, ApiError } from "../ui/http";
import { Loading } from "../ui/parts";
import { start, tokenFromPath, type LocalizedProps } from "../ui/start";

interface Session {
  envelopeId: string;
  signerId: string;
  signingToken: string;
  allowedOrigin: string;
  returnUrl: string | null;
  theme: { primaryColor: string | null; borderRadius: string | null } | null;
}

/** Whom the page tells, and of what. */
type Bound = Pick<Session, "envelopeId" | "signerId" | "allowedOrigin">;

/** Tells the application around the frame, and nobody else. */
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
      // A browser that names its ancestors must name the allowed one.
      const above = location.ancestorOrigins;
      if (above && above.length > 0 && above[0] !== s.allowedOrigin) {
        post(s, "error", { code: "origin_forbidden" });
        setEnd("embedInvalid");
        return;
      }
      paint(s.theme);
      setSession(s);
    } catch (e) {
      setEnd(!(e instanceof ApiError) ? "offline" : ends[e.code] ?? (e.status >= 500 ? "offline" : "embedInvalid"));
      // A session that is over names the origin that it was bound to.
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
      // Documents scroll inside: a frame as long as they are would have its bar, and the next step, far below the screen.
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
  }), [session]);
  if (end) return <main class="narrow"><EndPage end={end} speech={spoken.speech} onRetry={() => void load()} /></main>;
  if (!session) return <Loading text={spoken.speech.t("loading")} />;
  return <Sign {...spoken} token={session.signingToken} session={`${session.envelopeId}:${session.signerId}`} host={host} />;
}

/** Gives the page the colour and the corners of the application, if the text stays readable on them. */
function paint(theme: Session["theme"]): void {
  const root = document.documentElement.style;
  const colour = /^#([0-9a-f]{6}|[0-9a-f]{3})$/i.exec(theme?.primaryColor ?? "")?.[1];
  if (colour) {
    const full = colour.length === 3 ? [...colour].map((c) => c + c).join("") : colour;
    const light = luminance(full);
    root.setProperty("--accent-fill", `#${full}`);
    root.setProperty("--on-accent-fill", light > 0.179 ? "#10181d" : "#ffffff");
    // As the colour of text it must stand off the paper: it is mixed until it does.
    root.setProperty("--accent-text-light", `color-mix(in srgb, #${full} ${light < 0.17 ? 100 : 45}%, black)`);
    root.setProperty("--accent-text-dark", `color-mix(in srgb, #${full} ${light > 0.25 ? 100 : 45}%, white)`);
    document.documentElement.classList.add("themed");
  }
  const radius = /^(\d{1,2}(?:\.\d+)?)(px|rem|em)?$/.exec(theme?.borderRadius ?? "");
  if (radius) root.setProperty("--radius", `${radius[1]}${radius[2] ?? "px"}`);
}

/** Relative luminance (WCAG 2.2) of a colour of six hexadecimal digits. */
function luminance(hex: string): number {
  const [r, g, b] = [0, 2, 4].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

void start(Embedded);
