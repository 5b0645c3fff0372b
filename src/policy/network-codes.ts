/**
 * The codes that Node.js, undici and OpenSSL put on errors of the network, with what each means for the request and in
 * words. Sources: libuv's errno list, undici's `lib/core/errors.js`, OpenSSL's `X509_V_ERR_*`, c-ares' status codes.
 */
import type { FailureClass } from '../contract/failure.js';

export interface NetworkFault {
  class: Extract<FailureClass, 'network_error' | 'misconfigured' | 'timeout' | 'protocol_error' | 'tool_bug'>;
  /** True where the request cannot have been sent yet. */
  unsent: boolean;
  /** In a person's words, to follow "could not connect:". */
  words: string;
}

const unsent = (words: string): NetworkFault => ({ class: 'network_error', unsent: true, words });
const cut = (words: string): NetworkFault => ({ class: 'network_error', unsent: false, words });
const late = (words: string): NetworkFault => ({ class: 'timeout', unsent: false, words });
const wrong = (words: string): NetworkFault => ({ class: 'misconfigured', unsent: true, words });
const garbled = (words: string): NetworkFault => ({ class: 'protocol_error', unsent: false, words });

const certificate = wrong("the service's certificate could not be verified");
const unknownHost = wrong("the service's host name is not known");
const wrongUrl = wrong("the service's address is not a valid URL");

const faults: Record<string, NetworkFault> = {
  ECONNREFUSED: unsent('the connection was refused'),
  EHOSTUNREACH: unsent('the host cannot be reached'),
  EHOSTDOWN: unsent('the host is down'),
  ENETUNREACH: unsent('the network cannot be reached'),
  ENETDOWN: unsent('the network is down'),
  EADDRNOTAVAIL: unsent('no local address was free for the connection'),
  EAI_AGAIN: unsent('the host name could not be looked up for now'),
  ESERVFAIL: unsent('the host name could not be looked up for now'),
  EREFUSED: unsent('the host name could not be looked up for now'),
  ETIMEOUT: unsent('looking up the host name took too long'),
  UND_ERR_CONNECT_TIMEOUT: unsent('the connection could not be made in time'),
  UND_ERR_CONNECT: unsent('the connection could not be made'),
  ECONNRESET: cut('the connection was cut'),
  EPIPE: cut('the connection was cut'),
  ENOTCONN: cut('the connection was cut'),
  ECONNABORTED: cut('the connection was aborted'),
  ETIMEDOUT: cut('the connection timed out'),
  EPROTO: cut('the secure connection could not be set up'),
  ERR_NETWORK: cut('the network failed'),
  ERR_STREAM_PREMATURE_CLOSE: cut('the connection was cut'),
  ERR_HTTP2_STREAM_ERROR: cut('the connection was cut'),
  ERR_HTTP2_SESSION_ERROR: cut('the connection was cut'),
  ERR_HTTP2_GOAWAY_SESSION: cut('the server closed the connection'),
  UND_ERR_SOCKET: cut('the other side closed the connection'),
  UND_ERR_CLOSED: cut('the connection was closed'),
  UND_ERR_DESTROYED: cut('the connection was closed'),
  UND_ERR_INFO: cut('the connection was cut'),
  UND_ERR_HEADERS_TIMEOUT: late('no answer came in time'),
  UND_ERR_BODY_TIMEOUT: late('the answer stopped in the middle'),
  ESOCKETTIMEDOUT: late('no answer came in time'),
  ERR_SOCKET_CONNECTION_TIMEOUT: unsent('the connection could not be made in time'),
  ERR_HTTP_REQUEST_TIMEOUT: late('no answer came in time'),
  ENOTFOUND: unknownHost,
  ENODATA: unknownHost,
  ENONAME: unknownHost,
  EAI_NONAME: unknownHost,
  EAI_NODATA: unknownHost,
  ERR_INVALID_URL: wrongUrl,
  ERR_UNSUPPORTED_PROTOCOL: wrongUrl,
  ERR_INVALID_PROTOCOL: wrongUrl,
  ERR_SSL_WRONG_VERSION_NUMBER: wrong('the service does not speak TLS at this address'),
  ERR_SSL_HTTP_REQUEST: wrong('the service does not speak TLS at this address'),
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: certificate,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: wrong('the service refused our certificate'),
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: wrong('the service asks for a client certificate'),
  HOSTNAME_MISMATCH: certificate,
  INVALID_CA: certificate,
  INVALID_PURPOSE: certificate,
  PATH_LENGTH_EXCEEDED: certificate,
  UND_ERR_HEADERS_OVERFLOW: garbled('the answer had too many headers'),
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: garbled('the answer was cut off'),
  UND_ERR_RES_EXCEEDED_MAX_SIZE: garbled('the answer was too large'),
  ERR_INVALID_CHAR: { class: 'tool_bug', unsent: true, words: 'a header holds a character that is not allowed' },
};

