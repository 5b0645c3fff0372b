/**
 * Whether a JSON number can be carried by a JavaScript number.
 *
 * - `kept`: the number prints as the same decimal, or is a fraction whose nearest double is what JSON means by it.
 * - `digits_lost`: a whole number that would be rounded.
 * - `out_of_range`: it would become Infinity, or 0 although it is not 0.
 */
export function numberFate(text: string): 'kept' | 'digits_lost' | 'out_of_range' {
  const value = Number(text);
  if (!Number.isFinite(value)) return 'out_of_range';
  const written = decimal(text);
  if (value === 0) return written.digits === '' ? 'kept' : 'out_of_range';
  if (sameDecimal(written, decimal(String(value)))) return 'kept';
  const isFraction = written.exponent < 0;
  return isFraction && Math.abs(value) < Number.MAX_SAFE_INTEGER ? 'kept' : 'digits_lost';
}

/** Whether two decimal texts are the same number. */
export function isSameNumber(a: string, b: string): boolean {
  return sameDecimal(decimal(a), decimal(b));
}

/** sign · digits · 10^exponent, without zeros at either end of the digits; 0 has no digits. */
interface Decimal {
  negative: boolean;
  digits: string;
  exponent: number;
}

function decimal(text: string): Decimal {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const negative = mantissa.startsWith('-');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = trimZeros(all);
  if (digits === '') return { negative: false, digits, exponent: 0 };
  return { negative, digits, exponent: Number(power) - fraction.length + (all.length - digits.length) };
}

// Not a regular expression: /0+$/ takes quadratic time on a long run of zeros that ends in another digit.
function trimZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

function sameDecimal(a: Decimal, b: Decimal): boolean {
  return a.negative === b.negative && a.digits === b.digits && a.exponent === b.exponent;
}
