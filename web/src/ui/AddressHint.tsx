import { addressHint } from "./addresshint";

/** Offers the address that was probably meant by one with a typing error; a press takes it. */
export function AddressHint({ address, text, onTake }: { address: string; /** The question: whether the address was meant. */ text: (meant: string) => string; onTake: (meant: string) => void }) {
  const meant = addressHint(address);
  return <p class="small hint" role="status">{meant && <button type="button" class="bare small" onClick={() => onTake(meant)}>{text(meant)}</button>}</p>;
}
