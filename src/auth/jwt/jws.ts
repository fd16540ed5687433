/**
 * The JWS Compact Serialization (RFC 7515, section 7.1). The signature has one spelling alone: bits
 * that its last character does not need are zero (RFC 4648, section 3.5).
 */
const JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** Whether a text has the form of a JSON Web Token; none of the service's own tokens has. */
export function isJws(text: string): boolean {
  return JWS.test(text);
}
