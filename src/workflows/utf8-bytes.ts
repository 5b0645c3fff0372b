/** Bytes of a text in UTF-8, as payloads are sent: the server's limits count bytes, not letters. */
export function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
