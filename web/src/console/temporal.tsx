import { useEffect, useState } from "preact/hooks";
import { t } from "./texts";

const pause = 20_000; // in milliseconds; interval between checks while Temporal is down

/** Reports whether Temporal is down, which delays emails and sealing. */
async function temporalIsDown(): Promise<boolean> {
  try {
    const parts = await (await fetch("/readyz")).json() as { temporal?: string };
    return parts.temporal === "down";
  } catch {
    return false; // the service is not responding, which the page reports elsewhere
  }
}

/**
 * A line below the console's header while Temporal is down. The state is checked once, and again at intervals while
 * Temporal is down.
 */
export function TemporalNotice() {
  const [down, setDown] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let gone = false;
    const look = async () => {
      const isDown = await temporalIsDown();
      if (gone) return;
      setDown(isDown);
      if (isDown) timer = setTimeout(() => void look(), pause);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  return <div role="status">{down && <p class="notice waiting">{t("temporalDown")}</p>}</div>;
}
