import type { ApiObject } from '../kube/api-object.ts';
import type { Referrer } from '../decision/references.ts';
import { Recent } from '../kube/lists/recent.ts';

/**
 * Reads nodes, and remembers of the last few annotations what follows of them: in a list in protobuf, nodes that say the same share their
 * annotations (see {@link WantedAnnotations}).
 */
export function rememberingUses(read: (node: ApiObject) => Referrer): (node: ApiObject) => Referrer {
  const recent = new Recent<{ readonly annotations: object; readonly referrer: Referrer }>();
  return (node) => {
    const { name, annotations } = node.metadata ?? {};
    const known = recent.find((one) => one.annotations === annotations);
    // Everything but the name follows of the annotations.
    if (known !== undefined && typeof name === 'string' && name !== '') return { ...known.referrer, name };
    const referrer = read(node);
    if (annotations !== undefined && annotations !== null) recent.add({ annotations, referrer });
    return referrer;
  };
}
