// Packages side by side as comma-separated values (RFC 4180): a line for each channel of each catalog. Pure.

import type { MarkName, MatrixRow } from "./marks";

const HEADS = ["package", "mark", "catalog", "channel", "default", "head", "maxOpenShiftVersion"];

export function matrixCsv(rows: readonly { row: MatrixRow; mark: MarkName }[]): string {
  const lines = rows.flatMap(({ row, mark }) =>
    row.catalogs.flatMap(({ catalog, defaultChannel, channels }) =>
      channels.map(({ name, headVersion, headName, maxOpenShiftVersion }) => [
        row.name,
        mark,
        catalog,
        name,
        String(name === defaultChannel),
        headVersion ?? headName ?? "",
        maxOpenShiftVersion ?? "",
      ]),
    ),
  );
  return [HEADS, ...lines].map((cells) => `${cells.map(cell).join(",")}\r\n`).join("");
}

/** A spreadsheet takes a text that begins with one of these for a formula. */
const FORMULA = /^[=+@\t\r-]/;

function cell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
