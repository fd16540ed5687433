/** The responses to a request without a valid token. received.ts refuses bodies with more members. */
export const NO_TOKEN = {
  status: 401,
  headers: { 'www-authenticate': 'Bearer realm="plant-store"' },
  body: { error: 2000, message: 'no bearer token: send `Authorization: Bearer TOKEN`' },
};
export const INVALID_TOKEN = {
  status: 401,
  headers: { 'www-authenticate': 'Bearer realm="plant-store", error="invalid_token"' },
  body: { error: 2001, message: 'invalid or expired token' },
};
export const LACKS_SCOPE = {
  status: 403,
  headers: {
    'www-authenticate':
      'Bearer realm="plant-store", error="insufficient_scope", scope="plants:create"',
  },
  body: { error: 2002, message: 'the token lacks the scope plants:create' },
};
