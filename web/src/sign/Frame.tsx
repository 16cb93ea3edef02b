import type { ComponentChildren } from "preact";
import { LanguageChoice } from "../ui/parts";
import type { LocalizedProps } from "../ui/start";
import { SenderFoot, SenderLogo, type Branding } from "./Look";
import { textFor, type RecipientKind } from "./roles";

/**
 * The layout of a page without a document. It consists of the content, the language selection, and the sender's footer.
 */
export function Narrow({ speech, choose, branding, logo, kind, onDecline, onDelegate, children }: LocalizedProps & { branding: Branding | null; logo?: string | null; kind?: RecipientKind; onDecline?: () => void; onDelegate?: () => void; children: ComponentChildren }) {
  return (
    <main class="narrow">
      {logo && <SenderLogo name="" logo={logo} />}
      {children}
      <SenderFoot branding={branding} t={speech.t} />
      <div class="pagefoot noprint">
        <span>
          {onDecline && <button type="button" class="bare small" onClick={onDecline}>{speech.t(textFor(kind, "decline"))}</button>}
          {onDelegate && <button type="button" class="bare small" onClick={onDelegate}>{speech.t(textFor(kind, "delegate"))}</button>}
        </span>
        <LanguageChoice speech={speech} onChoose={choose} />
      </div>
    </main>
  );
}
