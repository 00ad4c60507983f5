import { createServer } from 'node:https';
import { WebSocketServer } from 'ws';
import { listen } from '../../src/serving/tls-server.ts';
import { testTls } from './tls.ts';

export interface ExecResult {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode?: number;
  /** Of one message. A kubelet sends as much as it reads from the pipe at once. */
  readonly messageBytes?: number;
  /** `close` ends the connection before the status, `hang` sends nothing more, `garbage` sends a broken status. */
  readonly end?: 'close' | 'garbage' | 'hang' | 'status';
}

const MESSAGE_BYTES = 32 * 1024;
const CHANNEL = { stdout: 1, stderr: 2, status: 3 };

/** Runs no command, but answers an exec over a WebSocket as a kubelet does. Its certificate is for this machine. */
export async function startExecServer(run: (command: readonly string[]) => ExecResult) {
  const { ca, leaf } = await testTls();
  const { certificatePem, privateKeyPem } = await leaf();
  const server = createServer({ cert: certificatePem, key: privateKeyPem });
  /** The path, the command and the credentials of each call. */
  const calls: object[] = [];
  const sockets = new WebSocketServer({
    server,
    handleProtocols: (protocols) => (protocols.has('v4.channel.k8s.io') ? 'v4.channel.k8s.io' : false),
  });
  sockets.on('connection', (socket, request) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://kubelet');
    const command = searchParams.getAll('command');
    const { authorization } = request.headers;
    calls.push({ path: pathname, command, protocol: socket.protocol, authorization });
    const { stdout = '', stderr = '', exitCode = 0, messageBytes = MESSAGE_BYTES, end = 'status' } = run(command);
    const send = (channel: number, text: string): void => {
      const bytes = Buffer.from(text);
      for (let start = 0; start < bytes.length; start += messageBytes) {
        socket.send(Buffer.concat([Buffer.of(channel), bytes.subarray(start, start + messageBytes)]));
      }
    };
    // As a kubelet, it starts with an empty message on each channel.
    for (const channel of Object.values(CHANNEL)) if (channel !== CHANNEL.status) socket.send(Buffer.of(channel));
    send(CHANNEL.stdout, stdout);
    send(CHANNEL.stderr, stderr);
    if (end === 'close') socket.terminate();
    if (end === 'garbage') send(CHANNEL.status, 'no JSON');
    if (end === 'status') send(CHANNEL.status, JSON.stringify(toStatus(exitCode)));
  });
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { calls, ca, port: await listen(server, 0, '127.0.0.1'), countOpen: () => sockets.clients.size, stop };
}

function toStatus(exitCode: number): object {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}
