/**
 * The steps of a draft. Recipients in the same step act at the same time, and a witness belongs to the step of the
 * witnessed signer.
 */
import type { RecipientEdit } from "./editor";
import type { Recipient } from "./model";

export function stepsOf(recipients: readonly Recipient[]): Recipient[][] {
  const orders = [...new Set(recipients.map((r) => r.routingOrder))].sort((a, b) => a - b);
  return orders.map((order) => {
    const group = recipients.filter((r) => r.routingOrder === order);
    const first = group.filter((r) => !r.witnessFor);
    return first.length === 0 ? group : [...first.flatMap((r) => [r, ...group.filter((w) => w.witnessFor && w.witnessFor === r.role)]), ...group.filter((w) => w.witnessFor && !first.some((r) => r.role === w.witnessFor))];
  });
}

/** Returns the edits that produce the given steps. They set the number of each recipient whose step differs. */
function numbered(steps: readonly (readonly Recipient[])[]): Map<string, RecipientEdit> {
  const out = new Map<string, RecipientEdit>();
  steps.filter((s) => s.length > 0).forEach((step, i) => {
    for (const r of step) if (!r.witnessFor && r.routingOrder !== i + 1) out.set(r.id, { routingOrder: i + 1 });
  });
  return out;
}

/**
 * Moves a recipient with their witnesses into a step. If the argument between is true, they are moved into a new step
 * before the step with that index.
 */
export function moveTo(recipients: readonly Recipient[], moved: Recipient, index: number, between: boolean): Map<string, RecipientEdit> {
  const own = (r: Recipient) => r.id === moved.id || (r.witnessFor !== undefined && r.witnessFor === moved.role);
  const steps = stepsOf(recipients).map((s) => s.filter((r) => !own(r)));
  const group = recipients.filter(own);
  const next = between ? [...steps.slice(0, index), group, ...steps.slice(index)] : steps.map((s, i) => (i === index ? [...s, ...group] : s));
  return numbered(next);
}

/**
 * Moves a recipient one step earlier or later. From a shared step, the recipient moves into a separate new step. From
 * there, the recipient moves into the adjacent step.
 */
export function moveBy(recipients: readonly Recipient[], moved: Recipient, by: -1 | 1): Map<string, RecipientEdit> {
  const steps = stepsOf(recipients);
  const at = steps.findIndex((s) => s.some((r) => r.id === moved.id));
  const alone = steps[at]!.every((r) => r.id === moved.id || (r.witnessFor !== undefined && r.witnessFor === moved.role));
  if (!alone) return moveTo(recipients, moved, by < 0 ? at : at + 1, true);
  if (at + by < 0 || at + by >= steps.length) return new Map();
  return moveTo(recipients, moved, at + by, false);
}

/** Returns an unused role name, such as signer1 or signer2. */
export function freshRole(recipients: readonly Recipient[]): string {
  const taken = new Set(recipients.map((r) => r.role));
  let n = 1;
  while (taken.has(`signer${n}`)) n++;
  return `signer${n}`;
}
