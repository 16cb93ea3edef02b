import { useMemo } from "preact/hooks";
import { Sign, type Host } from "../sign/App";
import { PreviewClient } from "../sign/preview";
import { consoleToken } from "../ui/session";
import { start, type LocalizedProps } from "../ui/start";

/**
 * The signing page of a draft's recipient, for the sender. The console displays it in a frame of the same tab, where it
 * uses the console's session.
 */
function Preview({ speech, choose }: LocalizedProps) {
  const host = useMemo<Host>(() => {
    const [, , envelope = "", signer = ""] = location.pathname.split("/");
    return { emit: () => {}, framed: true, preview: new PreviewClient(envelope, signer, consoleToken() ?? "") };
  }, []);
  // The page uses the recipient's language. This language does not become the sender's choice for other pages.
  return <Sign speech={speech} choose={(l) => choose(l, false)} token="" host={host} />;
}

// Escape closes the dialog around the frame, unless a dialog in the frame is open.
addEventListener("keydown", (e) => {
  if (e.key === "Escape" && !document.querySelector("dialog[open]")) parent.postMessage("preview.closed", location.origin);
});

void start(Preview);
