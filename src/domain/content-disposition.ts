/**
 * An `attachment` header for any name, RFC 6266: plain ASCII for old clients, and the real name in the encoding of RFC 8187.
 */
export function contentDisposition(name: string): string {
  const clean = name.toWellFormed().replace(/[\p{Cc}/\\]+/gu, '_');
  const plain = clean.replace(/[^\x20-\x7e]|["%]/g, '_');
  const encoded = encodeURIComponent(clean).replace(/['()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `attachment; filename="${plain}"${plain === clean ? '' : `; filename*=UTF-8''${encoded}`}`;
}
