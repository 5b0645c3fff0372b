import { readFileSync } from 'node:fs';
import { StoreError } from './store-error.js';

/** How the connection is encrypted. Files are PEM; a relative name starts at the working directory. */
export type PostgresTls =
  | boolean
  | {
      /** File of the authority that signed the server's certificate, where it is not a public one. */
      ca?: string;
      /** Files of the client's own certificate and its key. */
      cert?: string;
      key?: string;
      /** The name that the server's certificate is for, where it is not the host's. */
      serverName?: string;
      /** `false` encrypts without checking who answers. Default `true`. */
      verify?: boolean;
    };

/** Where a PostgreSQL database is, taken apart. */
export interface PostgresAddress {
  /** Host name or address, or the folder of a Unix socket. */
  host: string | undefined;
  port: number | undefined;
  user: string | undefined;
  password: string | undefined;
  database: string | undefined;
  /** Server settings for the session, as `options` of libpq. */
  options: string | undefined;
  channelBinding: boolean;
  tls: PostgresTls;
  /** The address without its password, for messages. */
  shown: string;
}

/** Parameters of the URL that are understood. What is not understood is refused: ignored, it would mislead. */
const PARAMETERS = ['host', 'port', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'channel_binding', 'options'];

/**
 * Reads `postgres://user:password@host:port/database`, with the parameters of libpq that matter here. What is absent is
 * left to the driver, which looks at `PGHOST`, `PGUSER`, `PGPASSWORD` and so on. Gives the problem in words where the text
 * is no such URL; the words never hold the text, because it may hold a password.
 */
export function readPostgresUrl(text: string): { address: PostgresAddress } | { problem: string } {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return {
      problem:
        'expected postgres://user:password@host:5432/database; special characters of a password are percent-encoded ' +
        '(@ is %40, / is %2F, # is %23)',
    };
  }
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') {
    return { problem: `expected a postgres:// URL, got ${url.protocol}//…` };
  }
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    return { problem: `the parameter '${unknown}' is not known; known are ${PARAMETERS.join(', ')}` };
  }
  const sslmode = url.searchParams.get('sslmode');
  const tls = readTls(url.searchParams, sslmode);
  if (tls === undefined) {
    return {
      problem:
        `sslmode=${sslmode ?? ''} leaves open whether the connection is safe; write disable, require or verify-full ` +
        '(both check the certificate), or no-verify',
    };
  }
  const port = url.searchParams.get('port') ?? url.port;
  if (port !== '' && !/^\d{1,5}$/.test(port)) return { problem: `expected a port number, got '${port}'` };
  try {
    const database = decodeURIComponent(url.pathname.slice(1)) || undefined;
    const host =
      url.searchParams.get('host') ?? (decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1') || undefined);
    const user = decodeURIComponent(url.username) || undefined;
    return {
      address: {
        host,
        port: port === '' ? undefined : Number(port),
        user,
        password: decodeURIComponent(url.password) || undefined,
        database,
        options: url.searchParams.get('options') ?? undefined,
        channelBinding: url.searchParams.get('channel_binding') === 'require',
        tls,
        shown: `postgres://${user === undefined ? '' : `${user}@`}${host ?? ''}${port === '' ? '' : `:${port}`}/${database ?? ''}`,
      },
    };
  } catch {
    return { problem: 'a % in it is not followed by two hexadecimal digits; a literal % is %25' };
  }
}

function readTls(parameters: URLSearchParams, sslmode: string | null): PostgresTls | undefined {
  const [ca, cert, key] = ['sslrootcert', 'sslcert', 'sslkey'].map((name) => parameters.get(name));
  const files = { ...(ca != null && { ca }), ...(cert != null && { cert }), ...(key != null && { key }) };
  const hasFiles = Object.keys(files).length > 0;
  switch (sslmode) {
    case null:
      return hasFiles ? files : false;
    case 'disable':
      return false;
    case 'require':
    case 'verify-full':
      return hasFiles ? files : true;
    case 'no-verify':
      return { ...files, verify: false };
    default:
      return undefined;
  }
}

/** The driver's TLS options. Throws a `StoreError` that names the file that cannot be read. */
export function tlsOptions(tls: PostgresTls, name: string) {
  if (typeof tls === 'boolean') return tls;
  const read = (option: 'ca' | 'cert' | 'key') => {
    const file = tls[option];
    if (file === undefined) return {};
    try {
      return { [option]: readFileSync(file, 'utf8') };
    } catch (error) {
      throw new StoreError('unavailable', `store ${name}: store.tls.${option}: cannot read ${file}`, { cause: error });
    }
  };
  return {
    ...read('ca'),
    ...read('cert'),
    ...read('key'),
    ...(tls.serverName !== undefined && { servername: tls.serverName }),
    rejectUnauthorized: tls.verify ?? true,
  };
}
