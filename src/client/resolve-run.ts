import { distance } from 'fastest-levenshtein';
import { PerdureError } from './perdure-error.js';

const NAMED_CANDIDATES = 5;

/**
 * Finds the one run that `idOrPrefix` names: the run of exactly that workflow id, else the only one whose id begins
 * with it. `runs` are the known ones, newest first. Throws a `PerdureError` (`run_not_found`, `ambiguous_run`) that
 * names what could have been meant.
 */
export function resolveRun<Run extends { id: string }>(idOrPrefix: string, runs: readonly Run[]): Run {
  if (idOrPrefix === '')
    throw new PerdureError('usage', 'The id of a run is missing.', { next: 'See which there are: perdure list' });
  const exact = runs.find((run) => run.id === idOrPrefix);
  if (exact) return exact;
  const candidates = runs.filter((run) => run.id.startsWith(idOrPrefix));
  const [only] = candidates;
  if (only === undefined) throw notFound(idOrPrefix, runs);
  if (candidates.length > 1) throw ambiguous(idOrPrefix, candidates);
  return only;
}

function ambiguous(prefix: string, candidates: readonly { id: string }[]): PerdureError {
  const ids = candidates.map((run) => run.id);
  const named = ids.slice(0, NAMED_CANDIDATES).join(', ');
  const rest = ids.length > NAMED_CANDIDATES ? ` and ${ids.length - NAMED_CANDIDATES} more` : '';
  return new PerdureError('ambiguous_run', `${ids.length} runs begin with "${prefix}": ${named}${rest}.`, {
    next: 'Give more of the id.',
  });
}

function notFound(wanted: string, runs: readonly { id: string }[]): PerdureError {
  const nearest = runs
    .map((run) => ({ id: run.id, distance: distance(wanted, run.id) }))
    .filter((run) => run.distance <= Math.max(1, Math.floor(wanted.length / 4)))
    .sort((a, b) => a.distance - b.distance)[0];
  const meant = nearest ? ` Did you mean ${nearest.id}?` : '';
  return new PerdureError('run_not_found', `There is no run "${wanted}".${meant}`, {
    next: 'See which there are: perdure list',
  });
}
