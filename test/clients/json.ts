/** JSON text with the digits of bigints: JSON.rawJSON() is in Node 22 and browsers of 2025. */
export function toJson(body: unknown): string {
  return JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
  );
}

declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}
