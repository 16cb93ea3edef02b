/**
 * Parses a table (RFC 4180) and returns its rows. Quoted cells can contain quotes, commas and line breaks, and the text
 * can begin with a byte order mark. The service, not this function, reports problems in the table.
 */
export function rowsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const endRow = () => {
    row.push(cell);
    if (row.length > 1 || row[0] !== "") rows.push(row);
    [row, cell] = [[], ""];
  };
  for (let i = text.startsWith("\uFEFF") ? 1 : 0; i < text.length; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i++; } else quoted = false;
    } else if (c === '"' && cell === "") quoted = true;
    else if (c === ",") { row.push(cell); cell = ""; } else if (c === "\n") endRow();
    else if (c !== "\r" || text[i + 1] !== "\n") cell += c;
  }
  if (cell !== "" || row.length > 0) endRow();
  return rows;
}

/**
 * Returns a cell, quoted if necessary. A leading apostrophe prevents a spreadsheet from interpreting the cell as a
 * formula.
 */
export const cellOf = (text: string): string => {
  const safe = /^[=@\t\r]|^[+-](?!\d+$)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
