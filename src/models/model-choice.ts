import type { Model } from './model.js';

/** An AI SDK language model, recognised by its `specificationVersion`. */
export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

export type ModelChoice = string | AiSdkModel | Model;
