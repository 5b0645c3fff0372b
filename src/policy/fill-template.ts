/** Values for a template; absent and empty ones are the same. */
export type TemplateValues = Record<string, string | undefined>;

const piece = /\[([^[\]|]*\{\w+\}[^[\]|]*)(?:\|([^[\]]*))?\]|\{(\w+)\}/g;

/**
 * Fills a message template. `{name}` is replaced by its value; `[…{name}…]` is left out where a name in it has no value,
 * and `[…{name}…|otherwise]` then reads `otherwise`. Brackets without a name are ordinary text, and so are unknown names
 * outside brackets. Values are never read as templates. Never throws.
 */
export function fillTemplate(template: string, values: TemplateValues): string {
  const known = (name: string) => (Object.hasOwn(values, name) ? values[name] : undefined) || undefined;
  return template.replace(piece, (whole, segment?: string, otherwise?: string, name?: string) => {
    if (name !== undefined) return known(name) ?? (Object.hasOwn(values, name) ? '' : whole);
    const text = segment ?? '';
    const names = [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    if (names.every((each) => known(each) !== undefined)) return fillNames(text, known);
    return fillNames(otherwise ?? '', known);
  });
}

function fillNames(text: string, known: (name: string) => string | undefined): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => known(name) ?? whole);
}
