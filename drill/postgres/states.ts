import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { Proxy } from '../../test/support/proxy.js';
import type { Kind, Place, SqlKind } from '../kinds.js';
import { Service, type Stage } from '../stage.js';

import { CUT, KINDS, ROLE_SETTINGS, SETTINGS } from './kinds.js';
import { copyTokens, KEY, MAKE_ROLE, ROLE, urlOf } from './operators.js';

/** Milliseconds of a lock, and of a frozen server or service: less than a request may take. */
const PAUSE_MS = 1_000;
/** What the operator's session has, whatever the server's settings are. */
const SESSION = [
  ...['search_path=public', 'default_transaction_read_only=off', 'statement_timeout=0'],
  String.raw`default_transaction_isolation=read\ committed`,
];
/** Puts a partitioned table in the place of that of plants, which is empty. */
const PARTITION = `
  DROP TABLE plants;
  CREATE TABLE plants (id bigint CONSTRAINT ${KEY} PRIMARY KEY, name text NOT NULL, tag text, created_by text, created_at bigint)
    PARTITION BY RANGE (id);
  CREATE TABLE negative PARTITION OF plants FOR VALUES FROM (MINVALUE) TO (0);
  CREATE TABLE positive PARTITION OF plants FOR VALUES FROM (0) TO (9223372036854775807);
  ALTER TABLE plants OWNER TO ${ROLE}; ALTER TABLE negative OWNER TO ${ROLE}; ALTER TABLE positive OWNER TO ${ROLE}`;

/** Two new servers, the second one with a copy of the first one's tokens. Every third store is partitioned. */
export async function openPlace(number: number): Promise<Place> {
  const [server, other] = [await PostgresServer.start(), await PostgresServer.start()];
  const proxy = await Proxy.start(server.port);
  const options = SESSION.map((setting) => `-c ${setting}`).join(' ');
  const url = `${server.url()}?options=${encodeURIComponent(options)}`;
  const operator = new PostgresStore(url, 'postgres');
  await operator.execute(MAKE_ROLE);
  const service = await Service.over(new PostgresStore(urlOf(proxy), 'postgres'));
  const isPartitioned = number % 3 === 2;
  if (isPartitioned) await operator.execute(PARTITION);
  await copyTokens(operator, other);
  return {
    service,
    kinds: [
      ...listSqlKinds(operator, await findPlants(operator), isPartitioned),
      ...listSettings(operator),
      ...listServerKinds(server, other, proxy, operator),
    ],
    async close() {
      await proxy.stop();
      await other.remove();
      await server.remove();
    },
  };
}

/** Returns the function that finds the table of plants of today, whatever its name is by then. */
async function findPlants(operator: PostgresStore): Promise<() => Promise<string>> {
  type Found = { oid: number; name: string };
  const [first] = await operator.rows<Found>(`SELECT 'plants'::regclass::oid AS oid`);
  return async () => {
    const [found] = await operator.rows<Found>(`SELECT '${first?.oid}'::regclass::text AS name`);
    return found?.name ?? '';
  };
}

function listSqlKinds(
  operator: PostgresStore,
  findName: () => Promise<string>,
  isPartitioned: boolean,
): Kind[] {
  const run = async (sql: string): Promise<void> => {
    const name = await findName();
    await operator.execute(sql.replaceAll('$P', name));
  };
  return KINDS.filter(({ groups }) => !groups.includes(isPartitioned ? 'whole' : 'parts')).map(
    ({ make, undo, groups, ...kind }: SqlKind): Kind => ({
      ...kind,
      groups: groups.filter((group) => group !== 'whole' && group !== 'parts'),
      make: () => run(make),
      undo: undo === undefined ? undefined : () => run(undo),
    }),
  );
}

/** Settings of the server, which its sessions have at once, and those of the role, which new sessions have. */
function listSettings(operator: PostgresStore): Kind[] {
  const ofServer = SETTINGS.map(([name, value, isHarmful = false]): Kind => {
    const set = async (change: string): Promise<void> => {
      await operator.execute(`ALTER SYSTEM ${change}`);
      await operator.reload();
    };
    return {
      name: `the server's ${name} = ${value}`,
      isHarmful,
      mayFail: name === 'default_transaction_isolation',
      make: () => set(`SET ${name} = ${value}`),
      undo: () => set(`RESET ${name}`),
    };
  });
  const ofRole = ROLE_SETTINGS.map(([name, value, isHarmful = false]): Kind => ({
    name: `the role's ${name} = ${value}`,
    isHarmful,
    cuts: true,
    make: () => operator.execute(`ALTER ROLE ${ROLE} SET ${name} = ${value}; ${CUT}`),
    // Sessions that have it must end: the service replaces only those that an inspection has refused.
    undo: () => operator.execute(`ALTER ROLE ${ROLE} RESET ${name}`),
  }));
  return [...ofServer, ...ofRole];
}

function listServerKinds(
  server: PostgresServer,
  other: PostgresServer,
  proxy: Proxy,
  operator: PostgresStore,
): Kind[] {
  return [
    {
      name: 'another server at the address',
      isHarmful: true,
      groups: ['server'],
      make: () => proxy.pointAt(other.port),
      undo: () => proxy.pointAt(server.port),
    },
    {
      name: 'connections are cut',
      isHarmful: false,
      groups: ['server'],
      cuts: true,
      make: () => proxy.pointAt(server.port),
    },
    {
      name: 'sessions are ended',
      isHarmful: false,
      cuts: true,
      make: () => operator.execute(CUT),
    },
    {
      name: 'a server that is frozen for a second',
      isHarmful: false,
      order: -1,
      async make() {
        server.pause();
        await sleep(PAUSE_MS);
        server.resume();
      },
    },
    {
      name: 'a service that is frozen for a second',
      isHarmful: false,
      order: -1,
      async make({ service }: Stage) {
        service.signal('SIGSTOP');
        await sleep(PAUSE_MS);
        service.signal('SIGCONT');
      },
    },
  ];
}
