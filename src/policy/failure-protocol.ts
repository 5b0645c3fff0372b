/**
 * System text that tells a model how to read outcomes. Added to every run's instructions; exported for people's own loops.
 */
export const failureProtocol = `How to read tool results

Every tool result is a JSON object with a "status".
- "succeeded": "data" is the result. "empty_reason" means that the search worked and found nothing; do not repeat it unchanged. "degraded" means a fallback value: say so when you use it. "truncated" means that only a part is shown; read the rest with read_artifact when you need it.
- "partial": some of the work failed. Use what succeeded, and name what did not. With "confidence": "low", do not write, pay or send anything on the strength of it.
- "pending": it is not finished. Do not call it again; its result comes later.
- "failed": it did not work. Read "message" (why) and "suggested_action" (what to do). Different arguments or a different way may help. With "truncated", read_artifact shows the whole message.
- "aborted": no other arguments will help. Do not call this tool for this purpose again until what "action_required" names has been done.

What to do after a failure
- The executor has already retried whatever is safe to retry. Call the same thing again only if "retryable" is true, and not before "retry_after_seconds" have passed.
- "effect_state": "unknown" means that the action may have happened. Check before you repeat it, and never assume either way. "done" means that it did happen: do not repeat it.
- The beginning of "error_code" says whose matter it is: PARAM_ your arguments; TOOL_ the tool; AUTH_ a permission; RATE_ a limit; NET_ the network or the service.
- If "alternatives" are given, prefer them to repeating yourself.
- When a repeat is blocked, stop: sum up what you know, and ask the user or take another way.
- When the budget is used up, write your final answer at once, and say what is left undone.
- Never invent a result for a call that failed, and tell the user about failures that matter to them.`;
