import type { ChildProcess } from 'node:child_process';

/**
 * Closes the connection that a worker had not taken when it ended. Node's primary hands connections
 * over one at a time, and forgets the one that a worker dies over: its client would wait for ever.
 * (Node's lib/internal/cluster/round_robin_handle.js, handoff())
 */
export function closeUntaken(child: ChildProcess): void {
  // It could not be started.
  if (child.pid === undefined) return;
  const send = child.send.bind(child) as (...message: unknown[]) => boolean;
  let connection: { close(): void } | undefined;
  child.send = (...message: unknown[]) => {
    // Node's own messages alone carry one, others a callback; to close it once it is taken does nothing.
    if (typeof message[1] === 'object' && message[1]) connection = message[1] as { close(): void };
    return send(...message);
  };
  child.once('close', (exitCode) => {
    // In order, a worker takes what it is given, or returns it for another one.
    if (exitCode !== 0) connection?.close();
  });
}
