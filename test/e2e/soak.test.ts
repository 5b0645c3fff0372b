import { describe, expect, it } from 'vitest';
import { failureClassNames } from '../../src/policy/failure-classes.js';
import { describeReport } from '../soak/judge.js';
import { soak } from '../soak/soak.js';
import { backendFaults, consequences, notTheBackends, planCall, toolFaults } from '../soak/soak-plan.js';
import { temporalServer } from '../support/temporal-server.js';

describe('a soak', () => {
  it('plans every class that a backend or a tool can cause', () => {
    const all = [...backendFaults, ...toolFaults, ...consequences, ...notTheBackends];
    expect([...all].sort()).toEqual([...failureClassNames].sort());
    const planned = new Set(Array.from({ length: 2_000 }, (_, n) => planCall(1, n).fault?.class));
    for (const failureClass of [...backendFaults, ...toolFaults]) expect(planned).toContain(failureClass);
  });

  it('of 200 calls on three workers ends with each answered once, and no effect twice', async () => {
    const report = await soak({ server: temporalServer(), seed: 7, calls: 200, workers: 3 });
    console.log(describeReport(report));
    expect(report.problems).toEqual([]);
    expect(report).toMatchObject({ calls: 200, doubleEffects: 0 });
    expect(report.classes.size).toBeGreaterThanOrEqual(20);
  });
});
