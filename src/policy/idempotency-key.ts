import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';
import type { Json } from '../contract/json.js';

/** RFC 8785 canonical JSON: equal values have equal text, whatever their key order. Throws on what JSON cannot hold. */
export function canonicalJson(value: Json): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('canonicalJson: the value is not JSON');
  return text;
}

/** SHA-256 of the canonical JSON, hex. Runs in the workflow sandbox too, where `crypto` is missing. */
export function digestOf(value: Json): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalJson(value))));
}

/**
 * The idempotency key of a call: equal for every attempt, restart, continue-as-new and reset of that call, different for
 * any other call, also for one with the same arguments in a later step.
 */
export function idempotencyKey(call: { runKey: string; callId: string; tool: string; digest: string }): string {
  return `k1:${digestOf([call.runKey, call.callId, call.tool, call.digest])}`;
}
