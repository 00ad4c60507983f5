import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1Container,
  V1CustomResourceDefinition,
  V1Deployment,
  V1FlowSchema,
  V1Namespace,
  V1NetworkPolicy,
  V1PodDisruptionBudget,
  V1PodSpec,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingWebhook,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node';
import { parse, parseAllDocuments } from 'yaml';
import { type Dashboard, listFiles, listPanels, readDashboard, readFile } from '../../docs/pages.ts';
import path from 'node:path';
import type { RenderedObject, RenderedSet } from '../rendered-sets.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface AlertRules {
  readonly spec: { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
}

interface KeyOf {
  readonly name: string;
  readonly key: string;
}

interface ServiceMonitor {
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly endpoints: readonly [
      {
        readonly port: string;
        readonly path: string;
        readonly scheme: string;
        readonly interval: string;
        readonly authorization: { readonly credentials: KeyOf };
        readonly tlsConfig: {
          readonly serverName: string;
          readonly ca: { readonly configMap?: KeyOf; readonly secret?: KeyOf };
        };
      },
    ];
  };
}

/** The types of the objects that the rules compare. */
interface ObjectsByKind {
  readonly AlertingRule: AlertRules;
  readonly Certificate: {
    readonly spec: {
      readonly secretName: string;
      readonly isCA?: boolean;
      readonly dnsNames?: readonly string[];
      readonly duration: string;
      readonly renewBefore?: string;
      readonly usages?: readonly string[];
      readonly privateKey: object;
      readonly issuerRef: Readonly<Record<'group' | 'kind' | 'name', string>>;
    };
  };
  readonly ClusterRole: V1ClusterRole;
  readonly ClusterRoleBinding: V1ClusterRoleBinding;
  readonly ConfigMap: V1ConfigMap;
  readonly CustomResourceDefinition: V1CustomResourceDefinition;
  readonly Deployment: V1Deployment;
  readonly FlowSchema: V1FlowSchema;
  readonly Issuer: { readonly spec: object };
  readonly Namespace: V1Namespace;
  readonly NetworkPolicy: V1NetworkPolicy;
  readonly PodDisruptionBudget: V1PodDisruptionBudget;
  readonly PrometheusRule: AlertRules;
  readonly Role: V1Role;
  readonly RoleBinding: V1RoleBinding;
  readonly Secret: V1Secret;
  readonly Service: V1Service;
  readonly ServiceAccount: V1ServiceAccount;
  readonly ServiceMonitor: ServiceMonitor;
  readonly ValidatingAdmissionPolicy: V1ValidatingAdmissionPolicy;
  readonly ValidatingAdmissionPolicyBinding: V1ValidatingAdmissionPolicyBinding;
  readonly ValidatingWebhookConfiguration: V1ValidatingWebhookConfiguration;
}
type Kind = keyof ObjectsByKind;
type ObjectOf<K extends Kind> = ObjectsByKind[K] & RenderedObject;

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly values: readonly string[] }[];
}

interface ConfigurationPolicy extends RenderedObject {
  readonly spec: {
    readonly 'object-templates': readonly {
      readonly complianceType: string;
      readonly objectDefinition: RenderedObject;
    }[];
  };
}

/** An object of docs/fleet. */
export interface FleetObject extends RenderedObject {
  readonly placementRef?: object;
  readonly subjects?: readonly object[];
  readonly mirror?: { readonly additionalImages: readonly object[] };
  readonly spec: {
    readonly predicates?: readonly [{ readonly requiredClusterSelector: { readonly labelSelector: LabelSelector } }];
    readonly tolerations?: readonly object[];
    readonly remediationAction?: string;
    readonly managedPolicies?: readonly string[];
    readonly clusterLabelSelectors?: readonly LabelSelector[];
    readonly remediationStrategy?: { readonly canaries: readonly string[]; readonly maxConcurrency: number };
    readonly imageDigestMirrors?: readonly { readonly source: string; readonly mirrors: readonly string[] }[];
    readonly 'policy-templates'?: readonly { readonly objectDefinition: ConfigurationPolicy }[];
    readonly disabled?: boolean;
  };
}

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: object;
}

/** A workflow of GitHub, or the action that workflows share. */
export interface Workflow {
  readonly on: object;
  readonly permissions?: object;
  readonly jobs?: Readonly<Record<string, Job>>;
  readonly runs?: { readonly steps: readonly Step[] };
}

export interface Job {
  readonly needs?: readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly command: readonly string[] } };
  readonly steps: readonly Step[];
  readonly [field: string]: unknown;
}

/** Relates what is installed to the code, or to another object that must agree with it. */
export interface Relation {
  /** A sentence that says what has to be so. */
  readonly rule: string;
  /** Throws if it is not so in a set. Called for each set with a guard. */
  readonly checkGuard?: (guard: GuardSet) => void | Promise<void>;
  /** Throws if it is not so. */
  readonly check?: (installed: Installed) => void | Promise<void>;
}

/** A set that runs the guard. */
export class GuardSet {
  readonly name: string;
  readonly #objects: readonly RenderedObject[];