/** Certificate codes come in families; see OpenSSL's `x509_vfy.h`. */
const certificateCode =
  /^(?:CERT_|CRL_|UNABLE_TO_|ERROR_IN_C|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|AKID_|SUBJECT_ISSUER_)/;

/**
 * What an error's code means, refined by its words: `ETIMEDOUT` and `ECONNRESET` before the connection stood left nothing
 * behind; axios reports its deadline as `ECONNABORTED`. `undefined` where the code says nothing of the network.
 */
export function networkFault(code: string, message: string, syscall?: string): NetworkFault | undefined {
  if (certificateCode.test(code)) return certificate;
  if (code === 'ETIMEDOUT' && (syscall === 'connect' || /^connect\b/.test(message)))
    return unsent('could not connect (timeout)');
  if (code === 'ECONNRESET' && /before secure TLS connection/i.test(message))
    return unsent('the secure connection could not be set up');
  if (code === 'ECONNABORTED' && /time-?out/i.test(message)) return late('no answer came in time');
  if (code === 'EPROTO' && /wrong version number|http request/i.test(message))
    return faults['ERR_SSL_WRONG_VERSION_NUMBER'];
  if (Object.hasOwn(faults, code)) return faults[code];
  if (/^ERR_SSL_/.test(code)) return cut('the secure connection could not be set up');
  if (/^(?:HPE_|Z_(?:DATA|BUF)_ERROR$|ERR_(?:BROTLI|ZSTD)_|ERR_CONTENT_DECODING)/.test(code))
    return garbled('the answer was garbled');
  return undefined;
}

/** What `fetch` itself refuses, in the words of undici's `lib/web/fetch`; it gives these no code. */
const fetchRefusals: Record<string, NetworkFault> = {
  'unknown scheme': wrongUrl,
  'bad port': wrong("the service's port is one that may not be used"),
  'unexpected redirect': { ...wrong('the service has moved to another address'), unsent: false },
  'redirect count exceeded': { ...wrong('the service redirects in a circle'), unsent: false },
};

export function fetchRefusal(message: string): NetworkFault | undefined {
  return Object.hasOwn(fetchRefusals, message) ? fetchRefusals[message] : undefined;
}

/** Certificate problems whose code was lost on the way. */
export function saysCertificate(message: string): boolean {
  const start = message.slice(0, 500);
  return (
    /self[- ]signed certificate|certificate has expired|unable to (?:verify the first|get (?:local )?issuer) certificate/i.test(
      start,
    ) || /^hostname\/IP does not match certificate/i.test(start)
  );
}

/**
 * What browsers, Node.js, Deno, Bun, Cloudflare and HTTP clients say when a request did not come through and no code is
 * given. The whole message, because a tool's own sentence may contain the same words.
 */
export function saysNetwork(message: string): boolean {
  return /^(?:fetch failed|terminated|failed to fetch(?: \(.*\))?|load failed(?: \(.*\))?|network ?error(?: when attempting to fetch resource)?|network request failed|the network connection was lost|the internet connection appears to be offline|socket hang up|other side closed|connection error|error sending request.*|unable to connect\. is the computer able to access the url\?|request to \S+ failed, reason: .*)\.?$/i.test(
    message.trim().slice(0, 500),
  );
}
