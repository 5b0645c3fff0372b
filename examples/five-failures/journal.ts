import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** What really happened in the shop, a line for each effect. */
export function openJournal(file: string) {
  const lines = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []);
  return {
    add(line: string): void {
      mkdirSync(dirname(file), { recursive: true });
      appendFileSync(file, `${line}\n`);
    },
    has: (words: string): boolean => lines().some((line) => line.includes(words)),
  };
}

export type Journal = ReturnType<typeof openJournal>;
