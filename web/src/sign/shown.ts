import { ApiError } from "../ui/http";
import type { Client } from "./client";

const pause = 12_000; // milliseconds between two looks

/** Calls onChange when entries of others have changed the displayed values, while the page is visible. */
export function watchShown(client: Client, known: () => string | null, onChange: () => Promise<void>, onOver: () => void): () => void {
  let [timer, done, asking] = [0, false, false];
  const look = async () => {
    if (done || asking) return;
    clearTimeout(timer);
    let wait = pause;
    if (document.visibilityState === "visible") {
      asking = true;
      try {
        const { shown } = await client.ask<{ shown: string | null }>("/shown");
        if (!done && shown !== null && shown !== known()) await onChange();
      } catch (e) {
        if (e instanceof ApiError) {
          wait = Math.max(wait, e.retryAfter * 1000);
          if (e.status === 404) done = true; // a service without this endpoint
          if ((e.status === 401 && e.code !== "otp_required") || e.status === 410) {
            done = true;
            onOver();
          }
        }
      }
      asking = false;
    }
    if (!done) timer = window.setTimeout(() => void look(), wait);
  };
  const back = () => { if (document.visibilityState === "visible") void look(); };
  timer = window.setTimeout(() => void look(), pause);
  document.addEventListener("visibilitychange", back);
  return () => {
    done = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", back);
  };
}
