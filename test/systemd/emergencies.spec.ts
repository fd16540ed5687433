/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { folder, makeFolder, onMachine } from '../support/machine.js';
import { freePort } from '../support/postgres-programs.js';
import { blockOf } from '../support/published.js';

// The emergencies of docs/operating.md: each is brought about, and ended by the lines of the page.
makeFolder();

const linesOf = (heading: string, containing = '') =>
  blockOf('docs/operating.md', heading, 'sh', containing);

/** Runs what the row `service` of `plant-store status` says, from a word on. */
const paste = (word: string) =>
  `sh -c "$(plant-store status 2>/dev/null | sed -n '/^service/s/[^\`]*\`\\(${word}[^\`]*\\)\`.*/\\1/p')"\n`;

/** Runs commands beside a service with plant 1, then creates plant 9. Returns what they print. */
async function run(commands: string): Promise<string> {
  const prepare = `cd ${folder}/plant-store-*; data=/var/lib/plant-store/data; backups=/var/lib/plant-store-backups
    create() {
      curl -sk -o /dev/null -w "plant $1: %{http_code}\\n" -d "{\\"id\\": $1, \\"name\\": \\"alder\\"}" \\
        -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
        $(grep -o 'https*://127[.0-9:]*' ${folder}/log | tail -n 1)/plants
    }
    systemctl start plant-store; TOKEN=$(plant-store token create nursery 2>/dev/null)
    create 1; install -d -o plant-store $backups\n`;
  const finish = 'sleep 2; create 9; plant-store export 2>/dev/null\n';
  const env = { MANAGEMENT_PORT: `${await freePort()}` };
  return (await onMachine(env, prepare + commands + finish)).output;
}

const plant = (id: number) => `{"id":${id},"name":"alder"}\n`;

it('the store is deleted', async () => {
  const output = await run(
    `rm $data/plant-store.sqlite; sleep 2; create 2
    ${paste('cp')}${linesOf('The store is deleted or replaced')}`,
  );
  expect(output).toContain('plant 2: 503\n');
  expect(output).toContain(`plant 9: 200\n${plant(1)}${plant(9)}`);
});

it('the store is replaced', async () => {
  const output = await run(
    `plant-store backup $backups/plants-1.sqlite >/dev/null 2>&1; create 2
    cp -p $backups/plants-1.sqlite $data/copy; mv $data/copy $data/plant-store.sqlite; sleep 2; create 3
    ${paste('mv')}${linesOf('The store is deleted or replaced')}`,
  );
  expect(output).toContain('plant 3: 503\n');
  expect(output).toContain(`plant 9: 200\n${plant(1)}${plant(2)}${plant(9)}`);
});

it('the store is damaged', async () => {
  const output = await run(
    `plant-store backup $backups/plants-1.sqlite >/dev/null 2>&1; systemctl stop plant-store
    printf damage | dd of=$data/plant-store.sqlite bs=4096 seek=1 conv=notrunc 2>/dev/null
    ${linesOf('A damaged store')}${linesOf('Restore', 'mktemp')}`,
  );
  expect(output).toContain('the store is damaged');
  expect(output).toContain(`plant 9: 200\n${plant(1)}${plant(9)}`);
});

it('the disk is full', async () => {
  const output = await run(
    `systemctl stop plant-store; cp -a $data ${folder}/data; mount -t tmpfs -o size=8m tmpfs $data
    chown plant-store $data; cp -a ${folder}/data/* $data; systemctl start plant-store
    dd if=/dev/zero of=$data/fill bs=4k 2>/dev/null; for id in $(seq 2 8); do create $id; done
    ${linesOf('The disk is full')} rm $data/fill\n`,
  );
  expect(output).toContain('plant 8: 503\n');
  expect(output).toMatch(/^tmpfs .* 100% .*plant-store.data$/m);
  expect(output).toContain('plant 9: 200\n');
});

it('a token leaked', async () => {
  const verify = linesOf('A token leaked').replace('plant_...', '$TOKEN');
  const lines = linesOf('A token leaked', 'revoke 6').replaceAll(/\b6\b/g, '1');
  const output = await run(`${verify}\n${lines}\n`);
  expect(output).toContain('revoked 1: nursery (1)\n');
  expect(output).toMatch(
    /^{"id":1,"name":"alder","createdBy":"token:1","createdAt":"20\d\d-.*Z"}\nplant_\w{38}$/m,
  );
});

it('a certificate ends', async () => {
  const make = (days: number) =>
    `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt -days ${days} \
      -subj /CN=localhost 2>/dev/null; openssl x509 -noout -fingerprint -in tls.crt\n`;
  const output = await run(
    `${make(5)}${linesOf('TLS')}${make(30)}${linesOf('A certificate ends', 'tls.key /etc/plant-store')}sleep 1
    openssl s_client -connect $(grep -o '127[.0-9:]*' ${folder}/log | tail -n 1) </dev/null 2>/dev/null |
      openssl x509 -noout -fingerprint\n`,
  );
  const [first, second, served] = output.match(/^.*Fingerprint=.*$/gm) ?? [];
  expect(served).toBe(second);
  expect(served).not.toBe(first);
  expect(output).toContain('plant 9: 200\n');
});
