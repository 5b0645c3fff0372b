import type { Manifest, ManifestTool } from '../contract/manifest.js';
import type { LoopPolicy } from '../contract/guard-state.js';
import type { RunLimits } from '../contract/run-limits.js';
import type { LimiterLimits } from '../contract/shared-limits.js';
import type { Validator } from '../arguments/validator.js';
import type { ModelChoice } from '../models/model-choice.js';
import type { Model } from '../models/model.js';
import type { SharedGuards } from '../guards/call-guards.js';
import type { Redactor } from '../policy/redaction.js';
import type { Store } from '../store/store.js';
import type { Alerts } from './alerts.js';
import type { Metrics } from './metrics.js';
import type { Tool, ToolLog } from '../tools/tool.js';

/** What the activities of one worker share. Made once, by the worker. */
export interface Services {
  store: Store;
  /** The live tools by name: their bodies are today's, their policies are the run's pinned ones. */
  tools: ReadonlyMap<string, Tool>;
  manifest: Manifest;
  model: Model | undefined;
  /** Resolves a run's or an agent's own choice of model. */
  resolveModel(choice: ModelChoice): Promise<Model | undefined>;
  instructions: string;
  limits: RunLimits;
  loop: LoopPolicy;
  validator: Validator;
  redactor: Redactor;
  /** Breakers, limiters and locks, shared with all workers of the store. */
  guards: SharedGuards;
  modelLimits: LimiterLimits | undefined;
  log: ToolLog;
  alerts: Alerts;
  metrics: Metrics;
  /** Host and process, for the operator. */
  workerIdentity: string;
  /** Also the lease of a claim: one time without a sign of life decides both. */
  heartbeatTimeoutMs: number;
  searchAttributes: boolean;
  /** In [0, 1). */
  random(): number;
}

/** A pinned manifest, kept in memory once read: it never changes under its hash. */
export class ManifestCache {
  readonly #store: Store;
  readonly #manifests = new Map<string, Promise<Manifest | undefined>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether it is in memory, so that `get` asks nobody. */
  has(hash: string): boolean {
    return this.#manifests.has(hash);
  }

  async tool(hash: string, name: string): Promise<ManifestTool | undefined> {
    return (await this.get(hash))?.tools.find((tool) => tool.name === name);
  }

  async get(hash: string): Promise<Manifest | undefined> {
    const known = this.#manifests.get(hash);
    if (known) return await known;
    const loading = this.#store.getManifest(hash);
    this.#manifests.set(hash, loading);
    try {
      const manifest = await loading;
      if (!manifest) this.#manifests.delete(hash);
      return manifest;
    } catch (error) {
      this.#manifests.delete(hash);
      throw error;
    }
  }
}
