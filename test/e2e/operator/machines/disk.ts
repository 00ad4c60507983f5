import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Of the ControllerConfig in cluster.yaml. */
const CLUSTER_IMAGE = `quay.io/lab/os@sha256:${'1'.repeat(64)}`;
/** The stand-in for RHCOS keeps its state in this folder (rhcos/programs.go). */
const STATE = 'machine';
/** RHCOS has them. rhcos/programs.go does what a machine of the tests needs of them. */
const PROGRAMS = [
  'cat',
  'chcon',
  'cp',
  'ionice',
  'journalctl',
  'logger',
  'nice',
  'ostree',
  'podman',
  'rpm-ostree',
  'runuser',
  'systemctl',
  'systemd-run',
  'touch',
  'update-ca-trust',
  'usermod',
];
const FOLDERS = [
  STATE,
  'dev',
  'etc/docker/certs.d',
  'etc/kubernetes',
  'etc/machine-config-daemon',
  'home/core',
  'proc',
  'root',
  'run',
  'sysroot',
  'tmp',
  'usr/bin',
  'usr/lib',
  'var/lib/kubelet',
  'var/log/pods',
];
const OS_RELEASE = `NAME="Red Hat Enterprise Linux CoreOS"
ID="rhel"
ID_LIKE="fedora"
VERSION="9.6.20250701-0"
VERSION_ID="9.6"
VARIANT="CoreOS"
VARIANT_ID=coreos
RHEL_VERSION=9.6
OSTREE_VERSION="9.6.20250701-0"
`;
/** The machine-config-server writes it for the service of the first boot, which the kubelet waits for. */
export const FIRST_BOOT_FILE = '/etc/ignition-machine-config-encapsulated.json';
/** The daemon writes the config of its last update. After the first boot, its Ignition config is empty. */
export const UPDATE_FILE = '/etc/machine-config-daemon/currentconfig';
/** The kubelet of the machine has it. Here also the pod of the daemon uses it. */
export const KUBECONFIG_FILE = '/var/lib/kubelet/kubeconfig';

/** What a machine is installed with. */
export interface Installation {
  readonly rhcos: string;
  readonly daemon: string;
  readonly kubeconfig: string;
  /** The image of the operating system. Another one than in the first config makes the first boot rebase. */
  readonly image?: string;
  /** If one of the first config is missing, the first boot adds it and reboots. */
  readonly kernelArguments?: readonly string[];
}

/** Fills a folder with the disk of a machine on which RHCOS is installed. */
export async function createDisk(disk: string, installation: Installation): Promise<void> {
  const { rhcos, daemon, kubeconfig, image = CLUSTER_IMAGE, kernelArguments = [] } = installation;
  for (const folder of FOLDERS) await mkdir(join(disk, folder), { recursive: true });
  await copyFile(rhcos, join(disk, 'usr/bin/rhcos'));
  await copyFile(daemon, join(disk, 'usr/bin/machine-config-daemon'));
  for (const program of PROGRAMS) await symlink('rhcos', join(disk, 'usr/bin', program));
  const files = {
    'etc/os-release': OS_RELEASE,
    'usr/lib/os-release': OS_RELEASE,
    'etc/passwd': 'root:x:0:0::/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/sh\n',
    'etc/group': 'root:x:0:\ncore:x:1000:\n',
    'var/lib/kubelet/config.json': '{"auths":{}}',
    [KUBECONFIG_FILE]: kubeconfig,
    [`${STATE}/booted`]: image,
    [`${STATE}/kargs`]: ['root=/dev/disk/by-label/root', ...kernelArguments].join(' '),
  };
  for (const [file, text] of Object.entries(files)) await writeFile(join(disk, file), text);
  await startBoot(disk);
}

/** Does what happens between a reboot and the first service of a machine. */
export async function startBoot(disk: string): Promise<void> {
  const state = (file: string) => join(disk, STATE, file);
  await rm(state('reboot'), { force: true });
  if (existsSync(state('staged'))) await rename(state('staged'), state('booted'));
  await copyFile(state('kargs'), state('cmdline'));
  await writeFile(state('boot_id'), `${randomUUID()}\n`);
  // A tmpfs.
  for (const name of await readdir(join(disk, 'run'))) await rm(join(disk, 'run', name), { recursive: true });
}

/** Whether a program on the disk has asked for a reboot. */
export function wantsReboot(disk: string): boolean {
  return existsSync(join(disk, STATE, 'reboot'));
}
