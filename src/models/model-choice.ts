import type { Model } from './model.js';

/** An AI SDK language model, recognised by its `specificationVersion`. */
export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** What may stand for a model: `'provider:model'`, `'scripted:FILE'`, an AI SDK model, or a `Model` of one's own. */
export type ModelChoice = string | AiSdkModel | Model;
