const isDigit = (c: number): boolean => /\p{Nd}/u.test(String.fromCodePoint(c));

/** Writes the decimal digits of all scripts as 0 to 9. Unicode has those of a script in a row, 0 first, and some rows right behind each other. */
export function latinDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const at = digit.codePointAt(0)!;
    let zero = at;
    while (isDigit(zero - 1)) zero--;
    return String((at - zero) % 10);
  });
}
