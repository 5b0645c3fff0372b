/**
 * What each failure class means, and the words that the model and the operator read. Templates, so that a tool's own
 * `messages` are filled in the same way (`fill-template.ts`): `{name}` is replaced; `[…{name}…]` is left out where the
 * name has no value; `[…{name}…|otherwise]` has a fallback.
 *
 * Names: `tool`, `reason`, `attempts` ("3 attempts", absent after a single one), `wait` ("about 30 seconds"), `status`
 * ("HTTP 503"), `violations`, `nearest`, `tools`, `alternatives`, `check` (the tool that reads the outcome).
 */
import type { FailureClass } from '../contract/failure.js';

export interface FailureWords {
  /** One sentence for people: what this class means. */
  meaning: string;
  /** For the model: why, in a person's words. */
  message: string;
  /** For the model: a tool or a kind of change, never ready-made arguments. */
  suggestedAction: string;
  /** `suggestedAction` of a tool that changes something, where repeating it is not the same as for one that reads. */
  suggestedActionForWrites?: string;
  /** What the operator should look at. */
  operator: string;
}

const orElse = '[ Use {alternatives} instead, or tell the user.| Reach the goal another way, or tell the user.]';

export const failureWords: Record<FailureClass, FailureWords> = {
  validation_error: {
    meaning: 'The arguments are wrong: the call was refused before or by the service, and changed arguments help.',
    message: '{tool} did not accept the arguments[: {reason}].[\n{violations}]',
    suggestedAction: 'Correct everything that is named in the message, keep the rest, and call {tool} again.',
    operator: 'Usually nothing. Many of one field: improve its description or give the tool an example.',
  },
  unknown_tool: {
    meaning: 'The model called a tool that it was not offered.',
    message: 'There is no tool called {tool}.[ Did you mean {nearest}?]',
    suggestedAction: 'Use one of the tools that are offered[: {tools}].',
    operator: 'Usually nothing. Repeated: a prompt names a tool that the run does not have.',
  },
  input_too_large: {
    meaning: 'The arguments, or the context that they need, are above a limit.',
    message: 'The arguments of this call are too large for {tool}[: {reason}].',
    suggestedAction:
      'Send less: shorten the longest argument, split the work into several calls, or refer to the content instead of ' +
      'including it.',
    operator: 'Check the limit that is named, and whether the tool should take a reference.',
  },
  not_found: {
    meaning: 'The service does not know the identifier that it was given.',
    message: '{tool} could not find what was asked for[, even after {attempts}][: {reason}].',
    suggestedAction:
      'Check the identifier.[ Look up the right one with {check}.| Look up the right one with a tool that searches or lists.]',
    operator: 'Usually nothing. If the thing was just created, mark the tool `eventuallyConsistent`.',
  },
  auth_failed: {
    meaning: "The service does not accept the tool's sign-in (any more).",
    message: 'The service behind {tool} no longer accepts its sign-in[: {reason}].',
    suggestedAction: 'Ask the user to authorise {tool} again. Until then, every call of it will fail the same way.',
    operator: "Renew the credential, or give the tool a `refresh`. An alert if it is the service's own account.",
  },
  permission_denied: {
    meaning: 'The sign-in is good, but it may not do this.',
    message: '{tool} has no permission to do this[: {reason}].',
    suggestedAction:
      'Do not try to get around it.[ Use {alternatives}, or ask a person who can grant access.| Reach the goal another ' +
      'way, or ask a person who can grant access.]',
    operator: 'Grant the scope that is missing, or take the tool away from this agent.',
  },
  business_rule_violation: {
    meaning: 'The service understood the request and refused it by a rule of its own.',
    message: 'The request to {tool} was refused[: {reason}| without a reason].',
    suggestedAction:
      'The same request will be refused again. Choose another way to reach the goal that the reason allows, or tell the ' +
      'user why it is not possible.',
    operator: 'Usually nothing: this is the business talking.',
  },
  quota_exhausted: {
    meaning: 'The paid or daily allowance is used up; waiting within this run does not help.',
    message: 'The allowance for {tool} is used up[: {reason}].',
    suggestedAction:
      'Stop using {tool} in this run.[ Use {alternatives}, or go on with what you have.| Go on with what you have, and ' +
      'tell the user what is missing.]',
    operator: 'Raise the quota or the balance.',
  },
  unsupported: {
    meaning: 'The service does not offer this operation at all.',
    message: '{tool} cannot do this[: {reason}].',
    suggestedAction: `Do not call it for this purpose again.${orElse}`,
    operator: "Compare the tool's method, path and version with the service's documentation.",
  },
  rate_limit: {
    meaning: 'The service asks to slow down. The executor waits and tries again while the time budget lasts.',
    message: 'The service behind {tool} is limiting requests[, and still did after {attempts}][: {reason}].',
    suggestedAction: 'Do something else first and call {tool} again [in {wait}|later].',
    operator: 'Set a `limiter`, or ask for a higher limit, if this is frequent.',
  },
  network_error: {
    meaning: 'The connection to the service could not be made, or broke.',
    message: '{tool} could not connect to its service[ after {attempts}][: {reason}].',
    suggestedAction:
      'This is usually temporary. Go on with other work and try again later[, or use {alternatives}|, or tell the user].',
    operator: 'Look at the network and at the service. The breaker counts these.',
  },
  external_service_unavailable: {
    meaning: 'The service, or a proxy before it, says that it is down or overloaded.',
    message:
      'The service behind {tool} is down at the moment and gave no usable answer[ ({status})][ after {attempts}].[ It said: {reason}.]',
    suggestedAction:
      'This is usually temporary. Go on with other work and try again [in {wait}|later][, or use {alternatives}|, or tell the user].',
    operator: "Look at the service's status page. The breaker counts these.",
  },
  timeout: {
    meaning: 'No answer came within the deadline.',
    message: '{tool} did not finish in time[, even after {attempts}].',
    suggestedAction: 'Ask for less at once: narrow the request, or split it into smaller calls.',
    suggestedActionForWrites: 'If it has not happened, ask for less at once: narrow the request, or split it.',
    operator: 'Compare `timeoutMs` with what the service needs. The breaker counts these.',
  },
  server_error: {
    meaning: 'The service failed inside.',
    message:
      'The service behind {tool} failed with an error of its own[ ({status})][ after {attempts}].[ It said: {reason}.]',
    suggestedAction:
      'Waiting will probably not help. Try a different request[, or use {alternatives}|, or tell the user].',
    operator: "Report it to the service's owner with the upstream status and the time. The breaker counts these.",
  },
  protocol_error: {
    meaning: 'Something answered, but not in the promised form (HTML for JSON, a cut body, a broken protocol).',
    message:
      'The service behind {tool} answered, but its answer could not be read[ ({status})][, even after {attempts}][: {reason}].',
    suggestedAction: 'Try a different request[, or use {alternatives}|, or tell the user].',
    operator: 'Often a proxy, a login page or a wrong base URL. Look at the first bytes of the body in the record.',
  },
  session_expired: {
    meaning: 'The server forgot the session. The executor opens a new one and tries once more.',
    message: '{tool} lost its session with the service, and a new one could not be used either.',
    suggestedAction: `Calling it again at once will fail the same way.${orElse}`,
    operator: 'The server restarts or drops sessions too early.',
  },
  conflict_in_progress: {
    meaning: 'The service is still working on this very call from an earlier attempt.',
    message: 'The service behind {tool} is still working on an earlier call[: {reason}].',
    suggestedAction: 'Do not start it again. [In {wait}|In a while], check[ with {check}] whether it has finished.',
    operator: "The service's own processing is slower than the call's time budget.",
  },
  idempotency_mismatch: {
    meaning: 'The service has seen the idempotency key with other arguments. This must not happen.',
    message:
      'Because of an internal error the call to {tool} was not made again: the service has already seen it with other arguments.',
    suggestedAction: 'Do not repeat this call. Tell the user that an operator has to look at it.',
    operator: 'A bug, in the tool (arguments that change between attempts) or here. Report it with the key.',
  },
  misconfigured: {
    meaning: 'The tool is not set up: certificate, host name, URL or credential.',
    message: '{tool} is not set up correctly[: {reason}].',
    suggestedAction: `An operator must fix this; calling it again will not help.${orElse}`,
    operator: "Fix the tool's configuration. An alert goes out.",
  },
  tool_error: {
    meaning: 'The tool failed and said why in its own words; nothing more is known.',
    message: '{tool} failed[: {reason}| without a message].',
    suggestedAction:
      'The same call will probably fail again. Change the request[, use {alternatives}], or reach the goal another way.',
    operator: 'Read the stack. If the failure is expected, let the tool throw a `ToolError` with its class.',
  },
  tool_bug: {
    meaning: "The tool's own code is broken.",
    message: '{tool} is broken: its own code failed.',
    suggestedAction: `Calling it again will fail the same way.${orElse}`,
    operator: 'Fix the tool: the stack is in the record.',
  },
  output_invalid: {
    meaning: 'The tool did its work, but the result does not fit its output schema.',
    message: '{tool} did its work, but the result does not have the promised form and cannot be shown[: {reason}].',
    suggestedAction: `Calling it again will give the same result.${orElse}`,
    suggestedActionForWrites:
      'Do not call it again to see the result: that would do the work twice.[ Look at the outcome with {check}.| Look ' +
      'at the outcome with a tool that reads.]',
    operator: "Fix the tool's result or its output schema.",
  },
  output_too_large: {
    meaning: 'The tool did its work, but the result is too large to be kept.',
    message: '{tool} did its work, but the result is too large to be kept[: {reason}].',
    suggestedAction: 'Ask for a smaller result: fewer items, a narrower filter, or one page at a time.',
    suggestedActionForWrites:
      'Do not call it again to see the result: that would do the work twice.[ Look at the outcome with {check}.| Look ' +
      'at the outcome with a tool that reads, in small parts.]',
    operator: 'Raise `maxOutputBytes`, or let the tool return less.',
  },
  outcome_unknown: {
    meaning: 'The answer was lost, and running the call again might do it twice.',
    message: 'The answer of {tool} was lost[ ({reason})], so the action may or may not have happened.',
    suggestedAction:
      'Do not repeat it now. First find out[ with {check}| with a tool that reads the current state] whether it ' +
      'happened; if nothing can tell, ask the user.',
    operator: 'Settle it with `perdure resolve`. A `reconcile` or an idempotency key would prevent it.',
  },
  security_violation: {
    meaning: 'The guard refused the call.',
    message: 'This call to {tool} is not allowed[: {reason}].',
    suggestedAction: 'Do not try it in another form. Tell the user what you wanted to do and why.',
    operator: 'Look at the run at once: an alert goes out, and by default the run stops.',
  },
  approval_denied: {
    meaning: 'A person refused the call.',
    message: 'A person refused this call to {tool}[: {reason}].',
    suggestedAction: 'Respect the decision. Ask what to do instead, or go on without it.',
    operator: 'Nothing: a person decided.',
  },
  approval_expired: {
    meaning: 'Nobody approved the call in time.',
    message: 'Nobody approved this call to {tool} in time[: {reason}].',
    suggestedAction: 'Go on without it, and say in your answer that the approval is missing.',
    operator: 'Check who is told about approvals, and whether the time allowed is enough.',
  },
  tool_temporarily_disabled: {
    meaning: 'The tool failed so often that it is not tried for a while (breaker), or in this run any more (fuse).',
    message:
      '{tool} has kept failing and is switched off for [{wait}|the rest of this run], so the call was not made[: {reason}].',
    suggestedAction:
      '[Leave it alone for {wait}.|Do not call it again in this run.][ Use {alternatives} instead.| Go on with something else, or reach the goal another way.]',
    operator: 'Look at the failures that came before: `perdure stats` lists them by tool and class.',
  },
  repeated_call_blocked: {
    meaning:
      'A call was about to repeat one that gave the same result, or to ask again where the answer is always the same.',
    message: 'This call to {tool} would only repeat what was done before[ ({reason})], so it was not run.',
    suggestedAction: 'Use the result that you have, change the approach, or sum up what is known and ask the user.',
    operator: 'If repeating is the purpose, mark the tool `polling`.',
  },
  budget_exhausted: {
    meaning: 'A cap of the run is reached.',
    message: "The run's budget is used up[ ({reason})], so the call to {tool} was not made.",
    suggestedAction: 'Write the final answer now from what you have, and say what is left undone.',
    operator: 'Raise the limit that is named if the work was going well.',
  },
  cancelled: {
    meaning: 'The run was cancelled.',
    message: 'The run was cancelled before {tool} had finished.',
    suggestedAction: 'Nothing more can be done in this run.',
    operator: 'Nothing, unless the effect state is unknown: then check the backend.',
  },
  skipped: {
    meaning: 'The call was not executed, because something before it ended the step or the run.',
    message: '{tool} was not executed[: {reason}].',
    suggestedAction: 'Read the other results of this step first, and call {tool} again only if it is still needed.',
    operator: 'Look at the call before it.',
  },
};
