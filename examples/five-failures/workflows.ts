export { agentRun } from 'perdure/workflow';
