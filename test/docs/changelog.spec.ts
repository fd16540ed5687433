/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { read } from '../support/published.js';

const { version } = JSON.parse(read('package.json')) as { version: string };
/** The headings of CHANGELOG.md, the newest first (keepachangelog.com). */
const HEADINGS = [...read('CHANGELOG.md').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);

it("the changelog's newest release is the package's version, with its date", () => {
  const [first = '', ...releases] = HEADINGS;
  const newest = first === '[Unreleased]' ? releases[0] : first;
  expect(newest).toMatch(/^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/);
  expect(newest).toContain(`[${version}] - `);
});

it('every other heading is an earlier release', () => {
  const dates = HEADINGS.slice(1).map((heading = '') => heading.split(' - ')[1] ?? 'none');
  expect(dates).toEqual(dates.toSorted().reverse());
});

it('the page on installation and upgrade uses the folder of that version, and no tag', () => {
  const page = read('docs/operating.md');
  expect(page).not.toContain('git clone --branch');
  const folders = [...page.matchAll(/plant-store-(\d+\.\d+\.\d+)/g)].map(([, found]) => found);
  expect(new Set(folders)).toEqual(new Set([version]));
});
