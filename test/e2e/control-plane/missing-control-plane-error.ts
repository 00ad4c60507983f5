/** This machine cannot run a control plane. The message is one sentence for a person. */
export class MissingControlPlaneError extends Error {
  override readonly name = 'MissingControlPlaneError';
}
