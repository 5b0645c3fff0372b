/**
 * A short text that a regular expression matches, for the expressions that schemas use for identifiers: literals, classes,
 * groups, alternatives and counts. `undefined` for anything else (look-around, back references, properties of characters).
 */
export function exampleOfPattern(pattern: string): string | undefined {
  const sampler = new Sampler(pattern);
  try {
    const text = sampler.alternatives();
    return sampler.isAtEnd() ? text : undefined;
  } catch (error) {
    if (error instanceof Unsupported || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Longer examples say nothing to a reader. */
const MAX_LENGTH = 200;

class Unsupported extends Error {}

const CLASS_SAMPLES: Record<string, string> = { d: '1', w: 'a', s: ' ', D: 'a', W: '-', S: 'a' };

class Sampler {
  private at = 0;
  private readonly pattern: string;

  constructor(pattern: string) {
    this.pattern = pattern;
  }

  isAtEnd(): boolean {
    return this.at >= this.pattern.length;
  }

  /** Takes the first alternative; the others are read to find the end. */
  alternatives(): string {
    const first = this.sequence();
    while (this.take('|')) this.sequence();
    return first;
  }

  private sequence(): string {
    let text = '';
    while (!this.isAtEnd() && !'|)'.includes(this.peek())) {
      if (this.take('^')) {
        if (text !== '') throw new Unsupported();
        continue;
      }
      if (this.take('$')) {
        if (!this.isAtEnd() && !'|)'.includes(this.peek())) throw new Unsupported();
        continue;
      }
      const atom = this.atom();
      const count = this.count();
      if (text.length + atom.length * count > MAX_LENGTH) throw new Unsupported();
      text += atom.repeat(count);
    }
    return text;
  }

  private atom(): string {
    const char = this.next();
    if (char === '(') return this.group();
    if (char === '[') return this.characterClass();
    if (char === '\\') return this.escape();
    if (char === '.') return 'a';
    if ('*+?{}'.includes(char)) throw new Unsupported();
    return char;
  }

  private group(): string {
    if (this.take('?')) {
      if (this.take('<')) {
        const end = this.pattern.indexOf('>', this.at);
        if (end < 0 || '=!'.includes(this.peek())) throw new Unsupported();
        this.at = end + 1;
      } else if (!this.take(':')) {
        throw new Unsupported();
      }
    }
    const text = this.alternatives();
    if (!this.take(')')) throw new Unsupported();
    return text;
  }

  private escape(): string {
    const char = this.next();
    if (Object.hasOwn(CLASS_SAMPLES, char)) return CLASS_SAMPLES[char] as string;
    if (char === 't') return '\t';
    if (char === 'n') return '\n';
    if (/[A-Za-z0-9]/.test(char)) throw new Unsupported();
    return char;
  }

  private characterClass(): string {
    const from = this.at;
    if (this.take('^')) {
      this.skipClass();
      const body = this.pattern.slice(from - 1, this.at);
      // A negated class has no nesting without the v flag, so that trying letters against it is safe and cheap.
      const found = [...'a1-A_ '].find((letter) => new RegExp(`^${body}$`).test(letter));
      if (found === undefined) throw new Unsupported();
      return found;
    }
    const first = this.peek() === '\\' ? (this.next(), this.escape()) : this.next();
    this.skipClass();
    return first;
  }

  private skipClass(): void {
    while (!this.take(']')) if (this.next() === '\\') this.next();
  }

  /** The least count that a quantifier asks for, 1 for `*`-like ones so that an example says something. */
  private count(): number {
    if (this.take('?')) return 0;
    if (this.take('*') || this.take('+')) {
      this.take('?');
      return 1;
    }
    const braces = /^\{(\d+)(?:,(\d*))?\}\??/.exec(this.pattern.slice(this.at));
    if (!braces) return 1;
    this.at += braces[0].length;
    const least = Number(braces[1]);
    return least === 0 && braces[2] !== '0' ? (braces[2] === undefined ? 0 : 1) : least;
  }

  private peek(): string {
    return this.pattern[this.at] ?? '';
  }

  private next(): string {
    const char = this.pattern[this.at++];
    if (char === undefined) throw new Unsupported();
    return char;
  }

  private take(char: string): boolean {
    if (this.pattern[this.at] !== char) return false;
    this.at++;
    return true;
  }
}
