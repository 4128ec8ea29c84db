/** Texts that a spreadsheet would read as numbers, and lose digits of. */
const readAsNumber = /^(?:0\d+|\d{16,}|\d+e\d+)$/i;
/** An amount below zero begins like a formula and is none. */
const amount = /^-\d+\.\d\d$/;

const asItIs = (value: string) => ({ value, escape_formulas: false });

/**
 * Options of `csv-stringify` for a file that a spreadsheet opens with its texts and numbers as they are: a text that it would take
 * for a formula or a number begins with an apostrophe.
 */
export const spreadsheetCsv = {
  escape_formulas: true,
  cast: {
    string: (text: string) => (amount.test(text) ? asItIs(text) : readAsNumber.test(text) ? `'${text}` : text),
  },
};

/** The first character of such a file: without it, a spreadsheet reads other letters than those of UTF-8. */
export const byteOrderMark = '\u{feff}';
