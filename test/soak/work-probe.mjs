/*
 * Imported by the guard of a soak, before its own code. Writes to the file in SOAK_PROBE_FILE, as JSON, for how many
 * milliseconds the event loop was held (`held`) and for how many of them its thread was on a processor (`worked`): the
 * rest of the time, other threads and processes had it. SIGUSR2 starts again. Needs Node 24, as in the image.
 */
import { writeFileSync } from 'node:fs';

const INTERVAL_MS = 10;

let longest = { held: 0, worked: 0 };
let lastTime = performance.now();
let lastUsage = process.threadCpuUsage();

const timer = setInterval(() => {
  const time = performance.now();
  const { user, system } = process.threadCpuUsage(lastUsage);
  const held = time - lastTime - INTERVAL_MS;
  const worked = Math.min(held, (user + system) / 1_000);
  lastTime = time;
  lastUsage = process.threadCpuUsage();
  if (held <= longest.held && worked <= longest.worked) return;
  longest = { held: Math.max(longest.held, held), worked: Math.max(longest.worked, worked) };
  writeFileSync(process.env.SOAK_PROBE_FILE, JSON.stringify(longest));
}, INTERVAL_MS);
timer.unref();
process.on('SIGUSR2', () => {
  longest = { held: 0, worked: 0 };
});
