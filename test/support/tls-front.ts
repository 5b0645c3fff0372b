import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createSecureServer, type ClientHttp2Session, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A Temporal server behind TLS, as Temporal Cloud and guarded clusters of one's own are. */
export interface TlsFront extends AsyncDisposable {
  /** `localhost:port`; the certificate is for `temporal.test`. */
  address: string;
  /** Files: of the authority, and of a client that it has signed. */
  files: { ca: string; cert: string; key: string };
  /** The `authorization` of each request so far. */
  authorizations: (string | undefined)[];
}

/**
 * Terminates TLS in front of a server without it, and forwards HTTP/2. With `clients: 'certificate'` a client needs one
 * that the authority has signed; with `clients: 'key'` each request needs that API key, else it is unauthenticated.
 */
export async function startTlsFront(
  upstream: string,
  guard: { clients: 'certificate' } | { clients: 'key'; key: string },
): Promise<TlsFront> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-tls-'));
  const file = (name: string) => join(folder, name);
  makeCertificates(file);
  const authorizations: TlsFront['authorizations'] = [];
  const sessions = new Set<ClientHttp2Session | ServerHttp2Session>();
  const server = createSecureServer({
    cert: readFileSync(file('server.crt')),
    key: readFileSync(file('server.key')),
    ca: readFileSync(file('ca.crt')),
    requestCert: guard.clients === 'certificate',
    rejectUnauthorized: guard.clients === 'certificate',
  });
  const forward = connect(`http://${upstream}`);
  sessions.add(forward);
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    const { ':scheme': _scheme, ':authority': _authority, ...passed } = headers;
    authorizations.push(headers.authorization);
    if (guard.clients === 'key' && headers.authorization !== `Bearer ${guard.key}`) {
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '16', 'grpc-message': 'no key' },
        { endStream: true },
      );
      return;
    }
    const request = forward.request(passed);
    let trailers = {};
    request.on('trailers', (received) => (trailers = received));
    request.on('response', ({ ':status': status, ...answer }, flags) => {
      // A gRPC answer may be nothing but headers.
      const endStream = (flags & 1) === 1;
      stream.respond({ ':status': status, ...answer }, { waitForTrailers: !endStream, endStream });
      if (!endStream) request.pipe(stream);
    });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.on('close', () => request.close(8));
    stream.on('error', () => undefined);
    request.on('error', () => stream.close());
    stream.pipe(request);
  });
  server.on('sessionError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `localhost:${(server.address() as AddressInfo).port}`,
    files: { ca: file('ca.crt'), cert: file('client.crt'), key: file('client.key') },
    authorizations,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.destroy();
      await closed;
      rmSync(folder, { recursive: true });
    },
  };
}

function makeCertificates(file: (name: string) => string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const newKey = ['-newkey', 'rsa:2048', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-days',
    '2',
    '-subj',
    '/CN=authority',
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.crt'),
  );
  for (const [name, subject] of [
    ['server', 'temporal.test'],
    ['client', 'worker'],
  ] as const) {
    openssl('req', ...newKey, '-subj', `/CN=${subject}`, '-keyout', file(`${name}.key`), '-out', file(`${name}.csr`));
    writeFileSync(file(`${name}.ext`), `subjectAltName=DNS:${subject}\n`);
    const signer = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      file(`${name}.csr`),
      ...signer,
      '-days',
      '2',
      '-extfile',
      file(`${name}.ext`),
      '-out',
      file(`${name}.crt`),
    );
  }
}
