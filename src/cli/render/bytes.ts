const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** `812 B`, `1.4 MB`: powers of 1000, as disks are sold. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${UNITS[unit] ?? ''}`;
}
