/**
 * A text of somebody else's that is safe on a terminal: control characters move the cursor and write elsewhere, and those of
 * right-to-left writing change what is read.
 */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