  constructor({ name, objects }: RenderedSet) {
    this.name = name;
    this.#objects = objects;
  }

  /** The objects of a kind. */
  list<K extends Kind>(kind: K): readonly ObjectOf<K>[] {
    return filterByKind(this.#objects, kind);
  }

  /** @throws Error unless the set has exactly one object of the kind */
  get<K extends Kind>(kind: K): ObjectOf<K> {
    const [object, other] = this.list(kind);
    if (object === undefined || other !== undefined) throw new Error(`${this.name}: not exactly one ${kind}`);
    return object;
  }

  get pod(): V1PodSpec {
    return required(this.get('Deployment').spec?.template.spec);
  }

  get container(): V1Container {
    return required(this.pod.containers[0]);
  }

  get webhook(): V1ValidatingWebhook {
    return required(this.get('ValidatingWebhookConfiguration').webhooks?.[0]);
  }

  /** The values of the flags of `serve`, without their dashes. */
  get flags(): ReadonlyMap<string, string> {
    const flags = (this.container.args ?? []).filter((arg) => arg.startsWith('--'));
    return new Map(flags.map((flag) => flag.slice(2).split('=') as [string, string]));
  }
}

/**
 * The kinds of objects that were read since it was emptied: `*` for all, `dashboard`, `Containerfile`, `fleet` or
 * `workflow`. It says which relations a change can concern.
 */
export const readKinds = new Set<string>();

/** Everything that is installed. */
export class Installed {
  readonly guards: readonly GuardSet[];
  readonly #sets: readonly RenderedSet[];
  readonly #dashboard: Dashboard;
  readonly #instructions = listInstructions();
  readonly #fleet = listFiles('docs/fleet')
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(readFile(file)).map((document) => document.toJS() as FleetObject));
  readonly #workflows = new Map(
    [...listFiles('.github/workflows'), '.github/actions/setup/action.yaml'].map((file) => [
      path.basename(file, '.yaml'),
      parse(readFile(file)) as Workflow,
    ]),
  );

  constructor(sets: readonly RenderedSet[]) {
    this.#sets = sets;
    const withGuard = sets.filter(({ objects }) => objects.some(({ kind }) => kind === 'Deployment'));
    this.guards = withGuard.map((set) => new GuardSet(set));
    this.#dashboard = readDashboard();
  }

  get sets(): readonly RenderedSet[] {
    readKinds.add('*');
    return this.#sets;
  }

  get dashboard(): Dashboard {
    readKinds.add('dashboard');
    return this.#dashboard;
  }

  /** Those of the Containerfile. */
  get instructions(): readonly string[] {
    readKinds.add('Containerfile');
    return this.#instructions;
  }

  get fleet(): readonly FleetObject[] {
    readKinds.add('fleet');
    return this.#fleet;
  }

  /** By their names. */
  get workflows(): ReadonlyMap<string, Workflow> {
    readKinds.add('workflow');
    return this.#workflows;
  }

  /** The expressions of all panels. */
  get panelExpressions(): readonly string[] {
    return listPanels(this.dashboard).flatMap(({ targets }) => targets.map(({ expr }) => expr));
  }

  /** The arguments of the instructions of the image, without its build stage, with a keyword, such as `USER`. */
  listArguments(keyword: string): readonly string[] {
    const start = `${keyword} `;
    const image = this.instructions.slice(this.instructions.findLastIndex((each) => each.startsWith('FROM ')));
    return image.filter((each) => each.startsWith(start)).map((each) => each.slice(start.length));
  }

  /** All alerts, once for each set that has them. */
  get alerts(): readonly Alert[] {
    const rules = [...this.list('PrometheusRule'), ...this.list('AlertingRule')];
    return rules.flatMap(({ spec }) => spec.groups).flatMap((group) => group.rules);
  }

  /** @throws Error unless there is one */
  alert(name: string): Alert {
    return required(this.alerts.find(({ alert }) => alert === name));
  }

  /** All objects of a kind, of all sets. */
  list<K extends Kind>(kind: K): readonly ObjectOf<K>[] {
    return filterByKind(
      this.#sets.flatMap((set) => set.objects),
      kind,
    );
  }
}

/** The instructions of the Containerfile, each in one line. */
export function listInstructions(): readonly string[] {
  const lines = readFile('Containerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/ *\\\n */g, ' ');
  return lines.split('\n').filter(Boolean);
}

function filterByKind<K extends Kind>(objects: readonly RenderedObject[], kind: K): readonly ObjectOf<K>[] {
  readKinds.add(kind);
  return objects.filter((object): object is ObjectOf<K> => object.kind === kind);
}

/** @throws Error if a field is absent */
export function required<Value>(value: Value | null | undefined): Value {
  if (value === undefined || value === null) throw new Error('a field is absent');
  return value;
}

/** Returns a function that sends a request once for each path. The objects of all sets have few different ones. */
export function sendOnce<Answer>(send: (path: string) => Promise<Answer>): (path: string) => Promise<Answer> {
  const answers = new Map<string, Promise<Answer>>();
  return async (path) => {
    const answer = answers.get(path) ?? send(path);
    answers.set(path, answer);
    return await answer;
  };
}
