import { expect, test } from 'vitest';
import { BodiesInFlight } from '../../src/webhook/bodies-in-flight.ts';

function createBodies(maxBytes: number) {
  const givenUp: string[] = [];
  const bodies = new BodiesInFlight(maxBytes);
  const giveUps = new Map<string, () => void>();
  const giveUp = (name: string) => {
    const existing = giveUps.get(name) ?? (() => void givenUp.push(name));
    giveUps.set(name, existing);
    return existing;
  };
  return {
    givenUp,
    add: (name: string, bytes: number) => bodies.add(giveUp(name), bytes),
    remove: (name: string) => bodies.remove(giveUp(name)),
  };
}

test('gives up the oldest bodies until the others fit', () => {
  const { add, givenUp } = createBodies(100);
  add('a', 40);
  add('b', 40);
  add('a', 20);
  expect(givenUp).toEqual([]);
  add('c', 30);
  expect(givenUp).toEqual(['a']);
  add('c', 60);
  expect(givenUp).toEqual(['a', 'b']);
});

test('gives up a body that does not fit alone', () => {
  const { add, givenUp } = createBodies(100);
  add('a', 101);
  expect(givenUp).toEqual(['a']);
});

test('a removed body leaves its bytes to others, once', () => {
  const { add, remove, givenUp } = createBodies(100);
  add('a', 100);
  remove('a');
  remove('a');
  add('b', 60);
  add('c', 40);
  expect(givenUp).toEqual([]);
  add('d', 1);
  expect(givenUp).toEqual(['b']);
});
