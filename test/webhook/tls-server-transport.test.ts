import { Agent, request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, type SecureVersion, type TLSSocket } from 'node:tls';
import express from 'express';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { TlsServer } from '../../src/webhook/tls-server.ts';
import { memoryLog } from '../support/log.ts';
import { exchangeable, type TestTls, testTls } from '../support/tls.ts';

let tls: TestTls;
let first: KeyPair;
let second: KeyPair;
let certificate: ReturnType<typeof exchangeable>;
let server: TlsServer;
let port: number;
const agents: Agent[] = [];

beforeAll(async () => {
  tls = await testTls();
  [first, second] = await Promise.all([tls.leaf(), tls.leaf()]);
});

beforeEach(async () => {
  await start('TLSv1.2');
});

afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  await server.close();
});

async function start(minVersion: SecureVersion): Promise<void> {
  const app = express();
  app.post('/slow', async (_request, response) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    response.send('slow');
  });
  app.use((_request, response) => void response.send('ok'));
  certificate = exchangeable(first);
  server = new TlsServer({ app, certificate, minVersion, log: memoryLog().log });
  port = await server.listen(0, '127.0.0.1');
}

function keptAgent(): Agent {
  const agent = new Agent({ keepAlive: true, ca: tls.ca });
  agents.push(agent);
  return agent;
}

async function call(
  agent: Agent,
  path = '/',
  method = 'GET',
): Promise<{ body: string; serial: string; reused: boolean }> {
  return await new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, agent }, (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      text(response).then((body) => {
        resolve({ body, serial: serialNumber, reused: outgoing.reusedSocket });
      }, reject);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function handshake(options: {
  minVersion?: SecureVersion;
  maxVersion?: SecureVersion;
  ALPNProtocols?: string[];
}) {
  return await new Promise<{ protocol: string | null; alpn: string | false | null }>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca: tls.ca, ...options }, () => {
      resolve({ protocol: socket.getProtocol(), alpn: socket.alpnProtocol });
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

describe('TLS', () => {
  test('1.3 is preferred, 1.2 is spoken, 1.1 is not', async () => {
    expect((await handshake({})).protocol).toBe('TLSv1.3');
    expect((await handshake({ maxVersion: 'TLSv1.2' })).protocol).toBe('TLSv1.2');
    await expect(handshake({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' })).rejects.toThrow(/.+/);
  });

  test('HTTP/2 is never agreed on', async () => {
    expect((await handshake({ ALPNProtocols: ['h2', 'http/1.1'] })).alpn).toBe('http/1.1');
    await expect(handshake({ ALPNProtocols: ['h2'] })).rejects.toThrow(/alert|ALPN|protocol/i);
  });

  test('a minimum of 1.3 still holds after the certificate was exchanged', async () => {
    await server.close();
    await start('TLSv1.3');
    await expect(handshake({ maxVersion: 'TLSv1.2' })).rejects.toThrow(/.+/);
    certificate.exchange(second);
    await expect(handshake({ maxVersion: 'TLSv1.2' })).rejects.toThrow(/.+/);
    expect((await handshake({})).protocol).toBe('TLSv1.3');
  });

  test('a new certificate is served to new connections, and the old connections live on', async () => {
    const kept = keptAgent();
    const before = await call(kept);
    certificate.exchange(second);
    const onOldConnection = await call(kept);
    expect(onOldConnection).toMatchObject({ reused: true, serial: before.serial });
    expect((await call(keptAgent())).serial).not.toBe(before.serial);
  });

  test('a certificate that does not fit its key is not taken over', async () => {
    const before = await call(keptAgent());
    certificate.exchange({ certificatePem: second.certificatePem, privateKeyPem: first.privateKeyPem });
    expect((await call(keptAgent())).serial).toBe(before.serial);
  });

  test('100 exchanges under load: no call fails', async () => {
    const calls: Promise<unknown>[] = [];
    for (let round = 0; round < 100; round += 1) {
      certificate.exchange(round % 2 === 0 ? second : first);
      const agent = round % 3 === 0 ? keptAgent() : (agents[0] ?? keptAgent());
      calls.push(call(agent));
      if (round % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const results = await Promise.allSettled(calls);
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
  });
});

describe('what is not TLS', () => {
  test('plain HTTP is told so', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/validate`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('This port speaks HTTPS');
  });

  test('garbage and connections that close at once do no harm', async () => {
    for (const bytes of ['', '\x16', '\x16\x03\x01', 'x', '\x00'.repeat(1_000)]) {
      const socket = connectPlain(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.end(bytes);
      await new Promise((resolve) => socket.on('close', resolve).resume());
    }
    expect((await call(keptAgent())).body).toBe('ok');
  });

  test('200 connections that say nothing do not keep others out', async () => {
    const silent = Array.from({ length: 200 }, () => connectPlain(port, '127.0.0.1').on('error', () => {}));
    expect((await call(keptAgent())).body).toBe('ok');
    for (const socket of silent) socket.destroy();
  });
});

describe('slow-loris', () => {
  test('headers that do not end are answered 408 and cut off, while others are served', async () => {
    const socket = connect({ host: '127.0.0.1', port, ca: tls.ca });
    socket.write('POST / HTTP/1.1\r\nHost: x\r\n');
    const drip = setInterval(() => socket.write('X-More: x\r\n'), 500);
    onTestFinished(() => {
      clearInterval(drip);
    });
    expect((await call(keptAgent())).body).toBe('ok');
    const begun = performance.now();
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 Request Timeout/);
    expect(performance.now() - begun).toBeLessThan(13_000);
  });

  test('a handshake that does not end is cut off', async () => {
    const socket = connectPlain(port, '127.0.0.1');
    // The beginning of a ClientHello that announces more.
    socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
    const begun = performance.now();
    await text(socket).catch(() => '');
    expect(performance.now() - begun).toBeLessThan(13_000);
  });
});

describe('keep-alive', () => {
  test('an idle connection outlives Node’s default of 5 s', async () => {
    const kept = keptAgent();
    await call(kept);
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    expect((await call(kept)).reused).toBe(true);
  });
});

describe('closing', () => {
  test('the call under way is finished, and the kept connection then closed', async () => {
    const kept = keptAgent();
    const slow = call(kept, '/slow', 'POST');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const begun = performance.now();
    const closed = server.close();
    expect((await slow).body).toBe('slow');
    await closed;
    expect(performance.now() - begun).toBeLessThan(2_000);
    await expect(call(keptAgent())).rejects.toThrow('ECONNREFUSED');
  });
});
