/** One HTTP answer, taken from the bytes of a connection. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** All whole answers in these bytes. */
export function answersIn(bytes: Buffer): readonly Answer[] {
  const answers: Answer[] = [];
  let rest = bytes.toString('latin1');
  for (;;) {
    const head = /^HTTP\/1\.1 (?<status>\d{3})[^\r\n]*\r\n(?<fields>(?:[^\r\n]+\r\n)*)\r\n/.exec(rest);
    if (head === null) return answers;
    const length = Number(/^content-length: (?<length>\d+)/im.exec(head.groups?.['fields'] ?? '')?.groups?.['length']);
    const begin = head[0].length;
    const status = Number(head.groups?.['status']);
    // Without a length the body goes on to the end of the connection; 100 Continue has none.
    const end = Number.isNaN(length) ? (status < 200 ? begin : rest.length) : begin + length;
    if (rest.length < end) return answers;
    answers.push({ status, body: Buffer.from(rest.slice(begin, end), 'latin1').toString('utf8') });
    rest = rest.slice(end);
  }
}

/**
 * What an answer comes to, in a word: `allowed`, `MCG_IN_USE` and the other codes with which the guard refuses, else the HTTP status.
 * `invalid` where a webhook must not answer so: 200 with anything but an AdmissionReview, or another status with a page of somebody's.
 */
export function meaning({ status, body }: Answer): string {
  if (status !== 200) return body.length < 200 && !/<html|\bat .+:\d+/i.test(body) ? String(status) : 'invalid';
  let review: AdmissionReview;
  try {
    review = JSON.parse(body) as AdmissionReview;
  } catch {
    return 'invalid';
  }
  const { apiVersion, kind, response } = review;
  if (kind !== 'AdmissionReview' || apiVersion !== 'admission.k8s.io/v1' || typeof response?.uid !== 'string') {
    return 'invalid';
  }
  if (response.allowed === true) return 'allowed';
  const code = /^MCG_\w+/.exec(response.status?.message ?? '')?.[0];
  return response.allowed === false && code !== undefined ? code : 'invalid';
}

interface AdmissionReview {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly response?: {
    readonly uid?: unknown;
    readonly allowed?: unknown;
    readonly status?: { readonly message?: string };
  };
}
