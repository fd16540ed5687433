/**
 * Headers of every JSON answer, names and values in turn, as writeHead() takes them. They are those
 * of helmet that mean something for JSON: a browser must not take it for anything else, frame it,
 * load a thing because of it, or keep it. (OWASP REST Security Cheat Sheet, "Security Headers")
 */
export const JSON_HEADERS: readonly string[] = [
  'content-type',
  'application/json',
  'cache-control',
  'no-store',
  'content-security-policy',
  "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options',
  'nosniff',
  'x-frame-options',
  'DENY',
];
