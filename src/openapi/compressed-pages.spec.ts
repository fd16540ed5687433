/** @engine sqlite */
import { once } from 'node:events';
import { mkdtempDisposableSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import express from 'express';
import { serveFile } from './compressed-pages.js';

it('a file that could not be read is read by the next request, and then no more', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'plant-store-page-'));
  const file = join(folder.path, 'page.css');
  await using server = express().use('/page.css', serveFile(file)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const get = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/page.css`);
    return { status: response.status, text: await response.text() };
  };
  expect((await get()).status).toBe(500);
  writeFileSync(file, 'body {}');
  expect(await get()).toEqual({ status: 200, text: 'body {}' });
  rmSync(file);
  expect(await get()).toEqual({ status: 200, text: 'body {}' });
});
