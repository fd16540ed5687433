/** Bytes of a document at the most: some hundred keys with their certificates. */
const LIMIT = 2 ** 19;

/**
 * Reads a JSON document of the identity provider. A redirect is not followed: it could lead to a
 * place that the operator did not name.
 *
 * @throws Error which says in words for the operator what came instead
 */
export async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: 'application/json' };
  const response = await fetch(url, { headers, signal, redirect: 'manual' });
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > LIMIT) throw new Error(`${url} answered more than ${LIMIT} bytes`);
    chunks.push(chunk);
  }
  return parse(url, Buffer.concat(chunks).toString());
}

function parse(url: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${url} answered no JSON`);
  }
}
