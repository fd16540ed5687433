import { conforms } from './answers.js';

/** A request as the tests write it; by default a POST to `/plants`. */
export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

/** An answer as it came; `body` is the JSON text read, undefined where the answer is not JSON. */
export interface Received {
  readonly status: number;
  /** By name in lower case; those that came several times are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: unknown;
}

/** Paths of the document and its UI, which the document itself does not describe. */
const DOCUMENT = /^\/(docs|openapi\.)/;

/**
 * Every answer to a test comes through here, and is held against the published document.
 *
 * @throws Error where the answer does not conform
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
