import { Command } from 'commander';

export function certsCommand(): Command {
  return new Command('certs').description('Make a certificate authority and a serving certificate.');
}
