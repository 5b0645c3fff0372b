/** The tools by the names that providers are shown: legal for every provider and unique. */
export function assignModelNames<T extends { name: string; server?: string }>(tools: readonly T[]): Map<string, T> {
  return new Map(tools.map((tool) => [tool.name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64), tool]));
}
