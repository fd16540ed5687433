import { Injectable, type CanActivate } from '@nestjs/common';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { GroupCommit } from './group-commit.js';

/** Refuses a plant while the queue is full, before its token is looked up and its body is read. */
@Injectable()
export class OverloadGuard implements CanActivate {
  constructor(private readonly groupCommit: GroupCommit) {}

  /** @throws ApiException OVERLOADED */
  canActivate(): boolean {
    if (this.groupCommit.isFull) throw new ApiException(ERRORS.OVERLOADED);
    return true;
  }
}
