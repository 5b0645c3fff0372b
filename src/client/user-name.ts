import { userInfo } from 'node:os';

/** Who uses this process, for records of what a person did. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may have a user id without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
