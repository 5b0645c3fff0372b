/** What an operation is given of its request. */
export interface ShopRequest {
  /** The `:name` parts of the route. */
  params: Record<string, string>;
  query: URLSearchParams;
  /** The JSON body; `{}` where there is none. */
  body: Record<string, unknown>;
  idempotencyKey: string | undefined;
}

export interface Answer {
  status: number;
  /** An object is sent as JSON, a text as an HTML page. */
  body: object | string;
  headers?: Record<string, string>;
}

/** One thing that is wrong with a request's fields. */
export interface FieldError {
  field: string;
  problem: string;
}

/** Done, or found. */
export function ok(body: object): Answer {
  return { status: 200, body };
}

/** Understood, allowed by the protocol, and refused by the shop's rules: a 200, as so many backends do it. */
export function refused(code: string, message: string): Answer {
  return { status: 200, body: { ok: false, code, message } };
}

export function notFound(what: string): Answer {
  return { status: 404, body: { error: { code: 'not_found', message: `There is no ${what}.` } } };
}

export function badFields(errors: FieldError[]): Answer {
  return { status: 422, body: { error: { code: 'invalid_fields', message: 'Some fields are not valid.', errors } } };
}

export function badRequest(code: string, message: string): Answer {
  return { status: 400, body: { error: { code, message } } };
}
