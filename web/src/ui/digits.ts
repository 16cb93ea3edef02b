const isDigit = (c: number): boolean => /\p{Nd}/u.test(String.fromCodePoint(c));

/**
 * Replaces the decimal digits of all scripts with 0 to 9. In Unicode, the digits of each script are consecutive, and
 * some of these ranges are adjacent.
 */
export function latinDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => {
    const at = digit.codePointAt(0)!;
    let zero = at;
    while (isDigit(zero - 1)) zero--;
    return String((at - zero) % 10);
  });
}
