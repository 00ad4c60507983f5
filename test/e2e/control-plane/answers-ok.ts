/** Whether a GET is answered with 2xx; false also where nobody listens. */
export async function answersOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
