import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { chromium, type Browser, type Page } from 'playwright-core';
import { service, startService } from '../support/own.js';
import { digestTexts, PICTURED, read, type JsonObject } from '../support/published.js';

const { CHROMIUM = '/usr/bin/chromium' } = process.env;

startService();

let browser: Browser;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  page = await browser.newPage({ viewport: { width: 1100, height: 1000 } });
  // Reports scripts, styles and pictures that the page's own security policy refuses.
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  // As a person types it.
  await page.goto(`http://127.0.0.1:${service.port}`);
});

afterAll(() => browser.close());

/** Gives the page a token, as an integrator pastes it. */
async function authorize(token: string): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.locator('.modal-ux input').fill(token);
  await page.locator('.modal-ux .authorize').click();
  await page.locator('.modal-ux .btn-done').click();
}

/** Sends the example plant, or another one. Returns what the page shows of the response. */
async function tryOut(plant?: string): Promise<string> {
  const post = page.locator('.opblock-post');
  const tryIt = post.getByRole('button', { name: 'Try it out' });
  const execute = post.getByRole('button', { name: 'Execute' });
  await tryIt.or(execute).first().waitFor();
  if (await tryIt.isVisible()) await tryIt.click();
  if (plant !== undefined) await post.locator('.body-param__text').fill(plant);
  const responded = page.waitForResponse((response) => response.request().method() === 'POST');
  await execute.click();
  await responded;
  const shown = post.locator('.live-responses-table .response').first();
  await shown.waitFor();
  return shown.innerText();
}

/** What the open operation shows last. */
const operation = (page: Page) => page.locator('.opblock-post.is-open .headers').first();
const reload = () => page.reload({ waitUntil: 'networkidle' });
const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');

it("shows the operation at once, in the system's light or dark mode, with a switch", async () => {
  await operation(page).waitFor();
  const link = page.getByRole('link', { name: 'openapi.json' });
  expect(await link.getAttribute('href')).toBe('/openapi.json');
  await page.emulateMedia({ colorScheme: 'dark' });
  await reload();
  await page.locator('html.dark-mode').waitFor();
  expect(await background()).toBe('rgb(28, 32, 34)');
  await page.getByRole('button', { name: 'Switch to light mode' }).click();
  expect(await background()).toBe('rgb(250, 250, 250)');
  await page.emulateMedia({ colorScheme: 'light' });
});

it('fits a phone', async () => {
  const phone = { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true };
  const context = await browser.newContext(phone);
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${service.port}/docs`);
  await operation(page).waitFor();
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390);
  await page.getByRole('button', { name: 'Authorize' }).click();
  const box = await page.locator('.modal-ux .close-modal').boundingBox();
  expect((box?.x ?? NaN) + (box?.width ?? NaN)).toBeLessThanOrEqual(390);
  await context.close();
});

it('is pictured in the README: the picture is taken again if the texts have changed', async () => {
  const { text } = await service.client.send({ method: 'GET', path: '/openapi.json' });
  const digest = digestTexts(JSON.parse(text) as JsonObject);
  if (read(PICTURED) === digest) return;
  const page = await browser.newPage({ viewport: { width: 1100, height: 1000 } });
  await page.goto(`http://127.0.0.1:${service.port}/docs`, { waitUntil: 'networkidle' });
  await operation(page).waitFor();
  await page.screenshot({ path: 'docs/swagger-ui.png' });
  writeFileSync(PICTURED, digest);
  await page.close();
});

const onDisk = () => page.context().storageState();

it('lets a developer authorize, reload, send a plant, and see the response and a refusal', async () => {
  // With the scheme, as people copy it from the header.
  await authorize(`Bearer ${service.token} `);
  await reload();
  expect(await tryOut()).toContain('"name": "Common alder"');
  const stored = { id: 3n, name: 'Common alder', tag: 'Alnus glutinosa' };
  expect(await service.store.plant(3n)).toEqual(stored);
  expect(await tryOut('{"id": 3, "name": "Oak"}')).toContain('"error": 1004');
  expect(await service.store.plant(3n)).toEqual(stored);
  expect(await onDisk()).toEqual({ cookies: [], origins: [] });
});

it('sends every digit of an id', async () => {
  const exact = '{"id": 9007199254740993, "name": "Grey alder"}';
  expect(await tryOut(exact)).toContain('"name": "Grey alder"');
  expect(await service.store.plant(9007199254740993n)).toMatchObject({ name: 'Grey alder' });
  expect(await service.store.plant(9007199254740992n)).toBeUndefined();
});

it('forgets the token at Logout, also after a reload', async () => {
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByRole('button', { name: 'Remove authorization' }).click();
  await page.locator('.modal-ux .btn-done').click();
  await reload();
  expect(await tryOut()).toContain('"error": 2000');
});

it('sends plants to the host that the page came from, whatever its name', async () => {
  await page.goto(`http://localhost:${service.port}/docs`, { waitUntil: 'networkidle' });
  await authorize(service.token);
  expect(await tryOut()).toContain('"name": "Common alder"');
});

it('loads nothing that the browser complains about', () => {
  // Chromium reports every response other than success.
  const refusals = /^Failed to load resource: the server responded with a status of 40[01] /;
  expect(complaints.filter((complaint) => !refusals.test(complaint))).toEqual([]);
});
