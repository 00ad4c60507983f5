import { PROTOBUF_MAGIC, ProtobufReader } from './protobuf-reader.ts';

/** Field numbers in k8s.io/apimachinery, pkg/runtime/generated.proto and pkg/apis/meta/v1/generated.proto. */
const ENVELOPE = { raw: 2 } as const;
const STATUS = { message: 3, reason: 4 } as const;

/**
 * A client that asks for protobuf gets its errors in protobuf, too.
 *
 * @throws MalformedList
 */
export function parseProtobufStatus(bytes: Buffer): { readonly message?: string; readonly reason?: string } {
  const status: { message?: string; reason?: string } = {};
  const envelope = new ProtobufReader(bytes, PROTOBUF_MAGIC.length);
  while (envelope.next()) {
    if (envelope.field !== ENVELOPE.raw) continue;
    const fields = envelope.message();
    while (fields.next()) {
      if (fields.field === STATUS.message) status.message = fields.text();
      else if (fields.field === STATUS.reason) status.reason = fields.text();
    }
  }
  return status;
}
