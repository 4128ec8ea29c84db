/**
 * Makes a foreign text safe for a terminal: control characters move the cursor, and those of right-to-left writing change
 * the order in which a line is read.
 */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
