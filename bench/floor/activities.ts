import { argumentsOf, resultOf } from '../workload.ts';

export const activities = {
  async model(step: number): Promise<{ query: string }> {
    return argumentsOf(step);
  },
  async tool(input: { query: string }): Promise<{ text: string }> {
    return resultOf(input.query);
  },
};

export type FloorActivities = typeof activities;
