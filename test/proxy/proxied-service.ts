import { afterAll, beforeAll } from '@jest/globals';
import { Client } from '../support/client.js';
import { Nginx, upstreamLine } from '../support/nginx.js';
import { ServiceProcess } from '../support/service-process.js';

/** The service of a file that calls `startBehindNginx`, nginx in front of it, and a client of nginx. */
export let service: ServiceProcess;
export let nginx: Nginx;
export let client: Client;

/** Starts them before all tests of the file, and stops them after. @param isTls whether nginx also has a port with TLS */
export function startBehindNginx(env: Record<string, string> = {}, isTls = false): void {
  beforeAll(async () => {
    service = await ServiceProcess.start({ env });
    nginx = await Nginx.start({ upstream: upstreamLine(service.port), isTls });
    client = new Client(nginx.port, service.token);
  });
  afterAll(async () => {
    client.close();
    await nginx.stop();
    await service.remove();
  });
}
