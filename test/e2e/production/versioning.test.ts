import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { openEngine } from '../../support/engine.js';
import { script } from '../../support/recording-model.js';
import { temporalServer } from '../../support/temporal-server.js';

it('a versioned worker takes runs once its build is the current one, and their history names it', async () => {
  await using engine = await openEngine(temporalServer());
  const deployment = `agents-${randomUUID()}`;
  const worker = await engine.worker({
    model: script({ text: 'Hello.' }),
    versioning: { deployment, buildId: 'build-7', behaviour: 'pinned' },
  });
  const { workflowService } = engine.client.connection;
  const { namespace } = temporalServer();
  const setCurrent = async () => {
    await workflowService.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName: deployment,
      buildId: 'build-7',
    });
  };
  // The server knows of a build from its first poll on.
  await expect.poll(() => setCurrent().then(() => 'set', String), { timeout: 30_000, interval: 500 }).toBe('set');

  const run = await engine.start(worker.taskQueue, {});
  expect((await run.result()).answer).toBe('Hello.');
  const { events = [] } = await run.workflow.fetchHistory();
  const task = events?.find(({ workflowTaskCompletedEventAttributes: attributes }) => attributes);
  const completed = task?.workflowTaskCompletedEventAttributes;
  expect(completed?.deploymentVersion).toMatchObject({ deploymentName: deployment, buildId: 'build-7' });
  // 1 is pinned.
  expect(completed?.versioningBehavior).toBe(1);
});
