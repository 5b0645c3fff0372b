/** What one thrown thing, looked at alone, says about the kind of its failure. `classifyThrown` weighs it over the tree. */
import type { ClassifiedFailure, FailureClass, Violation } from '../contract/failure.js';
import type { Json } from '../contract/json.js';
import { classifyHttpAnswer } from './classify-http.js';
import { fetchRefusal, networkFault, saysCertificate, saysNetwork } from './network-codes.js';
import { elements, headersOf, isArray, jsonOf, nameOf, read, readText } from './thrown-shape.js';
import { classOfCode, classOfGrpcStatus, classOfJsonRpcCode } from './upstream-codes.js';

/** The effect state is left open: it depends on who sent what. */
export interface Evidence extends Omit<ClassifiedFailure, 'effectState'> {
  /** The request cannot have been sent. */
  unsent?: boolean;
  /** The backend's answer, whose effect state its single sender may believe. */
  answer?: ClassifiedFailure;
  /** Our own or somebody's abort signal. */
  abort?: boolean;
}

/** Evidence that outranks what other nodes of the tree merely suggest: a status, a code, a name with one meaning. */
export function strongEvidence(thing: unknown, nowMs: number): Evidence | undefined {
  return fromAnswer(thing, nowMs) ?? fromCodes(thing) ?? fromName(thing);
}

function fromAnswer(thing: unknown, nowMs: number): Evidence | undefined {
  const response = read(thing, 'response');
  const status = statusOf(thing, response);
  if (status === undefined) return undefined;
  const headers = headersOf(
    firstGiven([read(response, 'headers'), read(thing, 'headers'), read(thing, 'responseHeaders')]),
  );
  const bodies = [
    read(response, 'data'),
    read(response, 'body'),
    read(thing, 'responseBody'),
    read(thing, 'body'),
    read(thing, 'data'),
    read(thing, 'error'),
  ];
  const given = bodies.map((each) => jsonOf(each)).find((json) => json !== undefined && json !== null && json !== '');
  const body = given ?? bodyFromFields(thing);
  const requestHeaders = firstGiven([read(read(thing, 'config'), 'headers'), read(thing, 'requestHeaders')]);
  const answer = classifyHttpAnswer(
    { status, headers, body, ...(requestHeaders === undefined ? {} : { requestHeaders: headersOf(requestHeaders) }) },
    nowMs,
  );
  if (!answer) return undefined;
  if (given === undefined) delete answer.reason;
  const message = readText(thing, 'message');
  if (answer.reason === undefined && message !== undefined && !saysOnlyStatus(message)) answer.reason = message;
  const { effectState: _effectState, ...rest } = answer;
  return { ...rest, answer };
}

/** Clients that parsed the body keep its code on the error: as `code`, or (AWS) as the name. */
function bodyFromFields(thing: unknown): Json | undefined {
  const code = readText(thing, 'code') ?? (read(thing, '$fault') === undefined ? undefined : nameOf(thing));
  return code === undefined ? undefined : { error: { code } };
}

function statusOf(thing: unknown, response: unknown): number | undefined {
  const answered = statusNumber(read(response, 'status')) ?? statusNumber(read(response, 'statusCode'));
  if (answered !== undefined) return answered;
  const code = read(thing, 'code');
  const own = [
    read(thing, 'statusCode'),
    read(thing, 'status'),
    read(read(thing, '$metadata'), 'httpStatusCode'),
    // Google's clients put the status into `code`, as a number or as text.
    typeof code === 'number' || nameOf(thing) === 'GaxiosError' ? code : undefined,
  ];
  return own.map(statusNumber).find((status) => status !== undefined && status >= 400);
}

function statusNumber(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 100 && status <= 599 ? status : undefined;
}

/** What clients say when they know nothing but the status. */
function saysOnlyStatus(message: string): boolean {
  return /^(?:request failed with status|response code|(?:http )?(?:error )?\d{3}\b.{0,40}$|status code|unexpected (?:server )?response|http error)/i.test(
    message,
  );
}

function firstGiven(values: unknown[]): unknown {
  return values.find((value) => typeof value === 'object' && value !== null);
}

function fromCodes(thing: unknown): Evidence | undefined {
  const message = textOf(thing);
  const code = read(thing, 'code');
  if (typeof code === 'number') return fromNumber(thing, code, message);
  const name =
    typeof code === 'string' ? code : typeof thing === 'string' && /^E[A-Z_]{3,30}$/.test(thing) ? thing : undefined;
  if (name !== undefined) {
    const fault = networkFault(name, message, readText(thing, 'syscall'));
    if (fault) return { class: fault.class, reason: fault.words, unsent: fault.unsent };
    const failureClass = classOfCode(name);
    if (failureClass) return withWords(failureClass, thing);
  }
  const refusal = fetchRefusal(message);
  if (refusal) return { class: refusal.class, reason: refusal.words, unsent: refusal.unsent };
  if (saysCertificate(message))
    return { class: 'misconfigured', reason: "the service's certificate could not be verified", unsent: true };
  return undefined;
}

function fromNumber(thing: unknown, code: number, message: string): Evidence | undefined {
  const rpcClass = classOfJsonRpcCode(code, message);
  if (rpcClass) return withWords(rpcClass, thing);
  const isGrpc =
    typeof read(thing, 'details') === 'string' ||
    read(thing, 'metadata') !== undefined ||
    readText(thing, 'rawMessage') !== undefined;
  const grpcClass = isGrpc ? classOfGrpcStatus(code) : undefined;
  if (!grpcClass) return undefined;
  const words = readText(thing, 'details') ?? readText(thing, 'rawMessage');
  return { class: grpcClass, ...(words === undefined ? {} : { reason: words }) };
}

