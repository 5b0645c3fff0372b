import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';

/** What the kernel says of a process, from /proc (Linux). */
export interface Usage {
  /** User and system time over all its threads, milliseconds. */
  cpuMs: number;
  /** Memory in RAM now, megabytes. */
  memoryMb: number;
}

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

export function usageOf(pid: number): Usage {
  const [userTicks = NaN, systemTicks = NaN] = ticksOf(pid);
  const residentKb = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { cpuMs: ((userTicks + systemTicks) / ticksPerSecond) * 1_000, memoryMb: residentKb / 1_024 };
}

/** Of a process and all that it has started, those that have ended as well. Milliseconds. */
export function familyCpuMs(pid: number): number {
  const own = ticksOf(pid).reduce((sum, ticks) => sum + ticks, 0);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  const rest = children === '' ? [] : children.split(' ').map((child) => familyCpuMs(Number(child)));
  return rest.reduce((sum, ms) => sum + ms, (own / ticksPerSecond) * 1_000);
}

/** User and system time of its own, and of children that have ended. */
function ticksOf(pid: number): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command's name may hold spaces; fields are counted from its closing bracket (field 2) on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).map(Number);
}
