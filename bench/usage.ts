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
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command's name may hold spaces; fields are counted from its closing bracket (field 2) on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
  const residentKb = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { cpuMs: ((userTicks + systemTicks) / ticksPerSecond) * 1_000, memoryMb: residentKb / 1_024 };
}
