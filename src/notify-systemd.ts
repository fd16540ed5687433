import { execFile } from 'node:child_process';
import { Logger } from '@nestjs/common';

/** A state of a service that systemd is told of (sd_notify(3)). */
export type State = 'READY=1' | 'STOPPING=1';

/**
 * Tells systemd what becomes of the service, where it has asked for that (`Type=notify`). By systemd's own
 * program, since Node.js has no datagram sockets of a path; the unit's `NotifyAccess=all` lets it speak.
 */
export function notifySystemd(state: State): void {
  // Systemd's variable, and no part of the service's configuration.
  // eslint-disable-next-line no-restricted-properties
  const { NOTIFY_SOCKET, PATH } = process.env;
  if (!NOTIFY_SOCKET) return;
  // It has no business with the service's secrets.
  execFile('systemd-notify', [state], { env: { PATH, NOTIFY_SOCKET } }, (error) => {
    if (error) new Logger('PlantStore').warn(`systemd was not told ${state}: ${error.message}`);
  });
}
