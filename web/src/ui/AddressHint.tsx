import { addressHint } from "./addresshint";

/** Suggests the intended address if an address contains a typo. Clicking the suggestion accepts it. */
export function AddressHint({ address, text, onTake }: { address: string; /** The text that asks whether the suggested address was intended. */ text: (meant: string) => string; onTake: (meant: string) => void }) {
  const meant = addressHint(address);
  return <p class="small hint" role="status">{meant && <button type="button" class="bare small" onClick={() => onTake(meant)}>{text(meant)}</button>}</p>;
}
