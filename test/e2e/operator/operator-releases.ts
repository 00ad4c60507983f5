import { selectVersion } from '../control-plane/releases.ts';

/** A release of the Machine Config Operator that builds from public Go modules. */
export interface OperatorRelease {
  readonly openshift: string;
  /** A commit of the release's development. The module proxy lacks the dependencies of most others. */
  readonly version: string;
  /** Changes of its go.mod, as flags of `go mod edit`. */
  readonly edits: readonly string[];
}

/** The first one is of the OpenShift release whose Kubernetes the newest control plane is. CI runs only this one. */
const OPERATOR_RELEASES: readonly [OperatorRelease, ...OperatorRelease[]] = [
  {
    openshift: '4.20',
    version: 'v0.0.1-0.20250724162154-ab14c8e2843b',
    // The proxy has these dependencies only at other commits.
    edits: [
      '-replace=github.com/openshift/api=github.com/openshift/api@v0.0.0-20250710004639-926605d3338b',
      '-replace=github.com/openshift/client-go=github.com/openshift/client-go@v0.0.0-20250425165505-5f55ff6979a1',
      '-replace=k8s.io/code-generator=k8s.io/code-generator@v0.32.1',
    ],
  },
  { openshift: '4.19', version: 'v0.0.1-0.20250401081735-9026ff2d802e', edits: [] },
  { openshift: '4.15', version: 'v0.0.1-0.20231024085435-7e1fb719c1ba', edits: [] },
];

/** `test/e2e/run.ts` names the release of a test run in this variable. */
export const OPERATOR_VARIABLE = 'MCG_E2E_OPERATOR';

/** The release with this version, or the one that CI runs. */
export function selectOperator(flag: string, version = OPERATOR_RELEASES[0].openshift): OperatorRelease {
  return selectVersion(flag, version, OPERATOR_RELEASES, 'openshift');
}
