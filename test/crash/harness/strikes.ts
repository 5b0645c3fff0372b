/** What was done to the processes, and when it was over. */
export interface Strike {
  /** Of the matrix in test/crash/README.md. */
  row: string;
  /** Processes that it killed. */
  kills: number;
  /** When what it broke was whole again: the wire, the server; for a killed worker, whose place is taken, its death. */
  healedAtMs: number;
}

export class Strikes {
  readonly all: Strike[] = [];
  readonly notes: string[] = [];
  #kills = 0;

  get kills(): number {
    return this.#kills;
  }

  add(strike: Omit<Strike, 'healedAtMs'>): void {
    this.all.push({ ...strike, healedAtMs: Date.now() });
    this.#kills += strike.kills;
  }

  /** Something of the harness itself, for whoever reads its output. */
  note(text: string): void {
    this.notes.push(text);
  }
}
