import { ADMISSION_POLICY_NAMES, WEBHOOK_NAME } from './webhook-configuration.ts';
import type { Mode } from '../policy/policy.ts';

/** What the API server answered to the dry-run deletion of a config that is in use. */
export interface TrialAnswer {
  readonly status: number;
  /** Of its Status object; empty where the deletion would have been carried out. */
  readonly message: string;
}

/** What is installed, as far as it explains an answer. */
export interface Installed {
  /** Undefined where there is no webhook configuration. */
  readonly webhook:
    { readonly failurePolicy: string; readonly caBundle: boolean; readonly injected: boolean } | undefined;
  /** Those of the floor's policies whose binding refuses. */
  readonly floor: readonly string[];
  /** Undefined where there is no MachineConfigGuard. */
  readonly mode: Mode | undefined;
}

/** What the trial shows. */
export interface Judgement {
  readonly protected: boolean;
  /** Who refused. */
  readonly by: 'guard' | 'floor' | undefined;
  /** A sentence. */
  readonly explanation: string;
  /** What to do; empty where nothing is. */
  readonly advice: string;
}

const DENIED = /admission webhook "(?<webhook>[^"]+)" denied the request: (?<code>MCG_[A-Z_]+)?/;
const BY_POLICY = /ValidatingAdmissionPolicy '(?<policy>[^']+)'/;
const NOT_ASKED = /failed calling webhook "(?<webhook>[^"]+)"/;

/** Whether a config in use is protected, who protects it, and if not why: from the API server's answer and what is installed. */
export function judge({ status, message }: TrialAnswer, installed: Installed): Judgement {
  if (status < 400) return letGo(installed);
  const { webhook, code } = DENIED.exec(message)?.groups ?? {};
  if (webhook === WEBHOOK_NAME && code === 'MCG_IN_USE') {
    return {
      protected: true,
      by: 'guard',
      explanation: 'the guard refuses the deletion of a config in use',
      advice: '',
    };
  }
  if (webhook === WEBHOOK_NAME) {
    return no(
      `the guard answered ${code ?? 'without a code'} where MCG_IN_USE was due`,
      code === 'MCG_UNVERIFIED'
        ? "look at the guard's log, its rights and its way to the API server"
        : 'see the answer',
    );
  }
  const policy = BY_POLICY.exec(message)?.groups?.['policy'];
  if (policy !== undefined && ADMISSION_POLICY_NAMES.includes(policy) && message.includes('MCG_IN_USE')) {
    return {
      protected: true,
      by: 'floor',
      explanation: `the policy ${policy} refuses the deletion of a config in use`,
      advice: '',
    };
  }
  if (NOT_ASKED.exec(message)?.groups?.['webhook'] === WEBHOOK_NAME) return notAsked(message);
  return no('the deletion was refused, but by somebody else', 'see the answer; what else would refuse is not known');
}

/** Refused because nobody could be asked: nothing is deleted, and nothing is decided either. */
function notAsked(message: string): Judgement {
  const cause = message.includes('x509:')
    ? [
        "the API server does not trust the guard's certificate",
        'apply the manifests of one rendering again, or wait for the certificate to be injected',
      ]
    : /service "[^"]+" not found/.test(message)
      ? [
          'the webhook is registered, but its Service is gone',
          'install the guard again, or remove the registration: oc delete validatingwebhookconfiguration machineconfig-guard',
        ]
      : /no endpoints available|endpoints "[^"]+" not found|no service port/.test(message)
        ? ['no pod of the guard is ready', 'oc -n machineconfig-guard get pods']
        : ['the API server cannot reach the guard', 'oc -n machineconfig-guard get pods,endpointslices'];
  const [why = '', advice = ''] = cause;
  return no(`deletions are refused, but not by the guard's decision: ${why}`, advice);
}

function letGo({ webhook, floor, mode }: Installed): Judgement {
  const bare = floor.length === 0 ? '' : `; the policies ${floor.join(' and ')} let it pass too`;
  if (webhook === undefined && floor.length === 0) {
    return no(
      'it would be deleted: neither the webhook nor the policies are installed',
      'oc apply -k manifests/overlays/service-ca',
    );
  }
  if (webhook === undefined)
    return no(
      `it would be deleted although policies are there: ${floor.join(', ')}`,
      'see their status: oc get validatingadmissionpolicy -o yaml',
    );
  if (mode !== undefined && mode !== 'Enforce') {
    return no(
      `it would be deleted: the mode is ${mode}${bare}`,
      `oc patch mcguard cluster --type merge -p '{"spec":{"mode":"Enforce"}}'`,
    );
  }
  if (webhook.failurePolicy === 'Ignore') {
    return no(
      `it would be deleted: the API server could not ask the guard, and its failurePolicy is Ignore${bare}`,
      'oc -n machineconfig-guard get pods',
    );
  }
  return no(
    'it would be deleted although the guard enforces',
    'a registration takes a moment to work; try again, then look at the log of the guard and of the API server',
  );
}

function no(explanation: string, advice: string): Judgement {
  return { protected: false, by: undefined, explanation, advice };
}
