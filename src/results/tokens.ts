/**
 * Tokens of a text, by rule of thumb: four bytes each. OpenAI documents about four characters of English a token; by
 * bytes, scripts that cost more tokens a character (Chinese, Cyrillic) are charged more. No tokenizer is asked, because
 * every model has another.
 */
export const bytesPerToken = 4;

export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}
