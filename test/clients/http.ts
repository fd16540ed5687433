export const { BASE_URL = '', TOKEN = '' } = process.env;
if (!BASE_URL || !TOKEN) throw new Error('BASE_URL and TOKEN are not set: export them first');

/** JSON text with every digit of bigints. */
export function toJson(body: unknown): string {
  return JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
  );
}

/** Like fetch(), but sends up to five times. */
export async function fetchAgain(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  for (let delay = 200; ; delay *= 2) {
    const isLast = delay > 3_000;
    let retryAfter = 0;
    try {
      const response = await fetch(request.clone(), { signal: AbortSignal.timeout(30_000) });
      const { status, headers } = response;
      if (isLast || (status !== 408 && status !== 429 && status < 500)) return response;
      retryAfter = Number(headers.get('retry-after')) || 0;
    } catch (error) {
      if (isLast) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, delay + 1_000 * retryAfter));
  }
}

declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}
