/**
 * What looks like a secret by itself. Each pattern asks for more than a name (a digit, a length, a decodable value), because
 * ordinary text, identifiers and hashes must stay. Quantifiers are bounded or over disjoint characters: time is linear.
 * Prefixes of tokens as published for GitHub's secret scanning.
 */
export const MASK = '[redacted]';

const secretNames =
  'authorization|proxy-authorization|cookie|set-cookie|password|passwd|pwd|passphrase|secret|client[-_]?secret|api[-_]?key|x-api-key|' +
  'apikey|access[-_]?token|refresh[-_]?token|id[-_]?token|auth[-_]?token|session[-_]?token|private[-_]?key|secret[-_]?key|' +
  'access[-_]?key|x-auth-token|x-amz-security-token|aws[-_]?secret[-_]?access[-_]?key|bearer|credentials?';
const secretName = new RegExp(`^(?:${secretNames})$`, 'i');

/** True for names of fields and headers whose value is a secret whatever it is. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

type Pattern = [pattern: RegExp, replacement: string | ((match: string, ...groups: string[]) => string)];

const tokenPrefixes =
  'sk-|sk_live_|sk_test_|rk_live_|rk_test_|whsec_|gh[opusr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|npm_|pypi-|hf_|dop_v1_|shpat_|shpss_|' +
  'sq0[a-z]{3}-|ya29\\.|SG\\.|r8_|gsk_|xai-|pplx-|dckr_pat_|lin_api_|nvapi-|sbp_|vercel_|figd_';

const patterns: Pattern[] = [
  // user:password@ in URLs; the user's name stays.
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/@:"'<>]{0,200}):[^\s/@"'<>]{1,300}@/gi, `$1:${MASK}@`],
  // Authorization headers, in any notation: a scheme and what follows, or a single word. "Authorization: ask Ann" stays.
  [
    /\b((?:proxy-)?authorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)(?:(?:bearer|basic|digest|token|apikey|aws4-hmac-sha256|negotiate)[ \t]+[^\r\n"'\\]{3,4000}|(?!\[redacted\])[^\s"'\\,;]{6,4000}(?=\\?["']|[,;]|[ \t]*(?:$|[\r\n])))/gi,
    (_match, name) => `${name}${MASK}`,
  ],
  [
    /\b((?:set-)?cookie\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)(?=[\w.-]{1,100}=)[^\r\n"'\\]{3,8000}/gi,
    (_match, name) => `${name}${MASK}`,
  ],
  // "Bearer of bad news" is no token: one has a digit, or is long.
  [/\b(bearer\s+)(?=[\w.~+/=-]{0,100}\d|[\w.~+/=-]{24})[\w.~+/-]{6,4000}={0,2}/gi, (_match, name) => `${name}${MASK}`],
  [
    /\b(basic\s+)([A-Za-z0-9+/]{8,1000}={0,2})/gi,
    (match, name, value) => (isCredentials(value ?? '') ? `${name}${MASK}` : match),
  ],
  // Values in query strings and forms.
  [
    new RegExp(
      `([?&;](?:${secretNames}|token|sig|signature|x-amz-signature|x-amz-credential|x-goog-signature|auth|code_verifier)=)(?!\\[redacted\\])[^&\\s"'<>#\\\\]{1,4000}`,
      'gi',
    ),
    (_match, name) => `${name}${MASK}`,
  ],
  [/([?&]key=)(?!\[redacted\])[^&\s"'<>#\\]{16,4000}/gi, (_match, name) => `${name}${MASK}`],
  // "password": "…" in JSON and code; the value is quoted.
  [
    new RegExp(
      `((?<![\\w-])(?:[\\w-]{0,40}[-_])?(?:${secretNames})\\\\?["']?\\s{0,3}[:=]\\s{0,3}\\\\?["'])(?!\\[redacted\\])[^"'\\\\\\r\\n]{3,4000}`,
      'gi',
    ),
    (_match, name) => `${name}${MASK}`,
  ],
  // PASSWORD=… in environments and command lines, `api_key: abc123…` in logs. A call or a member (`password=get()`) is code.
  [
    new RegExp(
      `((?<![\\w-])(?:[\\w-]{0,40}[-_])?(?:${secretNames})=)(?!\\[redacted\\])(?![\\w$]{1,100}[.([])[^\\s"'&,;)\\]}<>\\\\]{4,4000}`,
      'gi',
    ),
    (_match, name) => `${name}${MASK}`,
  ],
  [
    new RegExp(
      `((?<![\\w-])(?:${secretNames}):[ \\t]{1,3})(?=[^\\s"',;]{0,100}\\d)(?=[^\\s"',;]{0,100}[a-z])[\\w.~+/=!@#$%^*-]{8,4000}`,
      'gi',
    ),
    (_match, name) => `${name}${MASK}`,
  ],
  // Tokens that carry their issuer's prefix.
  [new RegExp(`(?<![A-Za-z0-9_])(?:${tokenPrefixes})(?=[\\w.-]{0,100}\\d)[\\w.-]{16,4000}`, 'g'), MASK],
  [/(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA|AIDA)[A-Z2-7]{16}(?![A-Za-z0-9])/g, MASK],
  [/(?<![\w-])AIza[\w-]{35}(?![\w-])/g, MASK],
  [/(?<![A-Za-z0-9_-])eyJ[\w-]{8,8000}\.[\w-]{8,20000}\.[\w-]{0,2000}/g, MASK],
];

/** The text with everything masked that looks like a secret. */
export function maskPatterns(text: string): string {
  let masked = maskPrivateKeys(text);
  for (const [pattern, replacement] of patterns) {
    masked =
      typeof replacement === 'string' ? masked.replace(pattern, replacement) : masked.replace(pattern, replacement);
  }
  return masked;
}

/** PEM blocks of private keys, also one whose end was cut off. By index: a lazy pattern would be quadratic. */
function maskPrivateKeys(text: string): string {
  const begin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
  let kept = '';
  let from = 0;
  for (let match = begin.exec(text); match; match = begin.exec(text)) {
    kept += text.slice(from, match.index) + MASK;
    const end = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
    end.lastIndex = begin.lastIndex;
    const closing = end.exec(text);
    // Without an end everything that can still belong to the key goes.
    from = closing
      ? end.lastIndex
      : begin.lastIndex + (/^[\sA-Za-z0-9+/=\\:,-]*/.exec(text.slice(begin.lastIndex))?.[0].length ?? 0);
    begin.lastIndex = from;
  }
  return from === 0 ? text : kept + text.slice(from);
}

/** `user:password` in base64, as Basic authentication sends it; "basic information" is not. */
function isCredentials(value: string): boolean {
  try {
    return /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(atob(value));
  } catch {
    return false;
  }
}
