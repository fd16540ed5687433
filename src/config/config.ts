import {
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsUrl,
  Matches,
  Max,
  Min,
  MinLength,
  ValidateBy,
} from 'class-validator';
import { parseDuration } from '../duration.js';
import { baseUrl, MOST_WORKERS, onOff, size, Variable, wholeNumber, workers } from './variable.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

const SECOND = 1_000;
const TIMEOUT = 'must be a duration from 1s to 60s, such as 5s';
const WORKERS = `must be a whole number from 1 to ${MOST_WORKERS}, or auto`;

/** The service's configuration: a field, its variable and its default. Read once, at the start. */
export class Config {
  /** TCP port that the service listens on; 0 takes a free one. */
  @Variable('PORT', wholeNumber)
  @IsInt({ message: 'must be from 0 to 65535' })
  @Min(0, { message: 'must be from 0 to 65535' })
  @Max(65_535, { message: 'must be from 0 to 65535' })
  readonly port: number = 3000;

  /** Address that the service listens on; the default is reached from this machine alone. */
  @Variable('HOST')
  @MinLength(1)
  readonly host: string = '127.0.0.1';

  /**
   * The store: `sqlite:` and the path of a file, which is made with its folder; or the address of a
   * PostgreSQL database.
   */
  @Variable('DATABASE_URL')
  @Matches(/^(sqlite:(?!:memory:).|postgres(ql)?:\/\/[^/]*\/[^/?])/, {
    message: 'must be sqlite: and the path of a file, or postgres://user:password@host/database',
  })
  readonly databaseUrl: string = 'sqlite:./data/plant-store.sqlite';

  /** Milliseconds that a request waits for the store at the most, all its looks taken together. */
  @Variable('DATABASE_TIMEOUT', parseDuration)
  @IsInt({ message: TIMEOUT })
  @Min(SECOND, { message: TIMEOUT })
  @Max(60 * SECOND, { message: TIMEOUT })
  readonly databaseTimeout: number = 5 * SECOND;

  /** Whether the start brings the schema up to date; else `plant-store migrate` must have done it. */
  @Variable('MIGRATE', onOff)
  @IsBoolean({ message: 'must be on or off' })
  readonly migrate: boolean = true;

  /** Processes that share the port; SQLite's file is for one. */
  @Variable('WORKERS', workers)
  @IsInt({ message: WORKERS })
  @Min(1, { message: WORKERS })
  @Max(MOST_WORKERS, { message: WORKERS })
  @ValidateBy({
    name: 'onSqliteOne',
    validator: {
      validate: (n, args) => n === 1 || !(args?.object as Config).databaseUrl.startsWith('sqlite:'),
      defaultMessage: () => 'must be 1 with SQLite, whose file one process writes at a time',
    },
  })
  readonly workers: number = 1;

  /** Where clients reach the service: the server that the OpenAPI document names. */
  @Variable('PUBLIC_URL', baseUrl)
  @IsOptional()
  @IsUrl(
    {
      protocols: ['http', 'https'],
      require_protocol: true,
      require_tld: false,
      disallow_auth: true,
      allow_query_components: false,
      allow_fragments: false,
    },
    { message: 'must be an http or https URL, without credentials, query and fragment' },
  )
  readonly publicUrl?: string;

  /** Largest request body, in bytes; `kb` and `mb` behind the number multiply it. */
  @Variable('BODY_LIMIT', size)
  @IsInt({ message: 'must be a size up to 1mb, such as 64kb' })
  @Min(1, { message: 'must be a size up to 1mb, such as 64kb' })
  @Max(2 ** 20, { message: 'must be a size up to 1mb, such as 64kb' })
  readonly bodyLimit: number = 64 * 1024;

  /** Whether the OpenAPI document and Swagger UI are served. */
  @Variable('DOCS', onOff)
  @IsBoolean({ message: 'must be on or off' })
  readonly docs: boolean = true;

  /** The least severe lines that are logged. */
  @Variable('LOG_LEVEL')
  @IsIn(LOG_LEVELS, { message: `must be one of ${LOG_LEVELS.join(', ')}` })
  readonly logLevel: (typeof LOG_LEVELS)[number] = 'info';

  /** Whether this is production: logs are JSON then, and no token is made at the first start. */
  @Variable('NODE_ENV', (text) => text === 'production')
  readonly production: boolean = false;
}
