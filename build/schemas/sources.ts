/** The modules of an OpenShift release that say which kinds it serves and what their objects contain. */
export interface ReleaseSources {
  readonly openshift: string;
  /**
   * A commit of its branch of github.com/openshift/api, the newest one in the module proxy on 2026-11-28. Undefined if
   * the proxy has none any more. The entries of its CRDs then stay as they are in the data file.
   */
  readonly api?: string;
  readonly kubernetes: string;
}

/**
 * Oldest first. The module proxy has no verifiable commit of the branches of 4.22 and 5.0, so their API is that of the
 * master of 2026-04-20.
 */
export const RELEASES: readonly ReleaseSources[] = [
  { openshift: '4.14', api: 'v0.0.0-20241031180523-b1c90a6cf9a3', kubernetes: 'v1.27.4' },
  { openshift: '4.15', api: 'v0.0.0-20240729140855-0a58f8c30a8c', kubernetes: 'v1.28.15' },
  { openshift: '4.16', api: 'v0.0.0-20260113171308-0677a8879a46', kubernetes: 'v1.29.6' },
  // From v0.0.0-20260109165620-92c55bf0f372.
  { openshift: '4.17', kubernetes: 'v1.30.14' },
  { openshift: '4.18', api: 'v0.0.0-20260105154426-319dc2e49203', kubernetes: 'v1.31.0' },
  { openshift: '4.19', api: 'v0.0.0-20251217143335-482f1b56dcc4', kubernetes: 'v1.32.2' },
  { openshift: '4.20', api: 'v0.0.0-20260716173118-05da40ea9855', kubernetes: 'v1.33.0' },
  { openshift: '4.21', api: 'v0.0.0-20260710095909-1cb630ce7109', kubernetes: 'v1.34.0' },
  { openshift: '4.22', api: 'v0.0.0-20260420151639-34e60874783e', kubernetes: 'v1.35.4' },
  { openshift: '5.0', api: 'v0.0.0-20260420151639-34e60874783e', kubernetes: 'v1.36.1' },
];

export const API = 'github.com/openshift/api';
export const KUBERNETES = 'k8s.io/kubernetes';
/** Before 4.16, the CRDs of the operator were in its own repository. */
export const OPERATOR = 'github.com/openshift/machine-config-operator@v0.0.1-0.20231024085435-7e1fb719c1ba';
export const IGNITION = 'github.com/coreos/ignition/v2@v2.24.0';
/** Of the kinds of the Operator Lifecycle Manager, which every release has. */
export const OLM = 'github.com/operator-framework/api@v0.31.0';
/** Of the kinds of the monitoring stack, which every release has. */
export const MONITORING = 'github.com/prometheus-operator/prometheus-operator@v0.82.0';
/** Of the kinds of the Node Tuning Operator, which every release has. The newest commit in the module proxy. */
export const NODE_TUNING = 'github.com/openshift/cluster-node-tuning-operator@v0.0.0-20231225123609-e63d2c9626fe';
/** Of the hosts of bare-metal clusters. The newest version in the module proxy. */
export const METAL3 = 'github.com/metal3-io/baremetal-operator@v0.6.0';

/** Of the autoscalers, which every release has. The newest version in the module proxy. */
export const AUTOSCALER = 'github.com/openshift/cluster-autoscaler-operator@v0.0.1-0.20260608074635-5c8643284941';

/** Kinds that openshift-apiserver and oauth-apiserver serve without a CRD, with their scopes. */
export const AGGREGATED: Readonly<Record<string, 'Cluster' | 'Namespaced'>> = {
  'apps.openshift.io/v1 DeploymentConfig': 'Namespaced',
  'authorization.openshift.io/v1 ClusterRole': 'Cluster',
  'authorization.openshift.io/v1 ClusterRoleBinding': 'Cluster',
  'authorization.openshift.io/v1 Role': 'Namespaced',
  'authorization.openshift.io/v1 RoleBinding': 'Namespaced',
  'build.openshift.io/v1 Build': 'Namespaced',
  'build.openshift.io/v1 BuildConfig': 'Namespaced',
  'image.openshift.io/v1 Image': 'Cluster',
  'image.openshift.io/v1 ImageStream': 'Namespaced',
  'image.openshift.io/v1 ImageStreamTag': 'Namespaced',
  'oauth.openshift.io/v1 OAuthAccessToken': 'Cluster',
  'oauth.openshift.io/v1 OAuthAuthorizeToken': 'Cluster',
  'oauth.openshift.io/v1 OAuthClient': 'Cluster',
  'oauth.openshift.io/v1 OAuthClientAuthorization': 'Cluster',
  'project.openshift.io/v1 Project': 'Cluster',
  'project.openshift.io/v1 ProjectRequest': 'Cluster',
  'route.openshift.io/v1 Route': 'Namespaced',
  'security.openshift.io/v1 SecurityContextConstraints': 'Cluster',
  'template.openshift.io/v1 Template': 'Namespaced',
  'template.openshift.io/v1 TemplateInstance': 'Namespaced',
  'user.openshift.io/v1 Group': 'Cluster',
  'user.openshift.io/v1 Identity': 'Cluster',
  'user.openshift.io/v1 User': 'Cluster',
  'user.openshift.io/v1 UserIdentityMapping': 'Cluster',
};

/** Kinds that every release has, but whose CRDs are in no module above, with their scopes. */
export const WITHOUT_SCHEMA: Readonly<Record<string, 'Cluster' | 'Namespaced'>> = {
  'cloudcredential.openshift.io/v1 CredentialsRequest': 'Namespaced',
  'k8s.cni.cncf.io/v1 NetworkAttachmentDefinition': 'Namespaced',
  'k8s.ovn.org/v1 AdminPolicyBasedExternalRoute': 'Cluster',
  'k8s.ovn.org/v1 EgressFirewall': 'Namespaced',
  'k8s.ovn.org/v1 EgressIP': 'Cluster',
  'k8s.ovn.org/v1 EgressQoS': 'Namespaced',
  'k8s.ovn.org/v1 EgressService': 'Namespaced',
  'metal3.io/v1alpha1 Provisioning': 'Cluster',
  'monitoring.coreos.com/v1 Alertmanager': 'Namespaced',
  'monitoring.coreos.com/v1 Probe': 'Namespaced',
  'monitoring.coreos.com/v1 Prometheus': 'Namespaced',
  'monitoring.coreos.com/v1 ThanosRuler': 'Namespaced',
  'monitoring.coreos.com/v1beta1 AlertmanagerConfig': 'Namespaced',
};
