import { addressHint } from "./addresshint";

/** Suggests the intended address for an address with a typing error; pressing it accepts the suggestion. */
export function AddressHint({ address, text, onTake }: { address: string; /** The question: whether the address was meant. */ text: (meant: string) => string; onTake: (meant: string) => void }) {
  const meant = addressHint(address);
  return <p class="small hint" role="status">{meant && <button type="button" class="bare small" onClick={() => onTake(meant)}>{text(meant)}</button>}</p>;
}
