import { ApiError } from "../ui/http";
import type { Client } from "./client";

const signs = ["pointerdown", "pointermove", "keydown", "scroll"];
// The time between two requests, in milliseconds. With this interval, a voided envelope is reported within five
// seconds.
const pause = 4000;
const idlePause = 20_000; // used after a period without user activity
const idleAfter = 120_000;

/**
 * Calls onChange when entries of others have changed the displayed values, and onOver when the signing has ended. It
 * polls only while the page is visible, and sends a request at once when the user returns to the page.
 */
export function watchShown(client: Client, known: () => string | null, onChange: () => Promise<void>, onOver: () => void): () => void {
  let [timer, done, asking] = [0, false, false];
  // The times of the last user activity and of the last request.
  let [seen, asked] = [performance.now(), performance.now()];
  const look = async () => {
    if (done || asking) return;
    clearTimeout(timer);
    let wait = performance.now() - seen < idleAfter ? pause : idlePause;
    if (document.visibilityState === "visible") {
      [asking, asked] = [true, performance.now()];
      try {
        const { shown } = await client.ask<{ shown: string | null }>("/shown");
        if (!done && shown !== null && shown !== known()) await onChange();
      } catch (e) {
        if (e instanceof ApiError) {
          wait = Math.max(wait, e.retryAfter * 1000);
          if (e.status === 404) done = true; // the service does not have this endpoint
          if ((e.status === 401 && e.code !== "otp_required") || e.status === 410) {
            done = true;
            onOver();
          }
        }
      }
      asking = false;
    }
    if (!done && document.visibilityState === "visible") timer = window.setTimeout(() => void look(), wait);
  };
  const back = () => { if (document.visibilityState === "visible") void look(); };
  const active = () => {
    seen = performance.now();
    if (seen - asked > pause) back();
  };
  timer = window.setTimeout(() => void look(), pause);
  document.addEventListener("visibilitychange", back);
  for (const sign of signs) addEventListener(sign, active, { passive: true });
  return () => {
    done = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", back);
    for (const sign of signs) removeEventListener(sign, active);
  };
}
