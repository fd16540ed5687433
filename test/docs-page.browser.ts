import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { chromium, type Browser, type Page } from 'playwright-core';
import { Service } from './support/service.js';

// Not part of `npm test`, which runs on a machine without a browser: `npm run test:browser`.
const { CHROMIUM = '/usr/bin/chromium', SCREENSHOT } = process.env;

let service: Service;
let browser: Browser;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  service = await Service.start();
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  page = await browser.newPage({ viewport: { width: 1100, height: 1000 } });
  // A script, a style or a picture that the page's own security policy refuses is told here.
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(`http://127.0.0.1:${service.port}/docs`);
});

afterAll(async () => {
  await browser.close();
  await service.stop();
});

it('lets a developer authorize, send a plant and see the answer', async () => {
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.locator('.modal-ux input').fill(service.token);
  await page.locator('.modal-ux .authorize').click();
  await page.locator('.modal-ux .btn-done').click();
  await page.locator('.opblock-summary-control').click();
  if (SCREENSHOT) await page.screenshot({ path: SCREENSHOT });
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByRole('button', { name: 'Execute' }).click();
  const answer = page.locator('.live-responses-table .response').first();
  await answer.waitFor();
  expect(await answer.innerText()).toContain('"name": "Common alder"');
  expect(await service.store.plant(3n)).toEqual({
    id: 3n,
    name: 'Common alder',
    tag: 'Alnus glutinosa',
  });
});

it('loads nothing that the browser complains about', () => {
  expect(complaints).toEqual([]);
});
