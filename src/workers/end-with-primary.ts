import cluster from 'node:cluster';

/** Ends this worker in order when its primary is gone; Node would break off what is under way. */
export function endWithPrimary(): void {
  const { worker } = cluster;
  // What it cannot be told any more; the channel to it closes next.
  worker?.on('error', () => undefined);
  worker?.once('disconnect', () => {
    // This keeps Node from ending the process here and now.
    worker.exitedAfterDisconnect = true;
    process.kill(process.pid, 'SIGTERM');
  });
}
