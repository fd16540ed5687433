import { errors } from 'jose';

/** What is wrong with a token, for the operator; nothing of what stands in it. */
export function flawOf(error: unknown): string {
  const { JOSEError, JWTClaimValidationFailed, JWTExpired } = errors;
  if (error instanceof JWTClaimValidationFailed || error instanceof JWTExpired) {
    return `${error.code}, ${error.claim}`;
  }
  return error instanceof JOSEError ? error.code : 'its key is of no use';
}
