/** Counts the turns of the event loop until a promise is settled. */
export async function countTurns(promise: Promise<unknown>): Promise<number> {
  let turns = 0;
  const countTurn = () => {
    turns += 1;
    timer = setImmediate(countTurn);
  };
  let timer = setImmediate(countTurn);
  await promise;
  clearImmediate(timer);
  return turns;
}
