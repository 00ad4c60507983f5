import type { IncomingMessage } from 'node:http';
import { waitOrAbort } from '../../common/wait.ts';
import { objectPath } from '../../kube/api-paths.ts';
import { type KubeApi, readApiError } from '../../kube/api.ts';
import { ApiUnreachable, describeError } from '../../kube/errors.ts';

export interface PodCommand {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly command: readonly string[];
}

/** The command ended with a failure. The message contains its standard error. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

/** Every kubelet speaks it. A binary message starts with its channel (kubernetes, staging/src/k8s.io/kubelet). */
const PROTOCOL = 'v4.channel.k8s.io';
const CHANNEL = { stdout: 1, stderr: 2, status: 3 } as const;
/** More than the largest object that etcd can store, as YAML. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const MAX_ERROR_BYTES = 4_096;

interface CommandStatus {
  readonly status?: unknown;
  readonly message?: unknown;
}

/**
 * Runs a command in a container, as `kubectl exec` does, and returns its standard output.
 *
 * @throws ApiError, ApiUnreachable, CommandFailed, or the signal's reason
 */
export async function execInPod(api: KubeApi, command: PodCommand, signal: AbortSignal): Promise<string> {
  const { server } = api.connection;
  const { headers, ...tls } = await api.connection.credentials();
  const url = new URL(server);
  url.protocol = server.protocol.replace('http', 'ws');
  url.pathname = server.pathname.replace(/\/$/, '') + toExecPath(command);
  url.search = toQuery(command);
  const { WebSocket } = await import('ws');
  const socket = new WebSocket(url, PROTOCOL, {
    ...tls,
    headers: { ...headers },
    maxPayload: MAX_OUTPUT_BYTES,
    perMessageDeflate: false,
  });
  const output = { [CHANNEL.stdout]: [] as Buffer[], [CHANNEL.stderr]: [] as Buffer[] };
  let bytes = 0;
  const received = new Promise<string>((resolve, reject) => {
    socket.on('unexpected-response', (_request, response: IncomingMessage) => {
      readApiError(response.statusCode ?? 0, response, signal).then(reject, reject);
    });
    // By default `ws` delivers every message as a Buffer.
    socket.on('message', (message: Buffer) => {
      const [channel, content] = [message[0], message.subarray(1)];
      bytes += content.length;
      if (bytes > MAX_OUTPUT_BYTES) reject(new CommandFailed(`it printed more than ${MAX_OUTPUT_BYTES} bytes`));
      else if (channel === CHANNEL.stdout || channel === CHANNEL.stderr) output[channel].push(content);
      else if (channel === CHANNEL.status) {
        const failure = findFailure(content, output[CHANNEL.stderr]);
        if (failure === undefined) resolve(Buffer.concat(output[CHANNEL.stdout]).toString('utf8'));
        else reject(failure);
      }
    });
    socket.on('error', (error) => {
      reject(new ApiUnreachable(`${server.host} cannot be reached: ${describeError(error)}`));
    });
    socket.on('close', () => {
      // Without effect after a status.
      reject(new ApiUnreachable('the connection closed before the command ended'));
    });
  });
  try {
    return await waitOrAbort(received, signal);
  } finally {
    socket.terminate();
  }
}

function toExecPath({ namespace, pod }: PodCommand): string {
  return `${objectPath(`${objectPath('/api/v1/namespaces', namespace)}/pods`, pod)}/exec`;
}

function toQuery({ container, command }: PodCommand): string {
  const query = new URLSearchParams({ container, stdout: 'true', stderr: 'true' });
  for (const word of command) query.append('command', word);
  return query.toString();
}

/** Reads the Status that a kubelet sends at the end. */
function findFailure(content: Buffer, stderr: readonly Buffer[]): CommandFailed | undefined {
  const errorText = Buffer.concat(stderr).subarray(0, MAX_ERROR_BYTES).toString('utf8').trim();
  try {
    const { status, message } = JSON.parse(content.toString('utf8')) as CommandStatus;
    if (status === 'Success') return undefined;
    return new CommandFailed(errorText || String(message));
  } catch {
    return new CommandFailed(errorText || 'the kubelet sent no valid status');
  }
}
