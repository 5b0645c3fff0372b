/** Names that providers are shown, by the tools' own names: legal for every provider and unique. */
export function assignModelNames(tools: { name: string; server?: string }[]): Map<string, string> {
  return new Map(tools.map(({ name }) => [name, name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)]));
}
