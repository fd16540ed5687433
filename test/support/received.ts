import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ERRORS } from '../../src/errors/error-codes.js';
import { isObject, pointerTo, published, valueAt, type JsonObject } from './published.js';

/** A request; by default a POST to `/plants`. */
export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

/** A response. `body` is the parsed JSON; undefined if the response is not JSON. */
export interface Received {
  readonly status: number;
  /** By name in lower case. Repeated ones are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: unknown;
}

/** Paths of the document, its UI, and the redirect to that. The document does not describe them. */
const DOCUMENT = /^\/(docs|openapi\.|$)/;

/**
 * Makes a response, after a check against the published document. Every response in a test passes here.
 *
 * @throws Error if the response does not conform
 */
export function receive(
  { method, path }: { readonly method: string; readonly path: string },
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
): Received {
  const isInterface = status >= 400 || (status >= 200 && !DOCUMENT.test(path));
  if (isInterface) conforms({ method, path, status, headers: new Headers(headers), text });
  const isJson = headers['content-type']?.startsWith('application/json') && text !== '';
  return { status, headers, text, body: isJson ? (JSON.parse(text) as unknown) : undefined };
}

/** Counts responses by status and text. */
export function tally(responses: Received[]): Record<string, number> {
  const groups = Map.groupBy(responses, ({ status, text }) => `${status} ${text}`);
  return Object.fromEntries([...groups].map(([key, same]) => [key, same.length]));
}

/** A response of the service, and the request's method and path. */
interface CheckedResponse {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

// Only the schemas in the document are JSON Schema, so Ajv must not validate the whole.
const ajv = new Ajv2020({ allErrors: true, strict: false, validateSchema: false });
addFormats.default(ajv);
ajv.addSchema(published, 'openapi.json');
const validators = new Map<string, ValidateFunction>();

/**
 * Checks a response against the published document: a documented status, the required headers, the
 * media type `application/json`, and a body with the members of the schema only. On an unknown path or
 * method the response must be an Error, without a body for HEAD (RFC 9110, section 9.3.2).
 *
 * @throws Error that names the response and the problems
 */
export function conforms(response: CheckedResponse): void {
  const problems = problemsOf(response);
  if (problems.length === 0) return;
  const { method, path, status, text } = response;
  throw new Error(`${method} ${path} got ${status} ${text}: ${problems.join('; ')}`);
}

function problemsOf({ method, path, status, headers, text }: CheckedResponse): string[] {
  const operation = findOperation(method, path);
  // On any path (RFC 9112, section 6.1).
  const isNoSuchCoding = status === 501 && text.includes(`"error":${ERRORS.NO_SUCH_CODING.error},`);
  if (operation === undefined || isNoSuchCoding) {
    const wrong = status < 400 ? [`${status} is documented nowhere`] : [];
    if (method === 'HEAD' && text === '') return wrong;
    return [...wrong, ...bodyProblems('/components/schemas/Error', headers, text)];
  }
  const at = `${operation}/responses/${status}`;
  const response = valueAt(published, at);
  if (response === undefined) return [`the status ${status} is not documented`];
  const content = `${at}/content/application~1json/schema`;
  if (method === 'HEAD') return missingHeaders(at, headers);
  return [...missingHeaders(at, headers), ...bodyProblems(content, headers, text)];
}

/** The JSON pointer of the operation that a path's template has. HEAD is GET without a body (RFC 9110, section 9.3.2). */
function findOperation(method: string, path: string): string | undefined {
  const [pathname = ''] = path.split('?', 1);
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  return Object.keys(published.paths as JsonObject)
    .filter((template) => new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(pathname))
    .map((template) => pointerTo(pointerTo('/paths', template), name))
    .find((operation) => valueAt(published, operation) !== undefined);
}

function missingHeaders(at: string, headers: Headers): string[] {
  const documented = valueAt(published, `${at}/headers`);
  const missing = Object.entries(isObject(documented) ? documented : {}).filter(
    ([name, header]) => isObject(header) && header.required === true && !headers.has(name),
  );
  return missing.map(([name]) => `no header ${name}`);
}

function bodyProblems(schema: string, headers: Headers, text: string): string[] {
  const mediaType = headers.get('content-type') ?? '';
  if (!/^application\/json(; charset=utf-8)?$/.test(mediaType))
    return [`the media type is "${mediaType}"`];
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return ['the body is not JSON'];
  }
  const validate = validatorOf(schema);
  return validate(body) ? [] : [ajv.errorsText(validate.errors, { dataVar: 'body' })];
}

/** Compiles a schema. Schemas allow unknown members; responses must not have any. */
function validatorOf(pointer: string): ValidateFunction {
  const known = validators.get(pointer);
  if (known) return known;
  const $ref = `openapi.json#${pointer}`;
  const validate = ajv.compile({ $ref, unevaluatedProperties: false });
  validators.set(pointer, validate);
  return validate;
}
