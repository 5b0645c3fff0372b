import type { JsonObject } from '../../src/contract/json.js';
import type { Model, ModelReply, ModelRequest } from '../../src/models/model.js';
import { scriptedModel, type ScriptedTurn } from '../../src/models/scripted-model.js';

export interface RecordingModel extends Model {
  /** What the model was asked, in order; a repeated question is there twice. */
  readonly requests: Omit<ModelRequest, 'signal' | 'loadBody'>[];
}

/** Keeps what a model was asked. */
export function recording(model: Model): RecordingModel {
  const requests: RecordingModel['requests'] = [];
  return {
    ...model,
    requests,
    complete({ signal, loadBody, ...question }) {
      requests.push(structuredClone(question));
      return model.complete({ ...question, signal, loadBody });
    },
  };
}

/** A scripted model that keeps what it was asked. */
export function script(...turns: ScriptedTurn[]): RecordingModel {
  return recording(scriptedModel({ turns }));
}

/** A turn that asks for these tools, for `byRequest`. */
export function asks(...calls: [tool: string, args: JsonObject][]): Partial<ModelReply> {
  return {
    calls: calls.map(([modelName, args]) => ({ providerCallId: '', modelName, rawArguments: JSON.stringify(args) })),
  };
}

/** A model that cannot be asked, for a reason that retrying does not cure; for `byRequest`. */
export function refusesKey(): Promise<Partial<ModelReply>> {
  return Promise.reject(Object.assign(new Error('the key was refused'), { status: 401 }));
}

/** Answers by the number of requests, where a script that knows only the conversation cannot tell two of them apart. */
export function byRequest(...replies: (Partial<ModelReply> | (() => Promise<Partial<ModelReply>>))[]): RecordingModel {
  let asked = 0;
  return recording({
    name: 'by-request',
    takesImages: false,
    async complete() {
      const reply = replies[asked++];
      if (reply === undefined) throw new Error(`the model was asked ${asked} times and has ${replies.length} replies`);
      const given = typeof reply === 'function' ? await reply() : reply;
      return { text: '', calls: [], finishReason: 'stop', ...given };
    },
  });
}
