import { useEffect, useMemo, useState } from "preact/hooks";
import "./embed.css";
import { Sign, type Host, type HostEvent } from "../sign/App";
import { Ended, type End } from "../sign/Ends";
import type { Context } from "../sign/model";
import { ask, Refusal } from "../ui/http";
import { Waiting } from "../ui/parts";
import { start, tokenFromPath, type Spoken } from "../ui/start";

interface Session {
  envelopeId: string;
  signerId: string;
  signingToken: string;
  allowedOrigin: string;
  returnUrl: string | null;
  theme: { primaryColor: string | null; borderRadius: string | null } | null;
}

/** Tells the application around the frame, and nobody else. */
function post(session: Session, event: HostEvent | "viewed" | "resize", more: Record<string, unknown> = {}): void {
  if (parent === window) return;
  const name = event === "resize" ? "service.signer.resize" : `service.signer.${event}`;
  parent.postMessage({ event: name, type: name, envelopeId: session.envelopeId, signerId: session.signerId, ...more }, session.allowedOrigin);
}

function Embedded(spoken: Spoken) {
  const [session, setSession] = useState<Session | null>(null);
  const [end, setEnd] = useState<End | null>(null);
  const load = async () => {
    setEnd(null);
    try {
      const s = await ask<Session>(`/v1/embedded/sessions/${encodeURIComponent(tokenFromPath())}`);
      // A browser that names its ancestors must name the allowed one.
      const above = location.ancestorOrigins;
      if (above && above.length > 0 && above[0] !== s.allowedOrigin) {
        setEnd("embedInvalid");
        return;
      }
      paint(s.theme);
      setSession(s);
    } catch (e) {
      if (!(e instanceof Refusal)) setEnd("offline");
      else setEnd(({ session_expired: "embedExpired", session_completed: "used", rate_limited: "busy" } as Record<string, End>)[e.code] ?? (e.status >= 500 ? "offline" : "embedInvalid"));
    }
  };
  useEffect(() => { void load(); }, []);
  useEffect(() => {
    if (!session) return;
    let last = 0;
    const observer = new ResizeObserver(() => {
      const height = Math.ceil(document.getElementById("app")!.getBoundingClientRect().height);
      if (height === last) return;
      last = height;
      post(session, "resize", { height });
    });
    observer.observe(document.getElementById("app")!);
    return () => observer.disconnect();
  }, [session]);
  const host = useMemo<Host>(() => ({
    emit: (event: HostEvent, _context: Context | null, more) => { if (session) post(session, event, more); },
    returnUrl: session?.returnUrl ?? undefined,
    framed: true,
  }), [session]);
  if (end) return <main class="narrow"><Ended end={end} speech={spoken.speech} onRetry={() => void load()} /></main>;
  if (!session) return <Waiting text={spoken.speech.t("loading")} />;
  return <Sign {...spoken} token={session.signingToken} host={host} />;
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
