import { BASE_URL, fetchAgain, TOKEN, toJson } from './http.ts';

export class RequestError extends Error {
  status: number;
  body: unknown;

  constructor(status: number, body: unknown) {
    super(`status ${status}`);
    this.status = status;
    this.body = body;
  }
}

type Request = { url: string; method: string; headers: Record<string, string>; data: unknown };

export async function request<T>({ url, method, headers, data }: Request): Promise<T> {
  const response = await fetchAgain(BASE_URL + url, {
    method,
    headers: { ...headers, authorization: `Bearer ${TOKEN}` },
    body: toJson(data),
  });
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const body: unknown = isJson ? await response.json() : await response.text();
  if (!response.ok) throw new RequestError(response.status, body);
  return body as T;
}
