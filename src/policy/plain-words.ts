import { isHtml } from './answer-body.js';
import { printable } from './printable.js';

/** `TypeError: `, `java.lang.IllegalStateException: `, `AxiosError [ERR_BAD_REQUEST]: ` before what is said. */
const namedPrefix = /\b(?:[a-z_]\w{0,60}\.){0,8}[A-Z]\w{1,80}(?:Error|Exception|Failure)(?: \[[\w-]{1,60}\])?: ?/g;
const barePrefix = /(^|[\n:][ \t]{0,8})(?:(?:Uncaught )?(?:\(in promise\) )?Error: ?)+/g;
/** A class name within a sentence. "Internal Server Error" is none. */
const namedWithin = /\b(?:(?:an?|the) )?(?:[a-z_]\w{0,60}\.){0,8}[A-Z]\w{1,80}(?:Error|Exception)\b/g;
/** `    at refund (file:///app/tools.js:10:5)`, `  File "app.py", line 3, in f`, and what a traceback begins with. */
const stackLine =
  /^\s*(?:at (?:.+\(.+\)|(?:async )?\S+:\d+:\d+.*)|File ".*", line \d+.*|Traceback \(most recent call last\):?|\.\.\. \d+ more|Caused by:?|goroutine \d+ .*)\s*$/;

/**
 * An error's words as a person would say them: without class names, stack lines, markup and control characters, on as few
 * lines as they need, without the final full stop (the sentence around them has its own). `undefined` where nothing is left.
 */
export function plainWords(text: string | undefined): string | undefined {
  if (text === undefined || isHtml(text)) return undefined;
  const lines = withoutTags(printable(text)).split('\n');
  const spoken = lines.filter((line) => line.length > 1_000 || !stackLine.test(line)).map((line) => line.trimEnd());
  const said = spoken
    .join('\n')
    .replace(namedPrefix, '')
    .replace(barePrefix, '$1')
    .replace(namedWithin, 'an error')
    .replace(/\n{2,}/g, '\n')
    .trim();
  const words = withoutFinalStop(said);
  return words === '' || /^(?:undefined|null|\[object \w+\])$/.test(words) ? undefined : words;
}

function withoutFinalStop(text: string): string {
  let end = text.length;
  while (end > 0 && /[.:;,\s]/.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Markup of pages; `<` in ordinary text, generics and comparisons stay. */
function withoutTags(text: string): string {
  if (!/<\/(?:html|body|head|title|div|p|h\d|pre|center|span|table|script|style)>|<!doctype/i.test(text)) return text;
  return text
    .replace(/<(script|style)\b[^>]{0,500}>[^<]*(?:<(?!\/\1>)[^<]*)*<\/\1>/gi, ' ')
    .replace(/<\/?[a-z!][^<>]{0,500}>/gi, ' ')
    .replace(/[ \t]+/g, ' ');
}

/** A JSON Pointer as a person writes it: `/lines/0/sku` is `lines.0.sku`. */
export function fieldOf(pointer: string): string {
  return pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}

/** `a`, `a or b`, `a, b or c`. */
export function orList(names: readonly string[]): string {
  if (names.length <= 1) return names[0] ?? '';
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1) ?? ''}`;
}

/** A duration as people say it, rounded up: `1 second`, `45 seconds`, `2 minutes`, `3 hours`. */
export function spokenDuration(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  if (seconds < 120) return plural(seconds, 'second');
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? plural(minutes, 'minute') : plural(Math.ceil(minutes / 60), 'hour');
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
