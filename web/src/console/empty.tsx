import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "../ui/parts";

/** The content shown for an empty list: its purpose, and the next step. */
export function Empty({ icon, title, children, action }: { icon: IconName; title: string; children: ComponentChildren; action?: ComponentChildren }) {
  return (
    <section class="card empty">
      <span class="emptymark"><Icon name={icon} size={26} /></span>
      <h2>{title}</h2>
      <p class="quiet">{children}</p>
      {action && <div class="row">{action}</div>}
    </section>
  );
}
