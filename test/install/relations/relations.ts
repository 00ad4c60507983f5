import { CERTIFICATE_RELATIONS } from './certificates.ts';
import { FLEET_RELATIONS } from './fleet.ts';
import { OBJECT_RELATIONS } from './objects.ts';
import { SETTINGS_RELATIONS } from './settings.ts';
import { MONITORING_RELATIONS } from './monitoring.ts';
import { POD_RELATIONS } from './pods.ts';
import { POLICY_ANSWERS } from './policy-answers.ts';
import { POLICY_RELATIONS } from './policies.ts';
import { RIGHT_RELATIONS } from './rights.ts';
import type { Relation } from './relation.ts';
import { WEBHOOK_RELATIONS } from './webhook.ts';
import { WORKFLOW_RELATIONS } from './workflows.ts';

export const RELATIONS: readonly Relation[] = [
  ...CERTIFICATE_RELATIONS,
  ...FLEET_RELATIONS,
  ...MONITORING_RELATIONS,
  ...OBJECT_RELATIONS,
  ...POD_RELATIONS,
  ...POLICY_ANSWERS,
  ...POLICY_RELATIONS,
  ...RIGHT_RELATIONS,
  ...SETTINGS_RELATIONS,
  ...WEBHOOK_RELATIONS,
  ...WORKFLOW_RELATIONS,
];
