/** The synthetic agent that all benchmarks run: 300 bytes of arguments from the model, 2 KB from the tool, no waiting. */
import { createHash } from 'node:crypto';

const argumentBytes = 300;
const resultBytes = 2_048;

/** The arguments that the model writes at a step; different at each one. */
export function argumentsOf(step: number): { query: string } {
  return { query: filled(`query ${step} `, argumentBytes - '{"query":""}'.length) };
}

/** What the tool answers to them. */
export function resultOf(query: string): { text: string } {
  return { text: filled(`result of ${query.slice(0, 20)} `, resultBytes - '{"text":""}'.length) };
}

/** `start` and then hexadecimal digits, so that nothing in between (a database, a protocol) compresses it to nothing. */
function filled(start: string, length: number): string {
  let text = start;
  while (text.length < length) text += createHash('sha256').update(text).digest('hex');
  return text.slice(0, length);
}