function withWords(failureClass: FailureClass, thing: unknown): Evidence {
  const message = readText(thing, 'message')?.replace(/^MCP error -?\d+: /, '');
  return { class: failureClass, ...(message === undefined ? {} : { reason: message }) };
}

/** Errors whose name alone tells: of the platform, of the AI SDK, of model and MCP clients. */
const classByName: Record<string, FailureClass> = {
  APIConnectionError: 'network_error',
  ConnectError: 'network_error',
  UnauthorizedError: 'auth_failed',
  AI_LoadAPIKeyError: 'misconfigured',
  AI_LoadSettingError: 'misconfigured',
  AI_NoSuchModelError: 'misconfigured',
  AI_NoSuchProviderError: 'misconfigured',
  AI_UnsupportedFunctionalityError: 'unsupported',
  AI_InvalidPromptError: 'validation_error',
  AI_InvalidResponseDataError: 'protocol_error',
  AI_EmptyResponseBodyError: 'protocol_error',
  AI_JSONParseError: 'protocol_error',
  HTTPParserError: 'protocol_error',
  AI_TypeValidationError: 'protocol_error',
};

function fromName(thing: unknown): Evidence | undefined {
  if (typeof thing !== 'object' || thing === null) return undefined;
  const name = nameOf(thing);
  if (name === 'AbortError')
    return { class: 'timeout', reason: 'the request was given up before an answer came', abort: true };
  if (/Time(?:d)?[oO]ut(?:Error|Exception)?$/.test(name))
    return { class: 'timeout', reason: 'no answer came in time', abort: true };
  if (Object.hasOwn(classByName, name)) return withWords(classByName[name] ?? 'tool_error', thing);
  // AWS' clients name the error after its code.
  const byCode = read(thing, '$fault') === undefined ? undefined : classOfCode(name);
  return byCode ? withWords(byCode, thing) : undefined;
}

/** What the words and the built-in error types suggest, where nothing stronger is found in the tree. */
export function weakEvidence(thing: unknown): Evidence | undefined {
  const message = textOf(thing);
  const name = nameOf(thing);
  if (saysNetwork(message) && (name === 'TypeError' || !/^(?:terminated|load failed)/i.test(message))) {
    return { class: 'network_error', reason: 'the connection failed' };
  }
  const status =
    /^(?:HTTP(?:\/\d(?:\.\d)?)?(?: error| status)?!?[ :]*(?:status|code)?[ :=]*|request failed with status(?: code)? |response code |status(?: code)?:? )([45]\d\d)\b/i.exec(
      message,
    )?.[1];
  if (status !== undefined) {
    const answer = classifyHttpAnswer({ status: Number(status), headers: {}, body: undefined }, 0);
    if (answer) return { class: answer.class, upstreamStatus: answer.upstreamStatus ?? Number(status) };
  }
  if (name === 'SyntaxError' && /\bJSON\b/.test(message))
    return { class: 'protocol_error', reason: 'the answer was not readable' };
  const isBug =
    /^(?:TypeError|ReferenceError|RangeError|SyntaxError|EvalError|URIError|InternalError|AssertionError|DataCloneError)$/.test(
      name,
    );
  return isBug ? { class: 'tool_bug', ...(message === '' ? {} : { reason: message }) } : undefined;
}

/**
 * Issues of Zod, Valibot, ArkType or any Standard Schema. The arguments were checked before the body began, so a schema
 * that fails inside it usually looked at something else (a backend's answer): only where every issue names an argument
 * is it taken for one that the model can correct.
 */
export function fromIssues(thing: unknown, argumentNames: readonly string[] | undefined): Evidence | undefined {
  const issues = read(thing, 'issues');
  if (!isArray(issues)) return undefined;
  const violations = elements(issues).flatMap((issue): Violation[] => {
    const problem = readText(issue, 'message');
    const path = read(issue, 'path');
    if (problem === undefined) return [];
    const keys = isArray(path) ? elements(path).map((key) => String(read(key, 'key') ?? key)) : [];
    return [
      {
        path: keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
        problem,
        expected: '',
      },
    ];
  });
  if (violations.length === 0) return undefined;
  const concernsArguments = violations.every(({ path }) => argumentNames?.includes(path.split('/')[1] ?? '') ?? false);
  if (concernsArguments) return { class: 'validation_error', violations };
  const words = violations
    .slice(0, 20)
    .map(({ path, problem }) => (path === '' ? problem : `${path.slice(1).replaceAll('/', '.')}: ${problem}`));
  return { class: 'tool_error', reason: `data inside the tool did not have the expected form (${words.join('; ')})` };
}

/** A thing's own words: a string itself, an error's message; never `undefined`, `[object Object]` or a dump. */
export function textOf(thing: unknown): string {
  const text = typeof thing === 'string' ? thing : (readText(thing, 'message') ?? '');
  const trimmed = text.trim();
  return /^(?:undefined|null|\[object \w+\])$/.test(trimmed) ? '' : trimmed;
}

/** The delay that a node's headers ask for, whatever else it says. */
export function headersOn(thing: unknown): Record<string, string> {
  const response = read(thing, 'response');
  return headersOf(firstGiven([read(response, 'headers'), read(thing, 'headers'), read(thing, 'responseHeaders')]));
}
